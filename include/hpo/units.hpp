// Formats numbers for people, with four significant digits and units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace hpo {

/// Returns 0.8953, 12.34, 4821, 3.100e-4, "nan", "inf", "-inf". Trailing zeros are kept, so that columns do not jump.
inline std::string short_number(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
    const double size = std::abs(number);
    char text[40];
    if (number == 0) return "0";
    if (size < 1e-3 || size >= 1e7) {
        std::snprintf(text, sizeof text, "%.3e", number);
        std::string shown = text;
        const std::size_t exponent = shown.find('e') + 2;
        while (shown[exponent] == '0' && exponent + 1 < shown.size()) shown.erase(exponent, 1);
        if (shown[exponent - 1] == '+') shown.erase(exponent - 1, 1);
        return shown;
    }
    if (size >= 1000)
        std::snprintf(text, sizeof text, "%.0f", number);
    else if (size >= 1)
        std::snprintf(text, sizeof text, "%.*f",
                      size >= 999.95   ? 0
                      : size >= 99.995 ? 1
                      : size >= 9.9995 ? 2
                                       : 3,
                      number);
    else
        std::snprintf(text, sizeof text, "%.*f", size >= 0.99995 ? 3 : size >= 0.1 ? 4 : size >= 0.01 ? 5 : 6, number);
    return text;
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

}  // namespace hpo
