#include "orchestrator/cluster/stream.hpp"

#include <vector>

namespace hpo::cluster {

namespace {

constexpr std::string_view magic = "\x01hpo agent\x02";
constexpr std::size_t most_program = 64;

}  // namespace

void put_u32(std::string& bytes, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(number >> shift & 0xFF));
}

std::uint32_t get_u32(std::string_view bytes) {
    std::uint32_t number = 0;
    for (int i = 0; i < 4; ++i)
        number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[std::size_t(i)])) << 8 * i;
    return number;
}

std::span<char> read_buffer() {
    thread_local std::vector<char> bytes(read_at_once);
    return bytes;
}

std::string encode(const Opening& opening) {
    std::string bytes(magic);
    put_u32(bytes, opening.version);
    const std::string program = opening.program.substr(0, most_program);
    put_u32(bytes, static_cast<std::uint32_t>(program.size()));
    return bytes + program;
}

std::string frame(std::uint8_t kind, std::string_view payload) {
    std::string bytes;
    bytes.reserve(5 + payload.size());
    put_u32(bytes, static_cast<std::uint32_t>(payload.size()));
    bytes.push_back(static_cast<char>(kind));
    return bytes.append(payload);
}

bool StreamReader::find_opening() {
    const std::size_t begin = kept_.find(magic);
    if (begin == std::string::npos) return kept_.size() <= most_greeting;
    const std::string_view rest = std::string_view(kept_).substr(begin + magic.size());
    if (rest.size() < 8) return true;
    const std::size_t size = get_u32(rest.substr(4));
    if (size > most_program) return false;
    if (rest.size() < 8 + size) return true;
    opening_ = Opening{get_u32(rest), std::string(rest.substr(8, size))};
    greeting_ = kept_.substr(0, begin);
    kept_.erase(0, begin + magic.size() + 8 + size);
    return opening_->version == stream_version;
}

}  // namespace hpo::cluster
