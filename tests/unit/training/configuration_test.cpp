#include "worker/training/configuration.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

std::string error_of(const Params& params) {
    const auto got = read_configuration(params);
    return got ? "" : got.error().message;
}

TEST(Configuration, AbsentKeysHaveTheTablesDefaults) {
    const auto got = read_configuration({});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->training.batch_size, 0);  // the size depends on the data
    EXPECT_EQ(got->training.epsilon, 1e-8);
    EXPECT_EQ(got->training.schedule, ScheduleKind::cosine);
    EXPECT_EQ(got->data.validation, 0.1);
    EXPECT_EQ(got->data.subset, 0);
    EXPECT_FALSE(got->seed);
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(got->all.at("hidden")), (std::vector<std::int64_t>{256, 256}));
}

TEST(Configuration, TheDefaultBatchKeepsAHundredUpdatesAnEpoch) {
    const auto batch_of = [](const Params& params, const SplitSizes& sizes) {
        auto got = read_configuration(params);
        const auto set = set_batch_size(*got, sizes);
        return set ? std::get<std::int64_t>(got->all.at("batch_size")) : -1;
    };
    EXPECT_EQ(batch_of({}, {.train = 54'000}), 256);
    EXPECT_EQ(batch_of({}, {.train = 25'599}), 128);
    EXPECT_EQ(batch_of({}, {.train = 3'686}), 32);
    EXPECT_EQ(batch_of({}, {.train = 1'312}), 16);
    EXPECT_EQ(batch_of({}, {.train = 9}), 9);  // not more than there are
    EXPECT_EQ(batch_of({{"batch_size", std::int64_t{64}}}, {.train = 1'312}), 64);
    EXPECT_EQ(batch_of({{"accumulation", std::int64_t{32}}}, {.train = 54'000}), 256);
    EXPECT_EQ(batch_of({{"accumulation", std::int64_t{32}}}, {.train = 1'312}), -1);
}

TEST(Configuration, WidthAndDepthBecomeHidden) {
    const auto got = read_configuration({{"width", std::int64_t{8}}, {"depth", std::int64_t{3}}});
    ASSERT_TRUE(got);
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(got->all.at("hidden")), (std::vector<std::int64_t>{8, 8, 8}));
    EXPECT_FALSE(got->all.contains("width"));
    const auto linear = read_configuration({{"depth", std::int64_t{0}}});
    EXPECT_TRUE(std::get<std::vector<std::int64_t>>(linear->all.at("hidden")).empty());
}

TEST(Configuration, HiddenCannotStandBesideWidthOrDepth) {
    EXPECT_THAT(error_of({{"hidden", std::vector<std::int64_t>{4}}, {"depth", std::int64_t{3}}}), HasSubstr("depth"));
}

TEST(Configuration, TheTaskOfAnEarlierModelsFileHasItsPresentName) {
    const auto got = read_configuration({{"task", std::string("image-classification")}});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->data.task, Task::classification);
    EXPECT_EQ(std::get<std::string>(got->all.at("task")), "classification");
    EXPECT_THAT(error_of({{"task", std::string("image")}}), HasSubstr("task: image"));
}

TEST(Configuration, NumbersMayComeInEitherForm) {
    const auto got = read_configuration({{"batch_size", 512.0}, {"lr", std::int64_t{1}}});
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->training.batch_size, 512);
    EXPECT_EQ(got->training.lr, 1.0);
}

TEST(Configuration, ErrorsNameTheKeyAndWhatItMayBe) {
    EXPECT_THAT(error_of({{"batch_size", 1.5}}), Mentions("training.batch_size: 1.5"));
    EXPECT_THAT(error_of({{"batch_size", std::int64_t{0}}}), HasSubstr("training.batch_size"));
    EXPECT_THAT(error_of({{"dropout", 1.0}}), Mentions("model.dropout: 1.0", "0.0 to 0.95"));
    EXPECT_THAT(error_of({{"lr", std::numeric_limits<double>::quiet_NaN()}}), HasSubstr("training.lr"));
    EXPECT_THAT(error_of({{"optimizer", std::string("rmsprop")}}), HasSubstr("adamw|sgd|lion"));
    EXPECT_THAT(error_of({{"optimizer", std::string("adam")}}), HasSubstr("adamw|sgd"));
    EXPECT_THAT(error_of({{"nesterov", std::int64_t{1}}}), HasSubstr("true"));
    EXPECT_THAT(error_of({{"hidden", std::vector<std::int64_t>{4, 0}}}), HasSubstr("model.hidden: [4, 0]"));
    EXPECT_THAT(error_of({{"learning_rate", 0.1}}), HasSubstr("learning_rate: not a key"));
}

TEST(Configuration, AMicroBatchHasASampleAtLeast) {
    EXPECT_THAT(error_of({{"batch_size", std::int64_t{100}}, {"accumulation", std::int64_t{101}}}),
                Mentions("training.accumulation: 101 micro-batches", "training.batch_size (100)"));
}

}  // namespace
}  // namespace hpo
