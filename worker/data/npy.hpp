// NPY, NumPy's format of one array (numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a magic number,
// the version, the length of the header, the header as the text of a Python dictionary, then the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

enum class NpyType : std::uint8_t { boolean, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 };

std::int64_t bytes_of(NpyType type);
/// Returns NumPy's name of the type: uint8, float32.
const char* npy_name(NpyType type);
constexpr bool is_float(NpyType type) { return type == NpyType::f32 || type == NpyType::f64; }

/// One number of an array, at `bytes`. 64-bit integers above 2^53 are rounded.
double npy_number(NpyType type, const std::byte* bytes);

struct NpyHeader {
    NpyType type = NpyType::f32;
    std::vector<std::int64_t> shape;  ///< every extent is at least 1; not empty
    std::int64_t data_offset = 0;     ///< of the first number, in bytes
    friend bool operator==(const NpyHeader&, const NpyHeader&) = default;

    /// Numbers for each index of the first dimension.
    [[nodiscard]] std::int64_t row_numbers() const;
    [[nodiscard]] std::int64_t row_bytes() const { return row_numbers() * bytes_of(type); }
    [[nodiscard]] std::int64_t data_bytes() const { return shape[0] * row_bytes(); }
};

/// The bytes before the header's text, enough to know its length in every version.
inline constexpr std::size_t npy_preamble = 12;
inline constexpr std::size_t most_npy_header = std::size_t{1} << 16;

/// Returns the number of bytes from the beginning of the file that parse_npy needs, from its first npy_preamble bytes
/// (fewer are an error).
Result<std::size_t> npy_header_bytes(std::span<const std::byte> preamble);
/// Errors tell the offset in bytes and the cure. Arrays that are refused: big-endian, in Fortran order, of other
/// types, without an element or without a dimension.
Result<NpyHeader> parse_npy(std::span<const std::byte> beginning);

/// (60000, 28, 28), as NumPy writes it.
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace hpo
