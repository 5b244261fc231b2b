// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), as much as is needed to write
// messages.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace hpo::exchange {

/// A message under construction: fields are appended in the order of the calls. A message within a message is a field
/// of bytes.
class Message {
   public:
    Message& number(int field, std::int64_t value) {
        key(field, 0);
        varint(static_cast<std::uint64_t>(value));
        return *this;
    }
    Message& real(int field, double value) {
        key(field, 1);
        fixed(std::bit_cast<std::uint64_t>(value), 8);
        return *this;
    }
    Message& single(int field, float value) {
        key(field, 5);
        fixed(std::bit_cast<std::uint32_t>(value), 4);
        return *this;
    }
    Message& bytes(int field, std::string_view value) {
        key(field, 2);
        varint(value.size());
        bytes_ += value;
        return *this;
    }
    Message& message(int field, const Message& value) { return bytes(field, value.bytes_); }

    [[nodiscard]] const std::string& encoded() const { return bytes_; }

   private:
    void key(int field, unsigned type) { varint(static_cast<std::uint64_t>(field) << 3 | type); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }
    void fixed(std::uint64_t bits, int size) {
        for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
    }

    std::string bytes_;
};

}  // namespace hpo::exchange
