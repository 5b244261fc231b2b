#include "worker/training/pressure.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hpo {
namespace {

constexpr double target = 0.9;

/// Sizes after each of `count` readings of `use_of(samples)`.
template <class F>
std::vector<std::int64_t> sizes(MemoryPressure& pressure, int count, F&& use_of) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < count; ++i) all.push_back(pressure.read(use_of(pressure.samples())));
    return all;
}

int changes(const std::vector<std::int64_t>& sizes) {
    int count = 0;
    for (std::size_t i = 1; i < sizes.size(); ++i) count += sizes[i] != sizes[i - 1];
    return count;
}

TEST(MemoryPressure, StaysAsConfiguredWhileMemoryIsNotShort) {
    MemoryPressure pressure(256, target);
    for (const double use : {0.1, 0.5, 0.72, 0.8, 0.89})
        for (const std::int64_t size : sizes(pressure, 20, [&](auto) { return use; })) EXPECT_EQ(size, 256);
}

TEST(MemoryPressure, OneHighReadingIsNoPressure) {
    MemoryPressure pressure(256, target);
    sizes(pressure, 10, [](auto) { return 0.7; });
    EXPECT_EQ(pressure.read(1.0), 256);
    for (const std::int64_t size : sizes(pressure, 10, [](auto) { return 0.7; })) EXPECT_EQ(size, 256);
}

TEST(MemoryPressure, ShrinksByAFifthAboveTheTargetAndNeverBelowOneSample) {
    MemoryPressure pressure(100, target);
    const auto got = sizes(pressure, 9, [](auto) { return 0.95; });
    EXPECT_EQ(got, (std::vector<std::int64_t>{100, 100, 80, 80, 80, 64, 64, 64, 51}));
    EXPECT_EQ(sizes(pressure, 200, [](auto) { return 1.0; }).back(), 1);
}

TEST(MemoryPressure, GrowsByAFifthBelowFourFifthsOfTheTargetUpToWhatWasConfigured) {
    MemoryPressure pressure(100, target);
    sizes(pressure, 6, [](auto) { return 0.95; });
    ASSERT_EQ(pressure.samples(), 64);
    const auto got = sizes(pressure, 12, [](auto) { return 0.5; });
    EXPECT_EQ(got, (std::vector<std::int64_t>{64, 64, 76, 76, 76, 91, 91, 91, 100, 100, 100, 100}));
}

TEST(MemoryPressure, BetweenTheTwoItStays) {
    MemoryPressure pressure(100, target);
    sizes(pressure, 6, [](auto) { return 0.95; });
    EXPECT_EQ(changes(sizes(pressure, 500, [](auto) { return 0.8; })), 0);
}

/// Other programs and the worker's samples use memory: the micro-batch comes to rest for all shares.
TEST(MemoryPressure, ComesToRestUnderSteadyUseOfOthers) {
    for (const std::int64_t most : {1, 2, 3, 4, 7, 32, 256, 4096})
        for (const double others : {0.0, 0.3, 0.6, 0.8, 0.88, 0.95})
            for (const double its_share : {0.05, 0.3, 0.9}) {
                MemoryPressure pressure(most, target);
                const auto use = [&](std::int64_t samples) {
                    return others + its_share * static_cast<double>(samples) / static_cast<double>(most);
                };
                const auto until_rest = sizes(pressure, 400, use);
                const auto later = sizes(pressure, 4000, use);
                EXPECT_LE(changes(later), 10) << most << " samples, others " << others << ", its " << its_share;
                EXPECT_TRUE(use(pressure.samples()) <= target || pressure.samples() == 1 || changes(later) > 0);
            }
}

TEST(MemoryPressure, FollowsAnotherProgramThatGrowsAndFallsAgain) {
    MemoryPressure pressure(256, target);
    std::vector<std::int64_t> seen;
    const auto with = [&](double others) {
        return [&pressure, others](std::int64_t samples) { return others + 0.4 * static_cast<double>(samples) / 256; };
    };
    sizes(pressure, 20, with(0.3));
    EXPECT_EQ(pressure.samples(), 256);
    sizes(pressure, 60, with(0.7));
    EXPECT_LE(with(0.7)(pressure.samples()), target);
    EXPECT_GT(pressure.samples(), 80) << "no smaller than needed";
    sizes(pressure, 60, with(0.1));
    EXPECT_EQ(pressure.samples(), 256);
}

TEST(MemoryPressure, AGrowthThatIsNotToBeHadIsTriedAgainLaterAndLater) {
    MemoryPressure pressure(100, target);
    sizes(pressure, 3, [](auto) { return 1.0; });
    ASSERT_EQ(pressure.samples(), 80);
    std::vector<int> after;
    for (int tries = 0; tries < 4; ++tries) {
        int readings = 0;
        do ++readings;
        while (pressure.read(0.5) == 80 && readings < 1000);
        pressure.refuse_growth();
        EXPECT_EQ(pressure.samples(), 80);
        after.push_back(readings);
    }
    EXPECT_EQ(after, (std::vector<int>{3, 6, 12, 24}));
}

}  // namespace
}  // namespace hpo
