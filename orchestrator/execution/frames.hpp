// What the orchestrator and a supervisor say to each other over two pipes: frames of a kind, a size and a text. Both
// ends are the same program on the same machine, so that numbers are in native order and there is no version.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::supervisor {

/// To the supervisor. Orders are carried out as they come; `terminate` and `kill` without a worker do nothing.
enum class Order : std::uint32_t {
    start = 1,      ///< pack_start()
    terminate = 2,  ///< grace in milliseconds
    kill = 3,       ///< nothing
};

/// From the supervisor.
enum class Notice : std::uint32_t {
    failed = 1,  ///< the worker did not start: fields errno and what was tried
    output = 2,  ///< bytes of the worker's stdout and stderr
    exited = 3,  ///< worker and descendants are gone: fields code, signal, 1 if killed for memory, peak bytes
    remark = 4,  ///< something that its user should know: a text
};

inline constexpr std::size_t max_frame_bytes = 8 * 1024 * 1024;

template <class Kind>
std::string frame(Kind kind, std::string_view payload) {
    const std::uint32_t header[2] = {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size())};
    std::string bytes(sizeof header, '\0');
    std::memcpy(bytes.data(), header, sizeof header);
    bytes.append(payload);
    return bytes;
}

/// Cuts a byte stream into frames.
class FrameReader {
   public:
    /// Calls `take(kind, payload)` for each whole frame; the view lives until `take` returns. False: not a stream of
    /// frames.
    template <class F>
    bool feed(std::string_view bytes, F&& take) {
        kept_.append(bytes);
        std::size_t at = 0;
        std::uint32_t header[2];
        while (kept_.size() - at >= sizeof header) {
            std::memcpy(header, kept_.data() + at, sizeof header);
            if (header[1] > max_frame_bytes) return false;
            if (kept_.size() - at < sizeof header + header[1]) break;
            take(header[0], std::string_view(kept_).substr(at + sizeof header, header[1]));
            at += sizeof header + header[1];
        }
        kept_.erase(0, at);
        return true;
    }

   private:
    std::string kept_;
};

/// Fields, each ended by a NUL, which none of them may hold.
inline std::string pack(const std::vector<std::string>& fields) {
    std::string bytes;
    for (const auto& field : fields) bytes.append(field).push_back('\0');
    return bytes;
}
inline std::vector<std::string> unpack(std::string_view bytes) {
    std::vector<std::string> fields;
    while (!bytes.empty()) {
        const auto end = bytes.find('\0');
        fields.emplace_back(bytes.substr(0, end));
        if (end == std::string_view::npos) break;
        bytes.remove_prefix(end + 1);
    }
    return fields;
}

/// A worker to start. `environment` is added to, or replaces, the supervisor's own (NAME=value).
struct Start {
    std::vector<std::string> command;
    std::vector<std::string> environment;
    std::vector<int> cpus;
    std::string folder;
    std::vector<std::string> preload;  ///< what starts the interpreter that the worker is forked from; empty: none
};

inline std::string pack(const Start& start) {
    std::vector<std::string> fields{start.folder, std::to_string(start.cpus.size())};
    for (const int cpu : start.cpus) fields.push_back(std::to_string(cpu));
    for (const auto* arguments : {&start.preload, &start.command}) {
        fields.push_back(std::to_string(arguments->size()));
        fields.insert(fields.end(), arguments->begin(), arguments->end());
    }
    fields.insert(fields.end(), start.environment.begin(), start.environment.end());
    return pack(fields);
}
/// Of bytes that pack() made; throws std::out_of_range or std::invalid_argument for others.
inline Start unpack_start(std::string_view bytes) {
    const std::vector<std::string> fields = unpack(bytes);
    std::size_t at = 0;
    Start start;
    start.folder = fields.at(at++);
    for (auto count = std::stoul(fields.at(at++)); count > 0; --count) start.cpus.push_back(std::stoi(fields.at(at++)));
    for (auto* arguments : {&start.preload, &start.command})
        for (auto count = std::stoul(fields.at(at++)); count > 0; --count) arguments->push_back(fields.at(at++));
    start.environment.assign(fields.begin() + static_cast<std::ptrdiff_t>(at), fields.end());
    return start;
}

}  // namespace hpo::supervisor
