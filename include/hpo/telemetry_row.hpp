// The telemetry of a session's devices in an interval, as a study keeps it beside its trials.
#pragma once

#include <cstdint>
#include <string>

namespace hpo {

/// One quantity of one device in one interval. Units are those of orchestrator/telemetry/quantity.hpp.
struct TelemetryRow {
    double time = 0;     ///< end of the interval, in seconds since the epoch
    double seconds = 0;  ///< length of the interval
    std::string source;  ///< "host", "gpu 0"
    std::string quantity;
    std::int64_t samples = 0;     ///< possible values; without one the figures below are 0
    std::int64_t impossible = 0;  ///< values that were left out
    double average = 0, least = 0, most = 0;
};

}  // namespace hpo
