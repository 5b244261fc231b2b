#include "orchestrator/export/records.hpp"

#include <array>
#include <bit>

namespace hpo::exporting {

namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0x82f63b78U : 0);
        table[byte] = rest;
    }
    return table;
}();

std::string little_endian(std::uint64_t number, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
    return bytes;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    std::uint32_t rest = ~0U;
    for (const char c : bytes) rest = rest >> 8 ^ crc_table[(rest ^ static_cast<std::uint8_t>(c)) & 0xff];
    return ~rest;
}

std::uint32_t masked(std::uint32_t checksum) { return std::rotr(checksum, 15) + 0xa282ead8U; }

std::string framed(std::string_view payload) {
    const std::string length = little_endian(payload.size(), 8);
    return length + little_endian(masked(crc32c(length)), 4) + std::string(payload) +
           little_endian(masked(crc32c(payload)), 4);
}

}  // namespace hpo::exporting
