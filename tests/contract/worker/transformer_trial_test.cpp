// Trials of transformers on synthetic tokens, with all features of multilayer perceptrons.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/training/fusion.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;

Params token_params(const Params& changes = {}) {
    return with({{"format", std::string("synthetic")},
                 {"samples", std::int64_t{240}},
                 {"steps", std::int64_t{12}},
                 {"vocabulary", std::int64_t{6}},
                 {"type", std::string("transformer")},
                 {"width", std::int64_t{24}},
                 {"heads", std::int64_t{4}},
                 {"kv_heads", std::int64_t{2}},
                 {"mlp_ratio", 2.0},
                 {"dropout", 0.1},
                 {"batch_size", std::int64_t{32}},
                 {"lr", 0.005}},
                changes);
}

/// Returns few samples and layers, for tests that run on each backend: PoCL is slow.
Params few_params(const Params& changes = {}) {
    return token_params(
        with({{"samples", std::int64_t{64}}, {"steps", std::int64_t{6}}, {"depth", std::int64_t{1}}}, changes));
}

/// Returns the parameters of Llama's architecture.
Params modern_params() {
    return few_params({{"activation", std::string("swiglu")},
                       {"norm", std::string("rms")},
                       {"positions", std::string("rotary")},
                       {"tied_embeddings", true}});
}

class TransformerTrialOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, TransformerTrialOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(TransformerTrialOn, TrialsInCompanyTrainAsEachWouldAloneStagedOrNot) {
    for (const char* placement : {"device", "staged"})
        expect_the_curves_that_each_has_alone(GetParam(), 2, [&](std::int64_t number) {
            return few_params({{"lr", 0.002 * static_cast<double>(number)},
                               {"batch_size", 20 + number},
                               {"dropout", 0.1 * static_cast<double>(number)},
                               {"optimizer", std::string(number == 2 ? "sgd" : "adamw")},
                               {"placement", std::string(placement)}});
        });
}

TEST_P(TransformerTrialOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const auto& [slots, params] :
         {std::pair(1, few_params({{"depth", std::int64_t{2}}, {"checkpointing", std::string("every")}})),
          std::pair(1, modern_params()), std::pair(4, few_params())}) {
        WorkerFixture worker(GetParam());
        worker.context.slots = slots;
        const auto answer = answer_plan({1, params, 1, 5}, worker.context);
        ASSERT_EQ(answer.error, "");
        FakeHost host;
        ASSERT_EQ(run_trial(small_run(params, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
        EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
        EXPECT_GT(answer.parameters, 0);
        EXPECT_GT(answer.flops_per_step, 0);
    }
}

TEST_P(TransformerTrialOn, ANarrowPrecisionFollowsFloat32) {
    const auto curve = [&](const char* precision) {
        WorkerFixture worker(GetParam());
        FakeHost host;
        const auto finished = run_trial(small_run(with(modern_params(), {{"precision", std::string(precision)}}), 2),
                                        worker.context, host);
        return std::pair(finished, curve_of(host));
    };
    const auto [finished, narrow] = curve("bfloat16");
    if (!WorkerFixture(GetParam()).device->computes_in(Precision::bfloat16)) {
        EXPECT_THAT(finished.message, HasSubstr("training.precision"));
        return;
    }
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    const auto wide = curve("float32").second;
    for (std::size_t step = 0; step < 2; ++step) EXPECT_NEAR(narrow.at(step).at("loss"), wide.at(step).at("loss"), 0.1);
    EXPECT_NE(narrow, wide);
}

TEST(TransformerTrial, LearnsThatTheTokenBeforeTheLastTellsTheNext) {
    WorkerFixture worker;
    FakeHost host;
    const auto finished = run_trial(small_run(token_params({{"dropout", 0.0}, {"batch_size", std::int64_t{16}}}), 30),
                                    worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    // The best possible: the second to twelfth target of twelve, and of those seven eighths and a sixth of the rest.
    constexpr double known = 7.0 / 8 + 1.0 / 8 / 6;
    EXPECT_GT(host.reports.back().metrics.at("val_accuracy"), 0.9 * 11 / 12 * known);
    EXPECT_LT(host.reports.front().metrics.at("val_accuracy"), 0.6);
    EXPECT_THAT(host.logged, HasSubstr(" heads=4"));
}

TEST(TransformerTrial, MicroBatchesTrainAsTheWholeBatchWould) {
    for (const Params& params : {token_params(), modern_params()}) {
        const auto loss = [&](std::int64_t parts) {
            WorkerFixture worker;
            FakeHost host;
            run_trial(small_run(with(params, {{"accumulation", parts}}), 1), worker.context, host);
            return host.reports.at(0).metrics.at("loss");
        };
        EXPECT_NEAR(loss(1), loss(4), 1e-3);
    }
}

TEST(TransformerTrial, APausedTrialGoesOnToTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    const auto in = [&](const char* name, bool resume) {
        auto run = small_run(modern_params(), 4);
        run.folder = std::filesystem::path(folder.path()) / name;
        run.resume = resume;
        return run;
    };
    WorkerFixture worker, later;
    FakeHost whole, first, second;
    ASSERT_EQ(run_trial(in("whole", false), worker.context, whole).outcome, Outcome::complete);
    first.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    ASSERT_EQ(run_trial(in("paused", false), worker.context, first).outcome, Outcome::paused);
    ASSERT_EQ(run_trial(in("paused", true), later.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 2);
    EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
}

TEST(TransformerTrial, WindowsOfNumbersWithATargetForEachStepTrainToo) {
    WorkerFixture worker;
    FakeHost host;
    Params params = token_params({{"features", std::int64_t{5}}, {"classes", std::int64_t{3}}, {"noise", 0.5}});
    params.erase("vocabulary");
    const auto finished = run_trial(small_run(params, 4), worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_GT(host.reports.back().metrics.at("val_accuracy"), 0.8);
}

TEST(TransformerTrial, CheckpointingChangesNoBit) {
    const auto curve = [](const char* checkpointing) {
        WorkerFixture worker;
        FakeHost host;
        const Params params = token_params({{"depth", std::int64_t{3}}, {"checkpointing", std::string(checkpointing)}});
        run_trial(small_run(params, 2), worker.context, host);
        return std::pair(curve_of(host), worker.context.arena->bytes());
    };
    const auto [kept, bytes] = curve("none");
    const auto [computed_again, fewer_bytes] = curve("every");
    EXPECT_EQ(kept, computed_again);
    EXPECT_LT(fewer_bytes, bytes);
}

TEST(TransformerTrial, TheMemoryOfItsPartsIsToldWithTheData) {
    WorkerFixture worker;
    EXPECT_THAT(
        answer_plan({1, token_params(), 1, 5, true}, worker.context).data,
        ::testing::ElementsAre(
            Mentions("12 tokens", "of 6"),
            ::testing::MatchesRegex(
                "memory .*: attention .* MiB, perceptrons .* MiB, entry .* MiB, gradients .* MiB, weights, .* MiB")));
}

TEST(TransformerBuckets, EqualModelsHaveEqualKeysAndShapesAreOfThem) {
    const auto key = [](const Params& changes) {
        const auto configuration = read_configuration(with({{"type", std::string("transformer")}}, changes));
        return fusion_key(bucket_of(*configuration), 1);
    };
    EXPECT_EQ(key({}), key({{"kv_heads", std::int64_t{4}}, {"norm", std::string("layer")}, {"dropout", 0.2}}));
    EXPECT_NE(key({}), key({{"kv_heads", std::int64_t{2}}}));
    EXPECT_NE(key({}), key({{"width", std::int64_t{252}}}));
    EXPECT_NE(key({}), key({{"activation", std::string("swiglu")}}));
}

}  // namespace
}  // namespace hpo::test
