// How rates and short times are written.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "hpo/units.hpp"

namespace hpo::view {

/// Formats a rate: "140 GFLOP/s", "12.4 TFLOP/s".
inline std::string flops_text(double rate) {
    const bool tera = rate >= 1e12;
    char text[40];
    const double value = rate / (tera ? 1e12 : 1e9);
    std::snprintf(text, sizeof text, value < 9.95 ? "%.2f" : value < 99.5 ? "%.1f" : "%.0f", value);
    return std::string(text) + (tera ? " TFLOP/s" : " GFLOP/s");
}

/// Formats a latency: "9 ns", "1.2 us", "3.4 ms".
inline std::string latency_text(double seconds) {
    const auto [scale, unit] = seconds < 1e-6   ? std::pair(1e9, "ns")
                               : seconds < 1e-3 ? std::pair(1e6, "us")
                                                : std::pair(1e3, "ms");
    char text[40];
    std::snprintf(text, sizeof text, seconds * scale < 9.95 ? "%.1f %s" : "%.0f %s", seconds * scale, unit);
    return text;
}

inline std::string bandwidth_text(double rate) { return rate > 0 ? bytes_text(rate) + "/s" : "-"; }

}  // namespace hpo::view
