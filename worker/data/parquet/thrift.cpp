#include "worker/data/parquet/thrift.hpp"

namespace hpo::parquet {
namespace {

constexpr int most_depth = 32;

}  // namespace

bool ThriftReader::enter() { return !failed_ && ++depth_ <= most_depth; }

std::uint8_t ThriftReader::byte() {
    if (failed_) return 0;
    if (at_ == bytes_.size()) {
        truncated_ = true;
        fail();
        return 0;
    }
    return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ThriftReader::varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t next = byte();
        number |= static_cast<std::uint64_t>(next & 0x7F) << shift;
        if ((next & 0x80) == 0) return number;
    }
    fail();
    return 0;
}

std::int64_t ThriftReader::zigzag() {
    const std::uint64_t number = varint();
    return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
}

ThriftType ThriftReader::field_header(std::int64_t& id) {
    const std::uint8_t head = byte();
    if (failed_ || head == 0) return ThriftType::stop;
    // The high bits are the distance to the id before, or 0 where the id follows.
    id = head >> 4 != 0 ? id + (head >> 4) : zigzag();
    // Ids have 16 bits; a sum of more could overflow.
    if (id < 0 || id > 32767) fail();
    return failed_ ? ThriftType::stop : static_cast<ThriftType>(head & 0xF);
}

std::size_t ThriftReader::list_header(ThriftType& of_items) {
    const std::uint8_t head = byte();
    of_items = static_cast<ThriftType>(head & 0xF);
    const std::uint64_t size = head >> 4 == 0xF ? varint() : head >> 4;
    // Each item takes a byte at least.
    if (size > bytes_.size() - at_) {
        truncated_ = true;
        fail();
    }
    return failed_ ? 0 : static_cast<std::size_t>(size);
}

std::int64_t ThriftReader::integer(ThriftType type) {
    if (type == ThriftType::i8) return static_cast<std::int8_t>(byte());
    if (type < ThriftType::i16 || type > ThriftType::i64) fail();
    const std::int64_t number = zigzag();
    return failed_ ? 0 : number;
}

bool ThriftReader::boolean(ThriftType type) {
    if (type != ThriftType::true_value && type != ThriftType::false_value) fail();
    return !failed_ && type == ThriftType::true_value;
}

std::string_view ThriftReader::binary(ThriftType type) {
    if (type != ThriftType::binary) fail();
    const std::uint64_t size = varint();
    if (!failed_ && size > bytes_.size() - at_) {
        truncated_ = true;
        fail();
    }
    if (failed_) return {};
    const auto* const begin = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += static_cast<std::size_t>(size);
    return {begin, static_cast<std::size_t>(size)};
}

void ThriftReader::skip(ThriftType type) {
    switch (type) {
        case ThriftType::true_value:
        case ThriftType::false_value:
            return;
        case ThriftType::i8:
            byte();
            return;
        case ThriftType::i16:
        case ThriftType::i32:
        case ThriftType::i64:
            varint();
            return;
        case ThriftType::binary:
            binary(type);
            return;
        case ThriftType::real:
        case ThriftType::uuid:
            for (int i = 0; i < (type == ThriftType::real ? 8 : 16); ++i) byte();
            return;
        case ThriftType::list:
        case ThriftType::set:
            list(type, [this](ThriftType its) {
                // A boolean of a list has a byte to itself, unlike a field's.
                its == ThriftType::true_value || its == ThriftType::false_value ? static_cast<void>(byte()) : skip(its);
            });
            return;
        case ThriftType::structure:
            structure(type, [this](std::int64_t, ThriftType its) { skip(its); });
            return;
        case ThriftType::stop:
        case ThriftType::map:
            break;  // Parquet has none
    }
    fail();
}

}  // namespace hpo::parquet
