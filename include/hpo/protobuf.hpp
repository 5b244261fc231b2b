// Encodes and decodes the wire format of protocol buffers (protobuf.dev/programming-guides/encoding) as far as needed.
// The format is compact, and older readers skip fields that are added later. Protozero would not do: it checks the type
// of a field by assert() alone, so that a release build would misread a damaged database without an error.
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hpo::protobuf {

/// A message under construction. Fields are appended in the order of the calls. A nested message is a field of bytes.
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

/// Thrown if bytes are not a valid message.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads the fields of a message in their order: `while (fields.next()) switch (fields.field()) ...`. Throws Broken if
/// the message is invalid. The bytes must outlive the object and the views that it returns.
class Fields {
   public:
    explicit Fields(std::string_view bytes) : left_(bytes) {}

    /// Advances to the next field. Returns false if there is none.
    bool next() {
        if (left_.empty()) return false;
        const std::uint64_t key = varint();
        field_ = static_cast<int>(key >> 3);
        type_ = static_cast<unsigned>(key & 7);
        switch (type_) {
            case 0:
                bits_ = varint();
                break;
            case 1:
                bits_ = fixed(8);
                break;
            case 2: {
                const std::uint64_t size = varint();
                if (size > left_.size()) throw Broken("a field is cut off");
                bytes_ = left_.substr(0, size);
                left_.remove_prefix(size);
                break;
            }
            case 5:
                bits_ = fixed(4);
                break;
            default:
                throw Broken("a field of unknown type");
        }
        return true;
    }

    [[nodiscard]] int field() const { return field_; }
    [[nodiscard]] std::int64_t number() const { return static_cast<std::int64_t>(of_type(0, bits_)); }
    [[nodiscard]] double real() const { return std::bit_cast<double>(of_type(1, bits_)); }
    [[nodiscard]] std::string_view bytes() const { return of_type(2, bytes_); }
    [[nodiscard]] std::string text() const { return std::string(bytes()); }

   private:
    template <class T>
    const T& of_type(unsigned type, const T& value) const {
        if (type_ != type) throw Broken("field " + std::to_string(field_) + " is of another type");
        return value;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (left_.empty()) break;
            const auto byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        throw Broken("a number is cut off");
    }
    std::uint64_t fixed(std::size_t size) {
        if (size > left_.size()) throw Broken("a number is cut off");
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < size; ++i)
            bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(left_[i])) << (8 * i);
        left_.remove_prefix(size);
        return bits;
    }

    std::string_view left_;
    int field_ = 0;
    unsigned type_ = 0;
    std::uint64_t bits_ = 0;
    std::string_view bytes_;
};

}  // namespace hpo::protobuf
