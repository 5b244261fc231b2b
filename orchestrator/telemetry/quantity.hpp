// The quantities that telemetry samples, with their units and the values that are physically possible.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

namespace hpo {

enum class Quantity {
    utilization,
    memory_utilization,
    memory,
    power,
    temperature,
    clock,
    throttled,
    received,
    sent,
    cpu_pressure,
    memory_pressure,
    io_pressure,
    cores,
    speed,
};

struct QuantityTraits {
    std::string_view name;   ///< identifier in columns and JSON
    std::string_view title;  ///< name shown to users
    std::string_view unit;   ///< unit of the values; "B" is shown with a prefix
    double least = 0;        ///< no smaller value is possible
    double most = 0;         ///< no larger value is possible, on any device
};

inline constexpr double unlimited = std::numeric_limits<double>::infinity();

/// The traits in the order of Quantity. The limits are generous: a rack-scale GPU draws 1,400 W and a server's CPUs
/// 1,000 W. A device's own limits (its power limit, its memory) are stricter and are checked where they are known.
inline constexpr std::array quantity_traits{
    QuantityTraits{"utilization", "utilization", "%", 0, 100},
    QuantityTraits{"memory_utilization", "memory bandwidth busy", "%", 0, 100},
    QuantityTraits{"memory", "memory used", "B", 0, unlimited},
    QuantityTraits{"power", "power", "W", 0, 3000},
    QuantityTraits{"temperature", "temperature", "C", -40, 150},
    QuantityTraits{"clock", "clock", "MHz", 0, 10000},
    QuantityTraits{"throttled", "time throttled", "%", 0, 100},
    QuantityTraits{"received", "PCIe received", "B/s", 0, 1e12},
    QuantityTraits{"sent", "PCIe sent", "B/s", 0, 1e12},
    QuantityTraits{"cpu_pressure", "time waited for CPU", "%", 0, 100},
    QuantityTraits{"memory_pressure", "time waited for memory", "%", 0, 100},
    QuantityTraits{"io_pressure", "time waited for I/O", "%", 0, 100},
    QuantityTraits{"cores", "CPU cores used", "", 0, 100000},
    QuantityTraits{"speed", "training speed", "it/s", 0, unlimited},
};

constexpr const QuantityTraits& traits_of(Quantity quantity) {
    return quantity_traits[static_cast<std::size_t>(quantity)];
}
/// Returns the quantity with this name, or nothing if there is none.
constexpr std::optional<Quantity> quantity_named(std::string_view name) {
    for (std::size_t i = 0; i < quantity_traits.size(); ++i)
        if (quantity_traits[i].name == name) return static_cast<Quantity>(i);
    return std::nullopt;
}
static_assert(traits_of(Quantity::speed).name == "speed");

}  // namespace hpo
