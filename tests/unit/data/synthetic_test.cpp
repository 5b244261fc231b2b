// Samples made from a seed.
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <vector>

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
    EXPECT_EQ(explain_data(token_config())->front(),
              "400 samples to train and validate on, 100 to test; sequences of 20 tokens out of 11; the target of each "
              "step is the next token");
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
    EXPECT_THAT(describe_data(config).error().message, HasSubstr("data.vocabulary: tokens lie in sequences"));
    config = token_config();
    config.task = Task::regression;
    EXPECT_THAT(describe_data(config).error().message, HasSubstr("leave out task: regression"));
}

}  // namespace
}  // namespace hpo::test
