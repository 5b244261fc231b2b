// The telemetry of a session of `hpo run`: samples every second while trials train, condensed into rows for the study's
// database.
#pragma once

#include <utility>
#include <vector>

#include "hpo/telemetry_row.hpp"
#include "orchestrator/telemetry/sampler.hpp"
#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

/// Condenses samples into rows of at most this many seconds: a day of a host with eight GPUs takes some 20 MB.
inline constexpr double telemetry_interval = 10;

class SessionTelemetry {
   public:
    SessionTelemetry(Host host, Seconds now) : sampler_(std::move(host), now), begin_(now) {}

    /// To be called about once a second. `training` tells whether any trial trained since the last call: idle time says
    /// nothing about what limits the study, and is left out. Returns the rows of an interval that has ended, or
    /// nothing. `wall` is the time of day in seconds since the epoch.
    std::vector<TelemetryRow> tick(Seconds now, double wall, const DeviceReadings& devices, bool training);
    /// Returns the rows of the interval that has begun, at the end of the session.
    std::vector<TelemetryRow> finish(Seconds now, double wall);

   private:
    TelemetrySampler sampler_;
    TelemetryCollector collector_;
    Seconds begin_;
};

/// Joins the rows of a study to a summary. Averages are weighted by samples; percentiles are those of the rows'
/// averages, so that they tell of intervals and not of single samples. Quantities that this version does not know are
/// left out.
TelemetrySummary summarise(const std::vector<TelemetryRow>& rows);

}  // namespace hpo
