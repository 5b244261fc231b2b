#include "worker/data/parquet/cells.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "hpo/from_chars.hpp"

namespace hpo::parquet {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr double exact_whole_numbers = 9007199254740992;  // 2^53: the whole numbers up to there are doubles

double half_number(std::uint64_t bits) {
    const int exponent = static_cast<int>(bits >> 10 & 0x1F);
    const auto fraction = static_cast<double>(bits & 0x3FF);
    const double sign = (bits >> 15 & 1) != 0 ? -1 : 1;
    if (exponent == 0x1F) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
    return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <class T>
std::string_view write(T number, std::span<char> to) {
    const auto end = std::to_chars(to.data(), to.data() + to.size(), number);
    return {to.data(), end.ptr};
}

std::string_view write_real(double number, std::span<char> to) {
    // 100000, and not 1e+05.
    constexpr double most_digits = 1e15;
    if (number == std::floor(number) && std::abs(number) < most_digits)
        return write(static_cast<std::int64_t>(number), to);
    return write(number, to);
}

double number_in(std::string_view text) {
    double number = 0;
    from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

double float_number(std::uint64_t bits) {
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    constexpr float whole_floats = 16777216;  // 2^24
    if (!std::isfinite(number) || (number == std::floor(number) && std::abs(number) < whole_floats)) return number;
    char text[32];
    return number_in(write(number, text));
}

/// Two's complement, the highest byte first, of at most 16 bytes.
Wide wide_number(std::string_view bytes) {
    Wide number = !bytes.empty() && (bytes.front() & 0x80) != 0 ? -1 : 0;
    for (const char byte : bytes) number = number * 256 + static_cast<unsigned char>(byte);
    return number;
}

std::string_view write_decimal(Wide unscaled, int scale, std::span<char> to) {
    const bool is_negative = unscaled < 0;
    auto left = is_negative ? -static_cast<UnsignedWide>(unscaled) : static_cast<UnsignedWide>(unscaled);
    std::size_t at = to.size();
    for (int digit = 0; left > 0 || digit <= scale; ++digit) {
        if (digit == scale && scale > 0) to[--at] = '.';
        to[--at] = static_cast<char>('0' + static_cast<int>(left % 10));
        left /= 10;
    }
    if (is_negative) to[--at] = '-';
    return {to.data() + at, to.size() - at};
}

double decimal_number(Wide unscaled, int scale, std::span<char> scratch) {
    constexpr int exact_powers = 22;  // 10^22 is the last one that is a double
    const auto number = static_cast<double>(unscaled);
    // A quotient of two exact doubles is rounded as a text is.
    if (std::abs(number) < exact_whole_numbers && scale <= exact_powers) {
        double power = 1;
        for (int i = 0; i < scale; ++i) power *= 10;
        return number / power;
    }
    return number_in(write_decimal(unscaled, scale, scratch));
}

/// 2024-01-31, from the days since 1970.
std::string_view write_date(std::int64_t days, std::span<char> to) {
    // Years that the calendar of the library has.
    if (std::abs(days) > 10'000'000) return write(days, to);
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
    const int size = std::snprintf(to.data(), to.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                                   static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return {to.data(), static_cast<std::size_t>(size)};
}

void set_real(double number, bool with_text, std::span<char> scratch, Cell& cell) {
    if (std::isnan(number)) {
        cell = {.text = "nan", .missing = true};
        return;
    }
    cell.number = number;
    if (with_text || !std::isfinite(number)) cell.text = write_real(number, scratch);
}

void set_bits(const Column& column, std::uint64_t bits, bool with_text, std::span<char> scratch, Cell& cell) {
    const auto whole = static_cast<std::int64_t>(bits);
    switch (column.meaning) {
        case Meaning::boolean:
        case Meaning::signed_integer:
            cell.number = static_cast<double>(whole);
            if (with_text) cell.text = write(whole, scratch);
            return;
        case Meaning::unsigned_integer: {
            const std::uint64_t number =
                column.physical.type == Physical::int32 ? static_cast<std::uint32_t>(bits) : bits;
            cell.number = static_cast<double>(number);
            if (with_text) cell.text = write(number, scratch);
            return;
        }
        case Meaning::number:
            return set_real(
                column.physical.type == Physical::float32 ? float_number(bits) : std::bit_cast<double>(bits), with_text,
                scratch, cell);
        case Meaning::decimal:
            cell.number = decimal_number(whole, column.scale, scratch);
            if (with_text) cell.text = write_decimal(whole, column.scale, scratch);
            return;
        case Meaning::date:
            cell.text = write_date(whole, scratch);
            return;
        case Meaning::time:
            cell.text = write(whole, scratch);
            return;
        case Meaning::half:
        case Meaning::text:
            return;  // bytes
    }
}

/// An error without a place.
Result<void> set_bytes(const Column& column, std::string_view bytes, bool with_text, std::span<char> scratch,
                       Cell& cell) {
    if (column.physical.type == Physical::fixed && bytes.size() != column.physical.length)
        return Error{"damaged: a value whose length is not that of its column"};
    switch (column.meaning) {
        case Meaning::half: {
            const auto low = static_cast<unsigned char>(bytes[0]), high = static_cast<unsigned char>(bytes[1]);
            set_real(half_number(low | std::uint64_t{high} << 8), with_text, scratch, cell);
            return {};
        }
        case Meaning::decimal: {
            if (bytes.size() > sizeof(Wide)) return Error{"holds decimals of more than 38 digits"};
            const Wide unscaled = wide_number(bytes);
            cell.number = decimal_number(unscaled, column.scale, scratch);
            if (with_text) cell.text = write_decimal(unscaled, column.scale, scratch);
            return {};
        }
        default:
            break;
    }
    if (bytes.size() > most_text_bytes)
        return Error{"a text of " + std::to_string(bytes.size()) + " bytes: too long for the name of a level"};
    cell.text = bytes;
    return {};
}

}  // namespace

Result<void> Cells::assign(const Column& column, Wanted wanted, const std::vector<bool>& present,
                           const Values& values) {
    const std::size_t rows = present.size();
    cells_.assign(rows, {.text = "null", .missing = true});
    texts_.resize(rows);
    const bool with_text = wanted == Wanted::text;
    std::size_t next = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        if (!present[row]) continue;
        Cell& cell = cells_[row] = {};
        if (values.bytes.empty())
            set_bits(column, values.bits[next++], with_text, texts_[row], cell);
        else if (auto set = set_bytes(column, values.bytes[next++], with_text, texts_[row], cell); !set)
            return set;
    }
    return {};
}

}  // namespace hpo::parquet
