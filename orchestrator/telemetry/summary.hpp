// Collects samples and summarises each channel: average, extremes and percentiles.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

struct ChannelSummary {
    std::size_t count = 0;       ///< number of possible values; if 0, all statistics below are 0
    std::size_t impossible = 0;  ///< number of impossible values, which are left out of the statistics
    double average = 0, least = 0, most = 0;
    double percentile_5 = 0, median = 0, percentile_95 = 0;
    double worst = 0;  ///< the impossible value with the largest magnitude; 0: not known, as of stored telemetry
};

using TelemetrySummary = std::map<Channel, ChannelSummary>;

/// Collects samples. All values are kept: 20 channels sampled once a second for a day take 14 MB.
class TelemetryCollector {
   public:
    void add(const TelemetrySample& sample);
    /// Returns a summary of each channel. Percentiles use the nearest rank, so they are values that occurred.
    [[nodiscard]] TelemetrySummary summarise() const;
    /// Discards all samples.
    void clear() { series_.clear(); }

   private:
    struct Series {
        std::vector<double> values;
        std::size_t impossible = 0;
        double worst = 0;
    };
    std::map<Channel, Series> series_;
};

/// Returns the channel's summary if it has at least one possible value.
std::optional<ChannelSummary> find(const TelemetrySummary& summary, const Channel& channel);

}  // namespace hpo
