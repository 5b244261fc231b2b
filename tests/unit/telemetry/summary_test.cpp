#include "orchestrator/telemetry/summary.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orchestrator/telemetry/rates.hpp"

namespace hpo {
namespace {

const Channel load{"gpu 0", Quantity::utilization};

TEST(TelemetryCollector, SummarisesByAverageExtremesAndNearestRanks) {
    TelemetryCollector collector;
    for (int value = 100; value >= 1; --value) collector.add({{load, static_cast<double>(value)}});
    const ChannelSummary figures = collector.summarise().at(load);
    EXPECT_EQ(figures.count, 100U);
    EXPECT_DOUBLE_EQ(figures.average, 50.5);
    EXPECT_EQ(figures.least, 1);
    EXPECT_EQ(figures.percentile_5, 5);
    EXPECT_EQ(figures.median, 50);
    EXPECT_EQ(figures.percentile_95, 95);
    EXPECT_EQ(figures.most, 100);
}

TEST(TelemetryCollector, ImpossibleValuesAreCountedAndEnterNoFigure) {
    TelemetryCollector collector;
    const Channel power{"gpu 0", Quantity::power};
    for (const double watts : {100.0, std::nan(""), 5900.0, 4000.0, 200.0})
        collector.add({measurement("gpu 0", Quantity::power, watts)});
    const ChannelSummary figures = collector.summarise().at(power);
    EXPECT_EQ(figures.count, 2U);
    EXPECT_EQ(figures.impossible, 3U);
    EXPECT_DOUBLE_EQ(figures.average, 150);
    EXPECT_EQ(figures.worst, 5900);
}

TEST(TelemetryCollector, AChannelWithoutPossibleValuesIsNotFound) {
    TelemetryCollector collector;
    collector.add({measurement("gpu 0", Quantity::utilization, -1)});
    EXPECT_EQ(collector.summarise().at(load).impossible, 1U);
    EXPECT_FALSE(find(collector.summarise(), load));
    EXPECT_FALSE(find(collector.summarise(), {"gpu 1", Quantity::utilization}));
    collector.clear();
    EXPECT_TRUE(collector.summarise().empty());
}

}  // namespace
}  // namespace hpo
