#include "worker/backends/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace hpo {
namespace {

std::vector<std::uint32_t> order_of(std::uint64_t seed, std::uint64_t epoch, std::uint32_t count) {
    const EpochOrder order(seed, epoch, count);
    std::vector<std::uint32_t> samples(count);
    for (std::uint32_t i = 0; i < count; ++i) samples[i] = order.at(i);
    return samples;
}

/// Deviations of chi-square from its expectation, in units of its own deviation: beyond 5 is no chance.
double excess(const std::vector<double>& seen, double expected) {
    double sum = 0;
    for (const double count : seen) sum += (count - expected) * (count - expected) / expected;
    const auto freedom = static_cast<double>(seen.size() - 1);
    return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(EpochOrder, IsAPermutationOfAnyNumberOfSamples) {
    for (const std::uint32_t count : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 100U, 255U, 256U, 257U, 54'000U, 65'537U})
        for (const std::uint64_t epoch : {0U, 1U, 999U}) {
            auto samples = order_of(3, epoch, count);
            std::sort(samples.begin(), samples.end());
            for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(samples[i], i) << count;
        }
}

TEST(EpochOrder, StaysInsideTheLargestSets) {
    const EpochOrder order(3, 0, 1U << 31);
    const EpochOrder less(3, 0, (1U << 30) + 1);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        EXPECT_LT(order.at(i * 2'000'003), 1U << 31);
        EXPECT_LE(less.at(i * 1'000'003), 1U << 30);
    }
}

/// A part of every stored study: these numbers never change.
TEST(EpochOrder, IsTheOneThatStoredStudiesWereTrainedIn) {
    EXPECT_EQ(order_of(77, 0, 10), (std::vector<std::uint32_t>{1, 7, 6, 4, 8, 5, 3, 9, 0, 2}));
    EXPECT_EQ(order_of(77, 1, 10), (std::vector<std::uint32_t>{6, 7, 8, 0, 2, 9, 5, 1, 3, 4}));
    EXPECT_EQ(EpochOrder(9'007'199'254'740'991, 19, 54'000).at(12'345), 20'468U);
}

TEST(EpochOrder, FollowsSeedAndEpoch) {
    EXPECT_EQ(order_of(3, 0, 1001), order_of(3, 0, 1001));
    EXPECT_NE(order_of(3, 0, 1001), order_of(3, 1, 1001));
    EXPECT_NE(order_of(3, 0, 1001), order_of(4, 0, 1001));
    EXPECT_NE(order_of(3, 0, 1001), order_of(3 + (std::uint64_t{1} << 32), 0, 1001));
}

TEST(EpochOrder, PutsEachSampleAtEachPositionEquallyOften) {
    for (const std::uint32_t count : {3U, 5U, 8U, 12U, 33U}) {
        constexpr std::uint32_t epochs = 20'000;
        std::vector<double> seen(count * count);
        for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
            const auto samples = order_of(1, epoch, count);
            for (std::uint32_t i = 0; i < count; ++i) ++seen[i * count + samples[i]];
        }
        // Rows and columns of the table are bound to add up: (count - 1)^2 degrees of freedom of count^2 cells.
        double sum = 0;
        const double expected = static_cast<double>(epochs) / count;
        for (const double n : seen) sum += (n - expected) * (n - expected) / expected;
        const double freedom = (count - 1.0) * (count - 1.0);
        EXPECT_LT(std::abs(sum - freedom) / std::sqrt(2 * freedom), 5) << count;
    }
}

TEST(EpochOrder, PutsEachPairOfSamplesFirstEquallyOften) {
    for (const std::uint32_t count : {6U, 16U, 21U}) {
        constexpr std::uint32_t epochs = 50'000;
        std::vector<double> seen(count * (count - 1));
        for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
            const EpochOrder order(2, epoch, count);
            const std::uint32_t first = order.at(0), second = order.at(1);
            ++seen[first * (count - 1) + (second > first ? second - 1 : second)];
        }
        EXPECT_LT(std::abs(excess(seen, static_cast<double>(epochs) / (count * (count - 1)))), 5) << count;
    }
}

double correlation(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, std::size_t shift) {
    const auto count = static_cast<double>(a.size());
    const double mean = (count - 1) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean) * (b[(i + shift) % b.size()] - mean);
    return sum / (count * (count * count - 1) / 12);
}

TEST(EpochOrder, EpochsAndReplicasAreUncorrelated) {
    constexpr std::uint32_t count = 10'007;
    std::vector<std::uint32_t> straight(count);
    std::iota(straight.begin(), straight.end(), 0);
    const auto first = order_of(1, 0, count);
    // The correlation of permutations without relation has the deviation 1 / sqrt(count - 1) = 0.01.
    EXPECT_LT(std::abs(correlation(first, straight, 0)), 0.05);
    EXPECT_LT(std::abs(correlation(first, first, 1)), 0.05);
    for (std::uint64_t other = 1; other <= 20; ++other) {
        EXPECT_LT(std::abs(correlation(first, order_of(1, other, count), 0)), 0.05) << other;
        EXPECT_LT(std::abs(correlation(first, order_of(1 + other, 0, count), 0)), 0.05) << other;
        EXPECT_LT(std::abs(correlation(first, order_of(1, other, count), 1)), 0.05) << other;
    }
}

TEST(EpochOrder, NeighboursLandAnywhere) {
    // Distances between the samples of neighbouring positions, in 64 classes.
    constexpr std::uint32_t count = 1U << 16;
    const auto samples = order_of(11, 4, count);
    std::vector<double> seen(64);
    for (std::uint32_t i = 0; i + 1 < count; ++i) ++seen[((samples[i + 1] - samples[i]) & (count - 1)) / (count / 64)];
    EXPECT_LT(std::abs(excess(seen, (count - 1) / 64.0)), 5);
}

}  // namespace
}  // namespace hpo
