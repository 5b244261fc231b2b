#include "orchestrator/study/batch_sizes.hpp"

#include <gmock/gmock.h>

#include "hpo/batch_size.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::IsEmpty;

Study native(std::int64_t low, std::optional<std::int64_t> least = {}) {
    Study study;
    study.worker = NativeWorker{};
    study.fixed["format"] = std::string("synthetic");
    study.space = {{.name = "batch_size", .kind = Kind::integer, .low = static_cast<double>(low), .high = 4096}};
    study.policy.min_batch_size = least;
    return study;
}

TEST(BatchSizes, AutoIsAPowerOfTwoThatKeepsAHundredUpdates) {
    EXPECT_EQ(auto_batch_size(0), 16);
    EXPECT_EQ(auto_batch_size(1'600), 16);
    EXPECT_EQ(auto_batch_size(3'199), 16);
    EXPECT_EQ(auto_batch_size(3'200), 32);
    EXPECT_EQ(auto_batch_size(25'600), 256);
    EXPECT_EQ(auto_batch_size(60'000'000), 256);
}

TEST(BatchSizes, TheDataDecideWhetherASmallBatchIsRefused) {
    EXPECT_TRUE(batch_sizes_depend_on_data(native(32)));
    EXPECT_THAT(refused_batch_size(native(32), 3'686), IsEmpty());
    EXPECT_THAT(refused_batch_size(native(32), 54'000), Mentions("{min_batch_size: 32}", "under policy.min_batch_size",
                                                                 "32", "256", "54000 training", "allow"));
    EXPECT_THAT(refused_batch_size(native(8), 1'312), Mentions("(16", "1312"));
    EXPECT_THAT(refused_batch_size(native(8), 0), IsEmpty()) << "unknown";
}

TEST(BatchSizes, LargeBatchesAndStatedMinimaDoNotDependOnData) {
    EXPECT_FALSE(batch_sizes_depend_on_data(native(256)));
    EXPECT_FALSE(batch_sizes_depend_on_data(native(32, 32)));
    Study script = native(32);
    script.worker = ScriptWorker{.command = {"train.py"}};
    EXPECT_FALSE(batch_sizes_depend_on_data(script));
    Study chosen = native(32);
    chosen.space.clear();
    EXPECT_FALSE(batch_sizes_depend_on_data(chosen)) << "the worker chooses";
}

TEST(BatchSizes, ADefaultUnderAStatedMinimumIsRefused) {
    Study study = native(32, 128);
    study.space.clear();
    EXPECT_THAT(refused_batch_size(study, 3'686), Mentions("policy.min_batch_size (128", "3686"));
    EXPECT_THAT(refused_batch_size(study, 54'000), IsEmpty());
}

}  // namespace
}  // namespace hpo
