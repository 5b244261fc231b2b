#include "orchestrator/telemetry/session_telemetry.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

DeviceReadings busy(double utilization) {
    DeviceReading device;
    device.activity.utilization = utilization;
    return {.devices = {device}};
}

const TelemetryRow* of(const std::vector<TelemetryRow>& rows, const std::string& source) {
    for (const TelemetryRow& row : rows)
        if (row.source == source && row.quantity == "utilization") return &row;
    return nullptr;
}

TEST(SessionTelemetry, CondensesAnIntervalOfSamplesWithoutThoseInWhichNothingTrained) {
    SessionTelemetry telemetry(Host{.cpus = {0}, .cpu_name = ""}, Seconds(100));
    for (int second = 1; second < 10; ++second)
        EXPECT_TRUE(telemetry.tick(Seconds(100 + second), 5000 + second, busy(second), second % 2 == 0).empty());
    const auto rows = telemetry.tick(Seconds(110), 5010, busy(500), true);
    const TelemetryRow* gpu = of(rows, "gpu 0");
    ASSERT_NE(gpu, nullptr);
    EXPECT_EQ(gpu->time, 5010);
    EXPECT_EQ(gpu->seconds, 10);
    EXPECT_EQ(gpu->samples, 4);  // 2, 4, 6 and 8
    EXPECT_EQ(gpu->impossible, 1);
    EXPECT_EQ(gpu->average, 5);
    EXPECT_EQ(gpu->least, 2);
    EXPECT_EQ(gpu->most, 8);
    EXPECT_TRUE(telemetry.finish(Seconds(111), 5011).empty());
}

TEST(SessionTelemetry, RowsAddUpToASummaryWeightedBySamples) {
    const auto row = [](std::int64_t samples, double average, double least, double most, std::int64_t impossible = 0) {
        return TelemetryRow{1, 10, "gpu 0", "power", samples, impossible, average, least, most};
    };
    const auto summary = summarise({row(1, 100, 90, 110),
                                    row(3, 200, 50, 300),
                                    row(0, 0, 0, 0, 4),
                                    {1, 10, "gpu 0", "of a later version", 1, 0, 1, 1, 1}});
    ASSERT_EQ(summary.size(), 1U);
    const ChannelSummary& power = summary.at({"gpu 0", Quantity::power});
    EXPECT_EQ(power.count, 4U);
    EXPECT_EQ(power.impossible, 4U);
    EXPECT_DOUBLE_EQ(power.average, 175);
    EXPECT_EQ(power.least, 50);
    EXPECT_EQ(power.most, 300);
    EXPECT_EQ(power.median, 100);
    EXPECT_EQ(power.percentile_95, 200);
}

TEST(SessionTelemetry, AChannelWithoutPossibleValuesHasNoFigures) {
    const auto summary = summarise({{1, 10, "gpu 0", "power", 0, 4, 0, 0, 0}});
    EXPECT_EQ(summary.at({"gpu 0", Quantity::power}).count, 0U);
}

}  // namespace
}  // namespace hpo
