// The format in which the orchestrator and a supervisor talk over two pipes: frames of a kind, a size and a payload.
// Both ends are the same program on the same machine, so numbers are in native byte order and there is no version.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::supervisor {

/// Kinds of frames to the supervisor, with their payload. Orders are carried out in the order in which they arrive;
/// `terminate` and `kill` do nothing when there is no worker.
enum class Order : std::uint32_t {
    start = 1,      ///< pack_start()
    terminate = 2,  ///< grace in milliseconds
    kill = 3,       ///< empty
};

/// Kinds of frames from the supervisor, with their payload.
enum class Event : std::uint32_t {
    failed = 1,  ///< the worker could not be started: fields errno and the action that failed
    output = 2,  ///< bytes of the worker's stdout and stderr
    exited = 3,  ///< worker and descendants are gone: fields code, signal, 1 if killed for memory, peak bytes
    notice = 4,  ///< a text that the user should see
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

/// Splits a stream of bytes into frames.
class FrameReader {
   public:
    /// Calls `on_frame(kind, payload)` for each complete frame; the payload is valid until `on_frame` returns. Returns
    /// false if the bytes are not a valid sequence of frames.
    template <class F>
    bool feed(std::string_view bytes, F&& on_frame) {
        kept_.append(bytes);
        std::size_t at = 0;
        std::uint32_t header[2];
        while (kept_.size() - at >= sizeof header) {
            std::memcpy(header, kept_.data() + at, sizeof header);
            if (header[1] > max_frame_bytes) return false;
            if (kept_.size() - at < sizeof header + header[1]) break;
            on_frame(header[0], std::string_view(kept_).substr(at + sizeof header, header[1]));
            at += sizeof header + header[1];
        }
        kept_.erase(0, at);
        return true;
    }

   private:
    std::string kept_;
};

/// Joins fields, each followed by a NUL byte. A field must not contain one.
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

/// Payload of Order::start. The variables in `environment` (NAME=value) are added to the supervisor's own and replace
/// those of the same name.
struct Start {
    std::vector<std::string> command;
    std::vector<std::string> environment;
    std::vector<int> cpus;
    std::string folder;
    std::vector<std::string> preload;  ///< command of the interpreter that the worker is forked from; may be empty
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
/// Reverses pack(const Start&). Throws std::out_of_range or std::invalid_argument for bytes that it did not write.
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
