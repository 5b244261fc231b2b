// The telemetry of a session of `hpo run`: samples every second while trials train, condensed into rows for the study's
// database.
#pragma once

#include <utility>
#include <vector>

#include "hpo/telemetry_row.hpp"
#include "orchestrator/telemetry/sampler.hpp"
#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

/// The duration that a row covers, in seconds. At 10 s, a day of a host with eight GPUs takes about 20 MB.
inline constexpr double telemetry_interval = 10;

class SessionTelemetry {
   public:
    SessionTelemetry(Host host, Seconds now) : sampler_(std::move(host), now), begin_(now) {}

    /// Takes a sample and returns the rows of the interval if it has ended. Should be called about once a second.
    /// `training` is true if any trial trained since the last call. Idle time is left out, since it does not show the
    /// study's bottleneck. `wall` is the wall-clock time in seconds since the epoch. `process` is the root of the
    /// processes of all trials, whose cores are sampled then; 0: they are not.
    std::vector<TelemetryRow> tick(Seconds now, double wall, const DeviceReadings& devices, bool training,
                                   std::int64_t process = 0);
    /// Returns the rows of the unfinished interval. Called at the end of the session.
    std::vector<TelemetryRow> finish(Seconds now, double wall);

   private:
    TelemetrySampler sampler_;
    TelemetryCollector collector_;
    Seconds begin_;
};

/// Combines the rows of a study into a summary. Averages are weighted by the number of samples. Percentiles are taken
/// over the rows' averages, so they describe intervals and not single samples. Unknown quantities are ignored.
TelemetrySummary summarise(const std::vector<TelemetryRow>& rows);

}  // namespace hpo
