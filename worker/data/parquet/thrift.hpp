// The compact protocol of Apache Thrift, in which Parquet writes its metadata
// (github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hpo::parquet {

enum class ThriftType : std::uint8_t {
    stop = 0,
    true_value = 1,  ///< a field; in a list, any boolean
    false_value = 2,
    i8 = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    real = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12,
    uuid = 13,
};

/// Reads values one after the other. The first value that is damaged or that has another type than the caller expects
/// makes the reader fail: from then on every value is 0 or empty, so that callers ask once, at the end. Views are into
/// the bytes.
class ThriftReader {
   public:
    explicit ThriftReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    /// Calls field(id, type) for each field; it must read the value, or skip it.
    template <class F>
    void structure(ThriftType type, F&& field) {
        if (type != ThriftType::structure || !enter()) return fail();
        std::int64_t id = 0;
        for (ThriftType its = field_header(id); its != ThriftType::stop; its = field_header(id)) field(id, its);
        --depth_;
    }
    /// Calls item(type) for each item.
    template <class F>
    void list(ThriftType type, F&& item) {
        if ((type != ThriftType::list && type != ThriftType::set) || !enter()) return fail();
        ThriftType of_items{};
        for (std::size_t left = list_header(of_items); left > 0 && !failed_; --left) item(of_items);
        --depth_;
    }
    std::int64_t integer(ThriftType type);
    bool boolean(ThriftType type);
    std::string_view binary(ThriftType type);
    void skip(ThriftType type);
    /// Fails for a reason of the caller's.
    void fail() { failed_ = true; }

    [[nodiscard]] bool failed() const { return failed_; }
    /// Returns true if it failed because the bytes ended too early.
    [[nodiscard]] bool truncated() const { return truncated_; }
    [[nodiscard]] std::size_t position() const { return at_; }

   private:
    bool enter();
    ThriftType field_header(std::int64_t& id);
    std::size_t list_header(ThriftType& of_items);
    std::uint8_t byte();
    std::uint64_t varint();
    std::int64_t zigzag();

    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool failed_ = false, truncated_ = false;
};

}  // namespace hpo::parquet
