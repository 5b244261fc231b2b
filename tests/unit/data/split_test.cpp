#include "worker/data/split.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace hpo {
namespace {

std::vector<std::int32_t> shuffled(std::uint64_t seed, std::uint64_t epoch, std::size_t size) {
    std::vector<std::int32_t> items(size);
    std::iota(items.begin(), items.end(), 0);
    shuffle(seed, Purpose::shuffle, epoch, items);
    return items;
}

TEST(Split, EverySampleIsOnExactlyOneSide) {
    const Split split = make_split({90, 10}, 100, 5);
    std::set<std::int32_t> all(split.train.begin(), split.train.end());
    all.insert(split.validation.begin(), split.validation.end());
    EXPECT_EQ(split.train.size(), 90U);
    EXPECT_EQ(split.validation.size(), 10U);
    EXPECT_EQ(all.size(), 100U);
    EXPECT_EQ(*all.rbegin(), 99);
}

TEST(Split, FollowsTheDataSeedAlone) {
    EXPECT_EQ(make_split({90, 10}, 100, 5).train, make_split({90, 10}, 100, 5).train);
    EXPECT_NE(make_split({90, 10}, 100, 5).train, make_split({90, 10}, 100, 6).train);
}

TEST(Split, ASubsetIsTakenFromAllSamples) {
    const Split split = make_split({9, 1}, 1000, 5);
    EXPECT_EQ(split.train.size() + split.validation.size(), 10U);
    EXPECT_GT(*std::max_element(split.train.begin(), split.train.end()), 100);
}

TEST(Split, SizesRoundAndLeaveSomethingOnBothSides) {
    DataConfig config;
    config.validation = 0.1;
    EXPECT_EQ(split_sizes(config, 60'000)->train, 54'000);
    EXPECT_EQ(split_sizes(config, 2)->validation, 1);
    EXPECT_FALSE(split_sizes(config, 1));
    config.subset = 50;
    EXPECT_EQ(split_sizes(config, 60'000)->train, 45);
    EXPECT_THAT(split_sizes(config, 49).error().message, testing::HasSubstr("data.subset"));
}

TEST(Shuffle, IsAPermutationThatDependsOnSeedAndEpoch) {
    auto items = shuffled(3, 0, 1001);
    EXPECT_EQ(items, shuffled(3, 0, 1001));
    EXPECT_NE(items, shuffled(3, 1, 1001));
    EXPECT_NE(items, shuffled(4, 0, 1001));
    std::sort(items.begin(), items.end());
    for (std::size_t i = 0; i < items.size(); ++i) ASSERT_EQ(items[i], static_cast<std::int32_t>(i));
}

TEST(Shuffle, PutsEachItemEverywhereEquallyOften) {
    constexpr std::size_t size = 5;
    constexpr int rounds = 20'000;
    std::array<std::array<int, size>, size> seen{};
    for (int round = 0; round < rounds; ++round) {
        const auto items = shuffled(1, static_cast<std::uint64_t>(round), size);
        for (std::size_t place = 0; place < size; ++place) ++seen[place][static_cast<std::size_t>(items[place])];
    }
    // Binomial with deviation sqrt(20000 * 0.2 * 0.8) = 57: five of them.
    for (const auto& row : seen)
        for (const int count : row) EXPECT_NEAR(count, rounds / static_cast<int>(size), 285);
}

TEST(Synthetic, ClustersHaveTheDeviationAskedFor) {
    DataConfig config;
    config.format = "synthetic";
    config.samples = 4000;
    config.features = 8;
    config.classes = 2;
    config.noise = 0.5;
    std::vector<float> values;
    std::vector<std::int32_t> labels;
    const auto loaded = load_data(config, 9, [&](Part part, std::int64_t first, auto bytes, auto of_rows) {
        if (part == Part::test) return;
        ASSERT_EQ(first, static_cast<std::int64_t>(labels.size()));
        const auto* floats = reinterpret_cast<const float*>(bytes.data());
        values.insert(values.end(), floats, floats + bytes.size() / 4);
        labels.insert(labels.end(), of_rows.begin(), of_rows.end());
    });
    ASSERT_TRUE(loaded);
    ASSERT_EQ(labels.size(), 4000U);
    for (int label = 0; label < 2; ++label) {
        double sum = 0;
        double squares = 0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (labels[i] != label) continue;
            sum += values[i * 8];
            squares += double{values[i * 8]} * values[i * 8];
        }
        const double mean = sum / 2000;
        EXPECT_NEAR(std::sqrt(squares / 2000 - mean * mean), 0.5, 0.04);
    }
}

TEST(Synthetic, TestSamplesAreAQuarterAndDifferFromTheTrainingOnes) {
    DataConfig config;
    config.format = "synthetic";
    config.samples = 64;
    EXPECT_EQ(describe_data(config)->test, 16);
    float train = 0;
    float test = 0;
    ASSERT_TRUE(load_data(config, 1, [&](Part part, std::int64_t, auto bytes, auto) {
        (part == Part::train ? train : test) = *reinterpret_cast<const float*>(bytes.data());
    }));
    EXPECT_NE(train, test);
}

}  // namespace
}  // namespace hpo
