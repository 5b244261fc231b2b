#include "worker/data/split.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
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

template <class T>
void append(std::vector<T>& to, std::span<const std::byte> bytes) {
    const auto* values = reinterpret_cast<const T*>(bytes.data());
    to.insert(to.end(), values, values + bytes.size() / sizeof(T));
}

TEST(Split, AStratifiedOrderHasTheClassesInProportionInEachOfItsBeginnings) {
    std::vector<std::int32_t> classes(1000);
    for (std::size_t row = 0; row < classes.size(); ++row) classes[row] = row < 700 ? 0 : row < 990 ? 1 : 2;
    const auto order = split_order(SplitKind::stratified, 1000, 5, 0, classes);
    EXPECT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(), 1000U);
    for (const std::size_t part : {50U, 100U, 500U, 900U}) {
        std::array<double, 3> count{};
        for (std::size_t i = 0; i < part; ++i)
            ++count[static_cast<std::size_t>(classes[static_cast<std::size_t>(order[i])])];
        EXPECT_NEAR(count[0], 0.7 * static_cast<double>(part), 1) << part;
        EXPECT_NEAR(count[2], 0.01 * static_cast<double>(part), 1) << part;
    }
    EXPECT_NE(order, split_order(SplitKind::stratified, 1000, 6, 0, classes));
}

TEST(Split, ByTimeTheLastRowsValidate) {
    const Split split = cut_split({6, 3}, split_order(SplitKind::time, 10, 5, 0));
    EXPECT_THAT(split.validation, ::testing::ElementsAre(9, 8, 7));
    EXPECT_THAT(split.train, ::testing::UnorderedElementsAre(6, 5, 4, 3, 2, 1));
}

TEST(Synthetic, NumbersToPredictVaryByOneAndFollowFromTheFeatures) {
    DataConfig config;
    config.format = "synthetic";
    config.task = Task::regression;
    config.samples = 8000;
    config.noise = 0;
    EXPECT_EQ(describe_data(config)->outputs, 1);
    std::vector<float> targets;
    ASSERT_TRUE(load_data(config, 9, [&](const SampleBatch& batch) {
        if (batch.part == Part::train) append(targets, batch.targets);
    }));
    ASSERT_EQ(targets.size(), 8000U);
    double sum = 0, squares = 0;
    for (const float target : targets) {
        sum += target;
        squares += double{target} * target;
    }
    EXPECT_NEAR(sum / 8000, 0, 0.1);
    EXPECT_NEAR(squares / 8000, 1, 0.3);
}

TEST(Folds, EachSampleValidatesOnceAndLeftOverOnesNever) {
    DataConfig config;
    config.folds = 4;
    const auto sizes = split_sizes(config, 103);
    ASSERT_TRUE(sizes);
    EXPECT_EQ(sizes->validation, 25);
    EXPECT_EQ(sizes->train, 78);
    std::vector<int> validated(103, 0);
    for (std::int64_t fold = 0; fold < 4; ++fold) {
        const Split split = make_split(*sizes, 103, 5, fold);
        EXPECT_EQ(split.train.size(), 78U);
        std::set<std::int32_t> all(split.train.begin(), split.train.end());
        for (const std::int32_t row : split.validation) {
            ++validated[static_cast<std::size_t>(row)];
            EXPECT_TRUE(all.insert(row).second);
        }
        EXPECT_EQ(all.size(), 103U);
    }
    EXPECT_EQ(std::count(validated.begin(), validated.end(), 1), 100);
    EXPECT_EQ(std::count(validated.begin(), validated.end(), 0), 3);
}

TEST(Folds, AreStratifiedWhereTheOrderIs) {
    // 20 of class 1 among 100.
    std::vector<std::int32_t> classes(100, 0);
    for (std::size_t i = 0; i < 100; i += 5) classes[i] = 1;
    const SplitSizes sizes{80, 20, 5};
    for (std::int64_t fold = 0; fold < 5; ++fold) {
        const RowSplit split = split_rows(SplitKind::stratified, 100, 0, classes, sizes, 7, fold);
        std::int64_t rare = 0;
        for (const std::int32_t row : split.within.validation) rare += classes[static_cast<std::size_t>(row)];
        EXPECT_EQ(rare, 4) << fold;
    }
}

TEST(Folds, OfAClassWithFewerSamplesAreRefused) {
    DataConfig config;
    config.folds = 5;
    const std::int64_t counts[] = {50, 5};
    const auto name_of = [](std::size_t i) { return "c" + std::to_string(i); };
    EXPECT_TRUE(check_class_folds(config, false, counts, name_of));
    EXPECT_THAT(check_class_folds(config, true, counts, name_of).error().message,
                ::testing::AllOf(::testing::StartsWith("data.validation.folds: "),
                                 Mentions("c1", "5 samples", "4", "fewer than", "5 folds")));
    config.folds = 0;
    EXPECT_TRUE(check_class_folds(config, true, counts, name_of));
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
    const auto loaded = load_data(config, 9, [&](const SampleBatch& batch) {
        if (batch.part == Part::test) return;
        ASSERT_EQ(batch.first, static_cast<std::int64_t>(labels.size()));
        append(values, batch.features);
        append(labels, batch.targets);
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
    ASSERT_TRUE(load_data(config, 1, [&](const SampleBatch& batch) {
        (batch.part == Part::train ? train : test) = *reinterpret_cast<const float*>(batch.features.data());
    }));
    EXPECT_NE(train, test);
}

}  // namespace
}  // namespace hpo
