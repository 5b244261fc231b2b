// Formats the values and sources of telemetry for display.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "hpo/text.hpp"
#include "orchestrator/telemetry/quantity.hpp"

namespace hpo {

/// Formats a value with its unit: "12 %", "21.3 GiB", "187 W", "1.0". Returns "not a number" for a NaN.
inline std::string value_text(Quantity quantity, double value) {
    if (std::isnan(value)) return "not a number";
    const std::string unit(traits_of(quantity).unit);
    if (unit == "B") return bytes_text(value);
    if (unit == "B/s") return bytes_text(value) + "/s";
    char text[48];
    std::snprintf(text, sizeof text, unit == "%" && std::abs(value) >= 0.05 && std::abs(value) < 9.95 ? "%.1f" : "%.0f",
                  value);
    if (quantity == Quantity::cores) std::snprintf(text, sizeof text, "%.1f", value);
    return text + (unit.empty() ? "" : " " + unit);
}

/// Returns the display name of a source: "GPU 0" for "gpu 0", "Host" for "host".
inline std::string name_of_source(const std::string& source) {
    if (source.starts_with("gpu ")) return "GPU " + source.substr(4);
    std::string name = source;
    if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
    return name;
}

}  // namespace hpo
