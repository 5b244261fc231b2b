// Counts with their nouns, numbers, sizes, durations and rates as texts for people.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace hpo {

/// Returns "1 study", "0 studies", "3 studies".
inline std::string counted(std::int64_t number, const std::string& one, const std::string& many) {
    return std::to_string(number) + ' ' + (number == 1 ? one : many);
}

/// Returns "1 step", "0 steps", "3 steps".
inline std::string counted(std::int64_t number, const std::string& noun) { return counted(number, noun, noun + 's'); }

/// Returns a whole number with its digits in groups: 1,234,567.
inline std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
    return digits;
}

/// Returns "1 row", "1,234 rows".
inline std::string grouped(std::int64_t number, const std::string& noun) {
    return grouped(number) + ' ' + noun + (number == 1 ? "" : "s");
}

/// Returns a number with at most `digits` significant digits and no trailing zeros: 8, 1.5, 1e-05.
inline std::string with_digits(double number, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    return text;
}

/// Returns a number with the fewest digits that read back the same: 256, 0.0003, 1e-16.
inline std::string exact_number(double number) {
    constexpr double most_exact = 9007199254740992;  // 2^53: each whole number up to it is a double
    if (number == std::floor(number) && std::abs(number) <= most_exact)
        return std::to_string(static_cast<std::int64_t>(number));
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general).ptr};
}

/// Returns a number as printf's %.*f, %.*e or %.*g does, three times as fast: a table may have a million of them.
inline std::string with_decimals(double number, int decimals, std::chars_format format = std::chars_format::fixed) {
    char text[352];  // the largest number has 309 digits
    return {text, std::to_chars(text, text + sizeof text, number, format, decimals).ptr};
}

/// Returns 0.8953, 12.34, 4821, 3.100e-4, "nan", "inf", "-inf". Trailing zeros are kept, so that columns do not jump.
inline std::string short_number(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
    const double size = std::abs(number);
    if (number == 0) return "0";
    if (size < 1e-3 || size >= 1e7) {
        std::string shown = with_decimals(number, 3, std::chars_format::scientific);
        const std::size_t exponent = shown.find('e') + 2;
        while (shown[exponent] == '0' && exponent + 1 < shown.size()) shown.erase(exponent, 1);
        if (shown[exponent - 1] == '+') shown.erase(exponent - 1, 1);
        return shown;
    }
    const int decimals = size >= 999.95    ? 0
                         : size >= 99.995  ? 1
                         : size >= 9.9995  ? 2
                         : size >= 0.99995 ? 3
                         : size >= 0.1     ? 4
                         : size >= 0.01    ? 5
                                           : 6;
    return with_decimals(number, decimals);
}

/// Returns short_number() without trailing zeros, for numbers that somebody chose: 0.35, 0.001, 1e-4, 256.
inline std::string trimmed_number(double number) {
    std::string text = short_number(number);
    const std::size_t exponent = std::min(text.find('e'), text.size());
    if (text.find('.') == std::string::npos) return text;
    std::size_t end = text.find_last_not_of('0', exponent - 1);
    if (text[end] == '.') --end;
    return text.erase(end + 1, exponent - end - 1);
}

/// Returns 512 B, 3.250 MiB, 22.94 GiB.
inline std::string bytes_text(double bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    while (std::abs(bytes) >= 1024 && unit < 5) bytes /= 1024, ++unit;
    char text[40];
    std::snprintf(text, sizeof text, "%.*f %s",
                  unit == 0 || std::abs(bytes) >= 1000 ? 0
                  : std::abs(bytes) >= 100             ? 1
                  : std::abs(bytes) >= 10              ? 2
                                                       : 3,
                  bytes, units[unit]);
    return text;
}

/// Returns bytes_text() of a whole number of bytes.
inline std::string size_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

/// Returns 850 ms, 12.3 s, 4m 05s, 2h 07m, 3d 04h. A negative or non-finite number becomes 0 ms.
inline std::string duration_text(double seconds) {
    if (!(seconds >= 0 && seconds < 1e12)) seconds = 0;
    char text[40];
    const auto whole = static_cast<long long>(seconds + 0.5);
    if (seconds < 0.9995)
        std::snprintf(text, sizeof text, "%.0f ms", seconds * 1000);
    else if (seconds < 59.95)
        std::snprintf(text, sizeof text, "%.1f s", seconds);
    else if (whole < 3600)
        std::snprintf(text, sizeof text, "%lldm %02llds", whole / 60, whole % 60);
    else if (whole < 86400)
        std::snprintf(text, sizeof text, "%lldh %02lldm", whole / 3600, whole / 60 % 60);
    else
        std::snprintf(text, sizeof text, "%lldd %02lldh", whole / 86400, whole / 3600 % 24);
    return text;
}

/// Returns a share of 1 as "12 %".
inline std::string percent_text(double share) {
    char text[40];
    std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
    return text;
}

/// Returns "1 core", "0.5 cores", "11.72 cores".
inline std::string cores_text(double cores) { return with_digits(cores, 4) + (cores == 1 ? " core" : " cores"); }

/// Returns a rate of operations: "140 GFLOP/s", "12.4 TFLOP/s".
inline std::string flops_text(double rate) {
    const bool tera = rate >= 1e12;
    char text[40];
    const double value = rate / (tera ? 1e12 : 1e9);
    std::snprintf(text, sizeof text, value < 9.95 ? "%.2f" : value < 99.5 ? "%.1f" : "%.0f", value);
    return std::string(text) + (tera ? " TFLOP/s" : " GFLOP/s");
}

/// Returns a duration below a second: "9.0 ns", "1.2 us", "34 ms".
inline std::string latency_text(double seconds) {
    const auto [scale, unit] = seconds < 1e-6   ? std::pair(1e9, "ns")
                               : seconds < 1e-3 ? std::pair(1e6, "us")
                                                : std::pair(1e3, "ms");
    char text[40];
    std::snprintf(text, sizeof text, seconds * scale < 9.95 ? "%.1f %s" : "%.0f %s", seconds * scale, unit);
    return text;
}

}  // namespace hpo
