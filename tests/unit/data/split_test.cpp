#include "worker/data/split.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace hpo {
namespace {

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
    EXPECT_THAT(split_sizes(config, 49).error().message, ::testing::HasSubstr("data.subset"));
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
