// Samples made from a seed.
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <vector>

#include "tests/support/mentions.hpp"
#include "worker/data/dataset.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;

DataConfig token_config() {
    DataConfig config;
    config.format = "synthetic";
    config.samples = 400;
    config.steps = 20;
    config.vocabulary = 11;
    return config;
}

struct Tokens {
    std::vector<float> samples[2];
    std::vector<std::int32_t> targets[2];
};

Tokens load_tokens(const DataConfig& config, std::uint64_t seed) {
    Tokens tokens;
    const auto loaded = load_data(config, seed, [&](const SampleBatch& batch) {
        const auto append = [](auto& to, std::span<const std::byte> bytes) {
            const std::size_t before = to.size();
            to.resize(before + bytes.size() / 4);
            std::memcpy(to.data() + before, bytes.data(), bytes.size());
        };
        const auto part = batch.part == Part::train ? 0U : 1U;
        append(tokens.samples[part], batch.features);
        append(tokens.targets[part], batch.targets);
    });
    EXPECT_TRUE(loaded);
    return tokens;
}

TEST(SyntheticTokens, HaveTheShapeThatIsDescribed) {
    const auto shape = describe_data(token_config());
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->sample, SampleShape(TokenShape{20, 11}));
    EXPECT_EQ(shape->features(), 20);
    EXPECT_EQ(shape->targets(), 20);
    EXPECT_EQ(shape->target_columns(), 20);
    EXPECT_EQ(shape->outputs, 11);
    EXPECT_TRUE(shape->standardised);
    const Tokens tokens = load_tokens(token_config(), 5);
    EXPECT_EQ(tokens.samples[0].size(), 400U * 20);
    EXPECT_EQ(tokens.samples[1].size(), 100U * 20);
    EXPECT_EQ(tokens.targets[1].size(), 100U * 20);
    EXPECT_THAT(explain_data(token_config())->front(),
                MentionsInOrder("400 samples", "100", "20 tokens", "11", "next"));
}

TEST(SyntheticTokens, TargetsAreTheNextTokensAndMostFollowFromTheTokenBeforeTheLast) {
    const Tokens tokens = load_tokens(token_config(), 5);
    std::map<std::pair<int, int>, int> count;
    int pairs = 0;
    for (const std::size_t part : {0U, 1U})
        for (std::size_t i = 0; i < tokens.samples[part].size(); ++i) {
            ASSERT_GE(tokens.samples[part][i], 0);
            ASSERT_LT(tokens.samples[part][i], 11);
            if (i % 20 == 19) continue;
            ASSERT_EQ(static_cast<float>(tokens.targets[part][i]), tokens.samples[part][i + 1]) << i;
            if (i % 20 == 0) continue;
            ++count[{static_cast<int>(tokens.samples[part][i - 1]), tokens.targets[part][i]}];
            ++pairs;
        }
    int most_frequent = 0;
    for (int token = 0; token < 11; ++token) {
        int most = 0;
        for (int next = 0; next < 11; ++next) most = std::max(most, count[{token, next}]);
        most_frequent += most;
    }
    EXPECT_NEAR(static_cast<double>(most_frequent) / pairs, 7.0 / 8 + 1.0 / 8 / 11, 0.02);
}

TEST(SyntheticTokens, FollowFromTheSeed) {
    EXPECT_EQ(load_tokens(token_config(), 5).samples[0], load_tokens(token_config(), 5).samples[0]);
    EXPECT_NE(load_tokens(token_config(), 5).samples[0], load_tokens(token_config(), 6).samples[0]);
}

TEST(SyntheticTokens, NeedALengthAndAreClasses) {
    DataConfig config = token_config();
    config.steps = 0;
    EXPECT_THAT(describe_data(config).error().message, Mentions("data.vocabulary:", "sequences"));
    config = token_config();
    config.task = Task::regression;
    EXPECT_THAT(describe_data(config).error().message, HasSubstr("task: regression"));
}

TEST(SyntheticLabels, AreZeroOrOneAndFollowFromTheFeatures) {
    DataConfig config;
    config.format = "synthetic";
    config.task = Task::multi_label;
    config.samples = 600;
    config.features = 3;
    config.classes = 5;
    config.noise = 0;
    const auto shape = describe_data(config);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->outputs, 5);
    EXPECT_EQ(shape->target_columns(), 5);
    std::vector<float> features, labels;
    ASSERT_TRUE(load_data(config, 3, [&](const SampleBatch& batch) {
        if (batch.part != Part::train) return;
        EXPECT_EQ(batch.targets.size(), static_cast<std::size_t>(batch.count) * 5 * 4);
        for (const auto& [to, bytes] : {std::pair(&features, batch.features), {&labels, batch.targets}}) {
            const std::size_t before = to->size();
            to->resize(before + bytes.size() / 4);
            std::memcpy(to->data() + before, bytes.data(), bytes.size());
        }
    }));
    ASSERT_EQ(labels.size(), 3000U);
    for (std::size_t label = 0; label < 5; ++label) {
        double sum = 0, mean[3] = {};
        for (std::size_t row = 0; row < 600; ++row) {
            const float y = labels[row * 5 + label];
            EXPECT_TRUE(y == 0 || y == 1);
            sum += y;
            for (std::size_t j = 0; j < 3; ++j) mean[j] += (y - 0.5) * features[row * 3 + j] / 600;
        }
        EXPECT_NEAR(sum / 600, 0.5, 0.1);
        // Without noise a plane divides the rows, and the difference of the means points along its normal: of N(0, 1)
        // it has the length 1 / sqrt(2 pi).
        EXPECT_NEAR(std::sqrt(mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2]), 0.399, 0.06);
    }
}

}  // namespace
}  // namespace hpo::test
