#include "orchestrator/telemetry/summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hpo {

namespace {

double nearest_rank(const std::vector<double>& ascending, double percentile) {
    const auto rank = static_cast<std::size_t>(std::ceil(percentile / 100 * static_cast<double>(ascending.size())));
    return ascending[std::clamp<std::size_t>(rank, 1, ascending.size()) - 1];
}

}  // namespace

void TelemetryCollector::add(const TelemetrySample& sample) {
    for (const Measurement& measured : sample) {
        Series& series = series_[measured.channel];
        if (measured.possible) {
            series.values.push_back(measured.value);
        } else {
            ++series.impossible;
            // A number replaces NaN as the worst value.
            if (!(std::abs(measured.value) <= std::abs(series.worst))) series.worst = measured.value;
        }
    }
}

TelemetrySummary TelemetryCollector::summarise() const {
    TelemetrySummary summary;
    for (const auto& [channel, series] : series_) {
        ChannelSummary& figures = summary[channel];
        figures.count = series.values.size();
        figures.impossible = series.impossible;
        figures.worst = series.worst;
        if (series.values.empty()) continue;
        std::vector<double> values = series.values;
        std::sort(values.begin(), values.end());
        figures.average = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        figures.least = values.front();
        figures.most = values.back();
        figures.percentile_5 = nearest_rank(values, 5);
        figures.median = nearest_rank(values, 50);
        figures.percentile_95 = nearest_rank(values, 95);
    }
    return summary;
}

std::optional<ChannelSummary> find(const TelemetrySummary& summary, const Channel& channel) {
    const auto found = summary.find(channel);
    return found == summary.end() || found->second.count == 0 ? std::nullopt : std::optional(found->second);
}

}  // namespace hpo
