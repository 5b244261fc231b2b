#include "orchestrator/export/records.hpp"

#include <array>
#include <bit>

namespace hpo::exporting {

namespace {

using CrcTable = std::array<std::uint32_t, 256>;

/// `polynomial`: with its bits in reverse.
constexpr CrcTable crc_table(std::uint32_t polynomial) {
    CrcTable table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? polynomial : 0);
        table[byte] = rest;
    }
    return table;
}

constexpr CrcTable castagnoli = crc_table(0x82f63b78U), ieee = crc_table(0xedb88320U);

std::uint32_t checksum(const CrcTable& table, std::string_view bytes) {
    std::uint32_t rest = ~0U;
    for (const char c : bytes) rest = rest >> 8 ^ table[(rest ^ static_cast<std::uint8_t>(c)) & 0xff];
    return ~rest;
}

std::string little_endian(std::uint64_t number, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
    return bytes;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) { return checksum(castagnoli, bytes); }

std::uint32_t crc32(std::string_view bytes) { return checksum(ieee, bytes); }

std::uint32_t masked(std::uint32_t checksum) { return std::rotr(checksum, 15) + 0xa282ead8U; }

std::string framed(std::string_view payload) {
    const std::string length = little_endian(payload.size(), 8);
    return length + little_endian(masked(crc32c(length)), 4) + std::string(payload) +
           little_endian(masked(crc32c(payload)), 4);
}

BlockLog::BlockLog() {
    constexpr std::uint16_t magic = 0xbee1;
    constexpr char version = 0;
    bytes_ = ":W&B" + little_endian(magic, 2) + version;
}

void BlockLog::append(std::string_view record) {
    constexpr std::size_t block = 32768, header = 7;
    enum Part : unsigned char { whole = 1, first = 2, middle = 3, last = 4 };
    for (bool begins = true;; begins = false) {
        std::size_t room = block - bytes_.size() % block;
        if (room < header) {
            bytes_.append(room, '\0');
            room = block;
        }
        const std::string_view data = record.substr(0, room - header);
        record.remove_prefix(data.size());
        const Part part = record.empty() ? (begins ? whole : last) : begins ? first : middle;
        const std::string typed = static_cast<char>(part) + std::string(data);
        bytes_ += little_endian(crc32(typed), 4) + little_endian(data.size(), 2) + typed;
        if (record.empty()) return;
    }
}

}  // namespace hpo::exporting
