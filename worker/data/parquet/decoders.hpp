// The values of a page, by their encoding (parquet-format, Encodings.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/parquet/metadata.hpp"

namespace hpo::parquet {

inline constexpr std::size_t most_text_bytes = std::size_t{64} << 10;  // of one value

/// Values as they lie in the file.
struct Values {
    std::vector<std::uint64_t> bits;      ///< of numbers: int32 with its sign extended, float32 in the low half
    std::vector<std::string_view> bytes;  ///< of bytes and fixed, in the page, the dictionary, or made
    std::deque<std::string> made;

    void clear() {
        bits.clear();
        bytes.clear();
        made.clear();
    }
    [[nodiscard]] std::size_t count() const { return bits.size() + bytes.size(); }
};

/// The storage of a column's values. length: of Physical::fixed.
struct PhysicalType {
    Physical type = Physical::int32;
    std::size_t length = 0;

    [[nodiscard]] bool is_bytes() const { return type == Physical::bytes || type == Physical::fixed; }
    /// Returns the bytes of a value; 0 if values have different sizes, or are bits.
    [[nodiscard]] std::size_t size() const;
};

class Decoder {
   public:
    Decoder() = default;
    virtual ~Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    /// Appends the next values. Errors tell the flaw of the page.
    virtual Result<void> read(std::size_t count, Values& to) = 0;
    /// Returns true if the page has no further values, except for the padding of packed bits.
    [[nodiscard]] virtual bool at_end() const = 0;
};

/// Makes the decoder of a page's values, which follow its levels. The bytes, and the dictionary, must outlive the
/// decoder. `dictionary`: null where the column has none so far.
Result<std::unique_ptr<Decoder>> make_decoder(PhysicalType type, std::int64_t encoding,
                                              std::span<const std::byte> bytes, const Values* dictionary);

}  // namespace hpo::parquet
