// Collects samples and summarises each channel: average, extremes and percentiles.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

struct ChannelSummary {
    std::size_t count = 0;       ///< possible values; without one all figures below are 0
    std::size_t impossible = 0;  ///< values that were left out
    double average = 0, least = 0, most = 0;
    double percentile_5 = 0, median = 0, percentile_95 = 0;
    double worst = 0;  ///< the impossible value that is farthest from 0; meaningful if impossible > 0
};

using TelemetrySummary = std::map<Channel, ChannelSummary>;

/// Keeps all values: 20 channels sampled each second for a day take 14 MB.
class TelemetryCollector {
   public:
    void add(const TelemetrySample& sample);
    /// Percentiles are values that occurred (nearest rank).
    [[nodiscard]] TelemetrySummary summarise() const;
    /// Forgets all samples.
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
