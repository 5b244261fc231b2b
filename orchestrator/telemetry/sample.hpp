// One sample of telemetry: the value of each quantity that could be read at one moment.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/telemetry/quantity.hpp"

namespace hpo {

/// A quantity of a source.
struct Channel {
    std::string source;  ///< "host", "gpu 0", "program", "trials", "study phase1"
    Quantity quantity = Quantity::utilization;

    auto operator<=>(const Channel&) const = default;
};

struct Measurement {
    Channel channel;
    double value = 0;
    /// False if no device of this kind can have the value. The reading is then shown as impossible and excluded from
    /// averages.
    bool possible = true;
};

/// The measurements of one moment. Quantities that could not be read are absent.
using TelemetrySample = std::vector<Measurement>;

}  // namespace hpo
