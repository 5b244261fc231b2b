#include "orchestrator/telemetry/session_telemetry.hpp"

#include <algorithm>
#include <utility>

namespace hpo {

std::vector<TelemetryRow> SessionTelemetry::tick(Seconds now, double wall, const DeviceReadings& devices, bool training,
                                                 std::int64_t process) {
    const TelemetrySample sample = sampler_.take(now, devices, process, "trials");
    if (training) collector_.add(sample);
    if ((now - begin_).count() < telemetry_interval) return {};
    return finish(now, wall);
}

std::vector<TelemetryRow> SessionTelemetry::finish(Seconds now, double wall) {
    std::vector<TelemetryRow> rows;
    const double seconds = (now - std::exchange(begin_, now)).count();
    for (const auto& [channel, figures] : collector_.summarise())
        rows.push_back({wall, seconds, channel.source, std::string(traits_of(channel.quantity).name),
                        static_cast<std::int64_t>(figures.count), static_cast<std::int64_t>(figures.impossible),
                        figures.average, figures.least, figures.most});
    collector_.clear();
    return rows;
}

TelemetrySummary summarise(const std::vector<TelemetryRow>& rows) {
    TelemetryCollector averages;
    TelemetrySummary exact;
    for (const TelemetryRow& row : rows) {
        const auto quantity = quantity_named(row.quantity);
        if (!quantity) continue;
        const Channel channel{row.source, *quantity};
        ChannelSummary& figures = exact[channel];
        figures.impossible += static_cast<std::size_t>(row.impossible);
        if (row.samples <= 0) continue;
        figures.least = figures.count == 0 ? row.least : std::min(figures.least, row.least);
        figures.most = figures.count == 0 ? row.most : std::max(figures.most, row.most);
        figures.average += row.average * static_cast<double>(row.samples);  // A sum until the division below.
        figures.count += static_cast<std::size_t>(row.samples);
        averages.add({{channel, row.average}});
    }
    const TelemetrySummary percentiles = averages.summarise();
    for (auto& [channel, figures] : exact) {
        if (figures.count == 0) continue;
        figures.average /= static_cast<double>(figures.count);
        const ChannelSummary& of_rows = percentiles.at(channel);
        figures.percentile_5 = of_rows.percentile_5;
        figures.median = of_rows.median;
        figures.percentile_95 = of_rows.percentile_95;
    }
    return exact;
}

}  // namespace hpo
