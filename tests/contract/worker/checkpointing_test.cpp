// checkpointing: auto computes activations again where that is the cheapest way to take as little memory.
#include <gmock/gmock.h>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;

Params sequences(std::int64_t accumulation, const char* checkpointing) {
    return {{"format", std::string("synthetic")},
            {"samples", std::int64_t{240}},
            {"steps", std::int64_t{12}},
            {"vocabulary", std::int64_t{6}},
            {"type", std::string("transformer")},
            {"width", std::int64_t{24}},
            {"depth", std::int64_t{6}},
            {"dropout", 0.1},
            {"batch_size", std::int64_t{64}},
            {"accumulation", accumulation},
            {"checkpointing", std::string(checkpointing)}};
}

GroupPlan plan_of(const Params& params, double rows_at_half_speed, std::int64_t micro_batch = 0) {
    auto configuration = *read_configuration(params);
    configuration.training.micro_batch = micro_batch;
    configuration.training.rows_at_half_speed = rows_at_half_speed;
    const DataShape shape = *describe_data(configuration.data);
    return *plan_group(configuration, shape, *split_sizes(configuration.data, shape), 1);
}

constexpr double like_a_gpu = 2048, like_a_core = 16;

TEST(AutomaticCheckpointing, KeepsAllActivationsWhileThereIsMemory) {
    const GroupPlan plan = plan_of(sequences(1, "auto"), like_a_gpu);
    EXPECT_EQ(plan.checkpointing, Checkpointing::none);
    EXPECT_EQ(plan.arena.bytes, plan_of(sequences(1, "none"), like_a_gpu).arena.bytes);
    EXPECT_THAT(checkpointing_text(plan), HasSubstr("memory"));
    EXPECT_EQ(checkpointing_text(plan_of(sequences(1, "every"), like_a_gpu)), "");
}

TEST(AutomaticCheckpointing, ComputesAgainWhereThatCostsLessThanSmallerMicroBatches) {
    for (const std::int64_t asked : {2, 4, 8}) {
        const std::size_t most = plan_of(sequences(asked, "none"), like_a_gpu).arena.bytes;
        const GroupPlan gpu = plan_of(sequences(asked, "auto"), like_a_gpu);
        EXPECT_NE(gpu.checkpointing, Checkpointing::none) << asked;
        EXPECT_LT(gpu.pace.micro_batches, asked);
        EXPECT_LE(gpu.arena.bytes, most);
        EXPECT_THAT(checkpointing_text(gpu), HasSubstr("computed"));
        EXPECT_THAT(checkpointing_text(gpu), Mentions(std::to_string(asked)));
        // Products with fewer rows are hardly slower there.
        const GroupPlan core = plan_of(sequences(asked, "auto"), like_a_core);
        EXPECT_EQ(core.checkpointing, Checkpointing::none);
        EXPECT_EQ(core.arena.bytes, most);
        EXPECT_THAT(checkpointing_text(core), HasSubstr("smaller"));
    }
}

TEST(AutomaticCheckpointing, KeepsTheActivationsOfEverySecondBlockWhereThatSuffices) {
    // As when other programs take memory, and the micro-batch of 64 shrinks to 51.
    const GroupPlan plan = plan_of(sequences(1, "auto"), like_a_gpu, 51);
    EXPECT_EQ(plan.checkpointing, Checkpointing::alternate);
    EXPECT_EQ(plan.pace.micro_batch, 64);
    EXPECT_LE(plan.arena.bytes, plan_of(sequences(1, "none"), like_a_gpu, 51).arena.bytes);
}

TEST(AutomaticCheckpointing, OfMicroBatchesOfOneSampleItTakesTheLeastMemory) {
    const GroupPlan plan = plan_of(sequences(64, "auto"), like_a_core);
    EXPECT_EQ(plan.pace.micro_batch, 1);
    EXPECT_EQ(plan.checkpointing, Checkpointing::every);
    EXPECT_LT(plan.arena.bytes, plan_of(sequences(64, "none"), like_a_core).arena.bytes);
}

TEST(AutomaticCheckpointing, PlansOfMoreReplicasDecideAsThatOfOne) {
    auto configuration = *read_configuration(sequences(4, "auto"));
    configuration.training.rows_at_half_speed = like_a_gpu;
    const DataShape shape = *describe_data(configuration.data);
    const SplitSizes sizes = *split_sizes(configuration.data, shape);
    const auto one = *plan_group(configuration, shape, sizes, 1), many = *plan_group(configuration, shape, sizes, 5);
    EXPECT_EQ(one.checkpointing, many.checkpointing);
    EXPECT_EQ(one.pace.micro_batch, many.pace.micro_batch);
}

TEST(AutomaticCheckpointing, DecidesByWhatWasMeasuredOfTheDevice) {
    const auto text_with = [](std::int64_t measured_rows) {
        WorkerFixture worker;
        worker.context.tuning.rows_at_half_speed = measured_rows;
        return answer_plan({1, sequences(4, "auto"), 1, 5, true}, worker.context).data;
    };
    EXPECT_THAT(text_with(2048), ::testing::Contains(HasSubstr("computed")));
    EXPECT_THAT(text_with(4), ::testing::Contains(HasSubstr("smaller")));
}

TEST(AutomaticCheckpointing, TrainsToTheBitsOfTheWayThatItChoseAndSaysWhichThatIs) {
    const auto trial = [](const Params& params) {
        WorkerFixture worker;
        FakeHost host;
        EXPECT_EQ(run_trial(small_run(params, 2), worker.context, host).outcome, Outcome::complete) << host.logged;
        return std::pair(curve_of(host), host.logged);
    };
    const auto [curve, logged] = trial(sequences(64, "auto"));
    EXPECT_THAT(logged, Mentions("checkpointing: auto:", "block"));
    EXPECT_EQ(curve, trial(sequences(64, "none")).first);
    const auto [kept, said] = trial(sequences(1, "auto"));
    EXPECT_THAT(said, Mentions("checkpointing: auto: all", "kept"));
    EXPECT_EQ(kept, trial(sequences(1, "none")).first);
}

TEST(AutomaticCheckpointing, ThePlanIsWhatIsAllocatedAndSaysWhatWasChosen) {
    WorkerFixture worker;
    const auto answer = answer_plan({1, sequences(64, "auto"), 1, 5, true}, worker.context);
    EXPECT_THAT(answer.data, ::testing::Contains(Mentions("checkpointing: auto:", "block")));
    FakeHost host;
    run_trial(small_run(sequences(64, "auto"), 1), worker.context, host);
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
}

}  // namespace
}  // namespace hpo::test
