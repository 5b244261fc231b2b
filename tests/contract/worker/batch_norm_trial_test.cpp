// Trials with batch normalisation over ghost batches, with all features of other trials.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/split.hpp"
#include "worker/models/registry.hpp"
#include "worker/training/fusion.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;
namespace fs = std::filesystem;

/// 64 samples of a batch in 4 ghost batches.
Params batch_norm_params(const Params& changes = {}) {
    return with(with(small_params(), {{"norm", std::string("batch")}, {"ghost_batch", std::int64_t{16}}}), changes);
}

class BatchNormTrialOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, BatchNormTrialOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(BatchNormTrialOn, IsEvaluatedByRunningStatisticsThatAreSoonRight) {
    WorkerFixture worker(GetParam());
    FakeHost host;
    // One epoch of three updates.
    const Params params = batch_norm_params({{"batch_size", std::int64_t{300}},
                                             {"ghost_batch", std::int64_t{128}},
                                             {"noise", 0.5},
                                             {"warmup", 0.0},
                                             {"lr", 0.03},
                                             {"dropout", 0.0}});
    auto run = small_run(params, 6);
    run.test = true;
    const auto finished = run_trial(run, worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_LT(host.reports.front().metrics.at("val_loss"), 1.7);
    EXPECT_GT(host.reports.back().metrics.at("val_accuracy"), 0.95);
    EXPECT_GT(finished.values.at("test_accuracy"), 0.95);
}

TEST_P(BatchNormTrialOn, TrialsInCompanyTrainAsEachWouldAloneStagedOrNot) {
    for (const char* placement : {"device", "staged"})
        expect_the_curves_that_each_has_alone(GetParam(), 2, [&](std::int64_t number) {
            return batch_norm_params({{"lr", 0.002 * static_cast<double>(number)},
                                      {"hidden", std::vector<std::int64_t>{20 + number, 16}},
                                      {"activation", std::string(number == 1 ? "relu" : "silu")},
                                      {"optimizer", std::string(number == 2 ? "sgd" : "adamw")},
                                      {"accumulation", std::int64_t{2}},
                                      {"placement", std::string(placement)}});
        });
}

TEST_P(BatchNormTrialOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const int slots : {1, 4}) {
        WorkerFixture worker(GetParam());
        worker.context.slots = slots;
        const Params params = batch_norm_params({{"accumulation", std::int64_t{2}}});
        const auto answer = answer_plan({1, params, 1, 5, true}, worker.context);
        ASSERT_EQ(answer.error, "");
        EXPECT_THAT(answer.data, ::testing::Contains(MentionsInOrder("norm: ", "64 samples", "4 ghost", "16")));
        FakeHost host;
        ASSERT_EQ(run_trial(small_run(params, 1), worker.context, host).outcome, Outcome::complete) << host.logged;
        EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
    }
}

TEST(BatchNormTrial, MicroBatchesTrainAsTheWholeBatchWould) {
    const auto metrics = [](const Params& changes) {
        WorkerFixture worker;
        FakeHost host;
        const auto finished = run_trial(small_run(batch_norm_params(changes), 2), worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
        return host.reports.back().metrics;
    };
    const Metrics whole = metrics({}), parts = metrics({{"accumulation", std::int64_t{3}}});
    for (const char* name : {"loss", "val_loss"}) EXPECT_NEAR(whole.at(name), parts.at(name), 1e-3) << name;
    EXPECT_GT(std::abs(metrics({{"ghost_batch", std::int64_t{32}}}).at("loss") - whole.at("loss")), 1e-3);
}

TEST(BatchNormTrial, MicroBatchesHaveWholeGhostBatches) {
    WorkerFixture worker;
    Configuration configuration = *read_configuration(batch_norm_params());
    const auto shape = describe_data(configuration.data);
    const auto sizes = split_sizes(configuration.data, *shape);
    const auto plan = [&](std::int64_t accumulation, std::int64_t micro_batch) {
        configuration.training.accumulation = accumulation;
        configuration.training.micro_batch = micro_batch;
        return plan_group(configuration, *shape, *sizes, 1);
    };
    EXPECT_EQ(plan(1, 0)->pace.micro_batch, 64);
    EXPECT_EQ(plan(2, 0)->pace.micro_batch, 32);
    EXPECT_EQ(plan(3, 0)->pace.micro_batch, 32);
    EXPECT_EQ(plan(4, 0)->pace.micro_batches, 4);
    EXPECT_EQ(plan(1, 17)->pace.micro_batch, 32);  // where memory runs short
    EXPECT_EQ(plan(1, 1)->pace.micro_batch, 16);
    EXPECT_THAT(plan(5, 0).error().message,
                MentionsInOrder("training.accumulation: ", "5 micro-batches", "64", "16 samples", "model.norm: batch",
                                "model.ghost_batch", "another"));
    configuration = *read_configuration(batch_norm_params({{"batch_size", std::int64_t{1}}}));
    EXPECT_THAT(plan(1, 0).error().message,
                Mentions("training.batch_size: model.norm: batch", "at least 2", "another"));
}

TEST(BatchNormTrial, APausedTrialGoesOnToTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    const auto in = [&](const char* name, bool resume) {
        auto run = small_run(batch_norm_params({{"ema", 0.9}}), 4);
        run.folder = fs::path(folder.path()) / name;
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
    const auto bytes = [&](const char* name) {
        std::ifstream file(fs::path(folder.path()) / name / "last.ckpt", std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(bytes("paused"), bytes("whole"));
}

TEST(BatchNormTrial, OnlyTrialsWithEqualBatchesAreFused) {
    const auto key = [](const Params& changes) {
        return fusion_key(bucket_of(*read_configuration(
                              with({{"norm", std::string("batch")}, {"batch_size", std::int64_t{256}}}, changes))),
                          1);
    };
    EXPECT_EQ(key({{"width", std::int64_t{200}}}), key({{"lr", 0.1}, {"activation", std::string("silu")}}));
    EXPECT_NE(key({{"batch_size", std::int64_t{250}}}), key({}));
    EXPECT_NE(key({{"ghost_batch", std::int64_t{64}}}), key({}));
    EXPECT_EQ(key({{"norm", std::string("layer")}, {"batch_size", std::int64_t{250}}}),
              key({{"norm", std::string("layer")}}));
}

TEST(BatchNormTrial, NormsOfOtherModelsAreRefused) {
    const auto error = [](const char* type, const char* norm) {
        const DataShape shape{.sample = SequenceShape{4, 3}, .outputs = 2};
        const auto made = make_model({{"type", std::string(type)}, {"norm", std::string(norm)}}, shape);
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(error("mlp", "batch"), "");
    EXPECT_THAT(error("mlp", "group"), MentionsInOrder("model.norm: group", "type: cnn", "layer, batch", "none"));
    EXPECT_THAT(error("mlp", "rms"), MentionsInOrder("model.norm: rms", "type: transformer", "layer, batch", "none"));
    EXPECT_THAT(error("transformer", "batch"),
                MentionsInOrder("model.norm: batch", "not for", "type: transformer", "layer", "rms"));
}

}  // namespace
}  // namespace hpo::test
