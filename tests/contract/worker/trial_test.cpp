#include "worker/training/trial.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using test::FakeHost;
using test::Killed;
using test::small_params;
using test::small_run;
using test::with;
using test::WorkerFixture;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using to_worker::Action;
namespace fs = std::filesystem;

class TrialFolder : public ::testing::Test {
   protected:
    [[nodiscard]] to_worker::Run run(std::int64_t steps, bool resume = false, const Params& changes = {}) const {
        auto run = small_run(with(small_params(), changes), steps);
        run.folder = folder_ / "trial";
        run.resume = resume;
        return run;
    }
    [[nodiscard]] std::string bytes(const std::string& name) const {
        std::ifstream file(folder_ / name, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    const hpo::testing::TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
};

std::vector<std::string> curve_of(const std::vector<Report>& reports) {
    std::vector<std::string> curve;
    for (const Report& report : reports) {
        std::string text = std::to_string(report.step);
        for (const auto& [name, value] : report.metrics) text += " " + name + " " + to_text(value);
        text += " norm " + to_text(*report.gradient_norm) + " trend " + to_text(*report.loss_trend);
        curve.push_back(text);
    }
    return curve;
}

TEST_F(TrialFolder, ReportsEachStepInFull) {
    WorkerFixture worker;
    FakeHost host;
    host.on_ask = [&] { return worker.clock.advance(Seconds(0.25)), true; };
    const auto finished = run_trial(run(2), worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_EQ(finished.checkpoint, folder_ / "trial" / "last.ckpt");
    EXPECT_EQ(host.from_step, 0);
    ASSERT_EQ(host.reports.size(), 2U);
    const Report& report = host.reports[1];
    EXPECT_EQ(report.step, 2);
    EXPECT_EQ(report.iteration, 28);
    EXPECT_GT(report.metrics.at("loss"), 0);
    EXPECT_GT(report.metrics.at("val_loss"), 0);
    EXPECT_GT(report.metrics.at("val_accuracy"), 0.2);
    // The clock moves a quarter of a second an iteration, and evaluation does not count.
    EXPECT_DOUBLE_EQ(*report.seconds, 7);
    EXPECT_DOUBLE_EQ(*report.iterations_per_second, 4);
    EXPECT_DOUBLE_EQ(*report.iterations_per_second_overall, 4);
    EXPECT_DOUBLE_EQ(*report.samples_per_second, 256);
    EXPECT_DOUBLE_EQ(*report.samples_per_second_overall, 256);
    EXPECT_GT(*report.gradient_norm, 0);
    EXPECT_GT(*report.learning_rate, 0);
    EXPECT_GT(*report.loss_deviation, 0);
    EXPECT_LT(*report.loss_trend, 0);
    EXPECT_GT(report.peak_bytes.value_or(1), 0);
    EXPECT_THAT(host.phases, ElementsAre("loading", "training", "evaluating", "training", "evaluating"));
    EXPECT_THAT(host.logged, HasSubstr("step 2/2: loss "));
}

TEST_F(TrialFolder, TheSameSeedGivesTheSameBitsAndAnotherDoesNot) {
    WorkerFixture worker;
    FakeHost one;
    FakeHost two;
    FakeHost other;
    run_trial(run(3), worker.context, one);
    run_trial(run(3), worker.context, two);  // the warm worker's second trial, in a used arena
    auto changed = run(3);
    changed.seed = 78;
    run_trial(changed, worker.context, other);
    EXPECT_EQ(curve_of(one.reports), curve_of(two.reports));
    EXPECT_NE(curve_of(one.reports), curve_of(other.reports));
}

TEST_F(TrialFolder, ATrialOfAnotherShapeInBetweenChangesNothing) {
    WorkerFixture worker;
    FakeHost one;
    FakeHost between;
    FakeHost two;
    run_trial(run(2), worker.context, one);
    run_trial(run(1, false, {{"hidden", std::vector<std::int64_t>{300}}, {"batch_size", std::int64_t{300}}}),
              worker.context, between);
    run_trial(run(2), worker.context, two);
    EXPECT_EQ(curve_of(one.reports), curve_of(two.reports));
}

/// Curves that must not change, since a change means that all stored studies would train differently. The bounds allow
/// for the rounding of other CPUs.
TEST_F(TrialFolder, FollowsTheGoldenCurve) {
    WorkerFixture worker;
    struct Golden {
        Params changes;
        std::vector<double> val_loss;
    };
    const std::vector<Golden> goldens{
        {{}, {1.4658, 1.1949, 1.0204, 0.9860}},
        {{{"optimizer", std::string("sgd")}, {"lr", 0.1}, {"schedule", std::string("one-cycle")}, {"warmup", 0.0}},
         {1.4483, 1.0094, 0.8365, 0.8073}},
        {{{"norm", std::string("layer")}, {"activation", std::string("gelu")}}, {1.4739, 1.1559, 0.9769, 0.9430}},
    };
    for (const Golden& golden : goldens) {
        FakeHost host;
        run_trial(run(4, false, golden.changes), worker.context, host);
        ASSERT_EQ(host.reports.size(), 4U);
        for (std::size_t i = 0; i < 4; ++i)
            EXPECT_NEAR(host.reports[i].metrics.at("val_loss"), golden.val_loss[i], 0.003) << host.logged;
    }
}

TEST_F(TrialFolder, DecisionsEndTheTrialAsTheySay) {
    WorkerFixture worker;
    FakeHost stop;
    stop.on_report = [](const Report& report) { return report.step == 2 ? Action::stop : Action::go_on; };
    const auto stopped = run_trial(run(5), worker.context, stop);
    EXPECT_EQ(stopped.outcome, Outcome::stopped);
    EXPECT_EQ(stop.reports.size(), 2U);

    FakeHost pause;
    pause.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    const auto paused = run_trial(run(5), worker.context, pause);
    EXPECT_EQ(paused.outcome, Outcome::paused);
    EXPECT_EQ(paused.checkpoint, folder_ / "trial" / "last.ckpt");
    EXPECT_TRUE(paused.values.contains("val_accuracy"));
}

TEST_F(TrialFolder, StopsInTheMiddleOfAStepAndOfLoading) {
    WorkerFixture worker;
    FakeHost host;
    host.on_ask = [&] { return host.asked < 20; };
    EXPECT_EQ(run_trial(run(5), worker.context, host).outcome, Outcome::stopped);
    EXPECT_EQ(host.asked, 20);
    WorkerFixture cold;
    FakeHost at_once;
    at_once.on_ask = [] { return false; };
    EXPECT_EQ(run_trial(run(5), cold.context, at_once).outcome, Outcome::stopped);
    EXPECT_THAT(at_once.phases, ElementsAre("loading"));
    FakeHost after;
    EXPECT_EQ(run_trial(run(1), cold.context, after).outcome, Outcome::complete);
}

TEST_F(TrialFolder, AnInterruptedTrialEndsWithTheSameBits) {
    // Steps of 10 iterations in epochs of 14: most steps end in the middle of an epoch.
    const Params changes{{"eval_every", std::int64_t{10}}};
    WorkerFixture worker;
    FakeHost whole;
    auto reference = run(5, false, changes);
    reference.folder = folder_ / "whole";
    ASSERT_EQ(run_trial(reference, worker.context, whole).outcome, Outcome::complete);

    // Killed at every moment the host hears of: each iteration, each evaluation, each report, each decision.
    FakeHost counting;
    run_trial(run(5, false, changes), worker.context, counting);
    const std::int64_t moments = counting.asked;
    for (std::int64_t moment = 1; moment <= moments; moment += moment < 12 || moment % 13 == 0 ? 1 : 4) {
        fs::remove_all(folder_ / "trial");
        FakeHost first;
        first.on_ask = [&] { return first.asked < moment ? true : throw Killed{}; };
        EXPECT_THROW(run_trial(run(5, false, changes), worker.context, first), Killed);
        FakeHost second;
        ASSERT_EQ(run_trial(run(5, true, changes), worker.context, second).outcome, Outcome::complete);
        const auto expected = curve_of(whole.reports);
        const auto got = curve_of(second.reports);
        ASSERT_EQ(static_cast<std::int64_t>(got.size()), 5 - second.from_step);
        ASSERT_TRUE(std::equal(got.rbegin(), got.rend(), expected.rbegin())) << moment;
        ASSERT_EQ(bytes("trial/last.ckpt"), bytes("whole/last.ckpt")) << moment;
        ASSERT_EQ(bytes("trial/best.ckpt"), bytes("whole/best.ckpt")) << moment;
    }
}

TEST_F(TrialFolder, KilledBetweenReportAndDecisionItRepeatsTheStep) {
    WorkerFixture worker;
    FakeHost first;
    first.on_report = [](const Report& report) -> std::optional<Action> {
        return report.step < 3 ? Action::go_on : throw Killed{};
    };
    EXPECT_THROW(run_trial(run(4), worker.context, first), Killed);
    FakeHost second;
    EXPECT_EQ(run_trial(run(4, true), worker.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 2);
    EXPECT_EQ(curve_of(first.reports)[2], curve_of(second.reports)[0]);
    EXPECT_EQ(second.reports[0].metrics, first.reports[2].metrics);
}

TEST_F(TrialFolder, ACheckpointAheadOfTheStoredStepsIsNotResumedFrom) {
    // A loss of power may keep the checkpoint of a step whose report it takes.
    WorkerFixture worker;
    FakeHost whole;
    auto reference = run(3);
    reference.folder = folder_ / "whole";
    ASSERT_EQ(run_trial(reference, worker.context, whole).outcome, Outcome::complete);
    for (const std::int64_t paused_at : {1, 2})
        for (const std::int64_t stored : {0, 1, 2}) {
            fs::remove_all(folder_ / "trial");
            FakeHost first;
            first.on_report = [&](const Report& one) { return one.step == paused_at ? Action::pause : Action::go_on; };
            ASSERT_EQ(run_trial(run(3), worker.context, first).outcome, Outcome::paused);
            auto again = run(3, true);
            again.done = to_worker::Done{.step = stored};
            FakeHost second;
            ASSERT_EQ(run_trial(again, worker.context, second).outcome, Outcome::complete);
            EXPECT_EQ(second.from_step, paused_at <= stored ? paused_at : 0) << stored;
            const auto expected = curve_of(whole.reports), got = curve_of(second.reports);
            EXPECT_EQ(got, std::vector(expected.end() - static_cast<std::ptrdiff_t>(got.size()), expected.end()));
            EXPECT_LE(second.reports.front().step, stored + 1) << "no step is missing in the curve";
        }
}

TEST_F(TrialFolder, AfterItsLastStepItRepeatsThatStepAndNoneAfterIt) {
    // hpo train may be killed while it tests the model.
    WorkerFixture worker;
    FakeHost first;
    ASSERT_EQ(run_trial(run(3), worker.context, first).outcome, Outcome::complete);
    FakeHost second;
    ASSERT_EQ(run_trial(run(3, true), worker.context, second).outcome, Outcome::complete);
    ASSERT_EQ(second.reports.size(), 1U);
    EXPECT_EQ(curve_of(second.reports).front(), curve_of(first.reports).back());
}

TEST_F(TrialFolder, TrainingTimeAddsUpOverAttempts) {
    WorkerFixture worker;
    FakeHost first;
    first.on_ask = [&] { return worker.clock.advance(Seconds(1)), true; };
    first.on_report = [](const Report&) { return Action::pause; };
    run_trial(run(2), worker.context, first);
    FakeHost second;
    second.on_ask = [&] { return worker.clock.advance(Seconds(3)), true; };
    run_trial(run(2, true), worker.context, second);
    EXPECT_DOUBLE_EQ(*second.reports[0].seconds, 14 + 42);
    EXPECT_DOUBLE_EQ(*second.reports[0].iterations_per_second, 1.0 / 3);
    EXPECT_DOUBLE_EQ(*second.reports[0].iterations_per_second_overall, 0.5);
}

TEST_F(TrialFolder, ADamagedOrForeignCheckpointIsRefusedAloud) {
    WorkerFixture worker;
    const auto pause = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    const auto resumed_from = [&](const to_worker::Run& again, const char* word) {
        FakeHost host;
        EXPECT_EQ(run_trial(again, worker.context, host).outcome, Outcome::complete);
        EXPECT_THAT(host.logged, HasSubstr(word));
        return host.from_step;
    };
    const auto begin = [&] {
        FakeHost host;
        host.on_report = pause;
        ASSERT_EQ(run_trial(run(3), worker.context, host).outcome, Outcome::paused);
    };
    begin();
    EXPECT_EQ(resumed_from(run(3, true), "resumes after step 2"), 2);
    begin();
    EXPECT_EQ(resumed_from(run(3, true, {{"lr", 0.02}}), "another configuration"), 0);
    begin();  // a trial that ran out of memory continues with smaller micro-batches
    EXPECT_EQ(resumed_from(run(3, true, {{"accumulation", std::int64_t{2}}}), "resumes after step 2"), 2);
    begin();
    auto other_seed = run(3, true);
    other_seed.seed = 1;
    EXPECT_EQ(resumed_from(other_seed, "another configuration"), 0);
    begin();
    auto other_split = run(3, true);
    other_split.data_seed = 6;
    EXPECT_EQ(resumed_from(other_split, "another configuration"), 0);
    begin();
    EXPECT_EQ(resumed_from(run(4, true), "another configuration"), 0);
    for (const char* name : {"last.ckpt", "best.ckpt"}) {
        begin();
        fs::resize_file(folder_ / "trial" / name, fs::file_size(folder_ / "trial" / name) - 100);
        EXPECT_EQ(resumed_from(run(3, true), "damaged"), 0);
        begin();
        fs::remove(folder_ / "trial" / name);
        EXPECT_EQ(resumed_from(run(3, true), "No such file"), 0);
    }
}

TEST_F(TrialFolder, ACheckpointThatCannotBeWrittenIsSaidAndTheTrialGoesOn) {
    WorkerFixture worker;
    FakeHost host;
    std::ofstream(folder_ / "trial") << "a file where the folder should be";
    const auto finished = run_trial(run(2), worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::complete);
    EXPECT_EQ(finished.checkpoint, "");
    EXPECT_THAT(host.logged, HasSubstr("saved:"));
}

TEST_F(TrialFolder, ADivergingTrialReportsItsStepAndEnds) {
    WorkerFixture worker;
    FakeHost host;
    const auto finished = run_trial(run(5, false,
                                        {{"optimizer", std::string("sgd")},
                                         {"lr", 1000.0},
                                         {"clip", 0.0},
                                         {"warmup", 0.0},
                                         {"schedule", std::string("constant")}}),
                                    worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::diverged);
    EXPECT_THAT(finished.message, Mentions("step 1", "iteration"));
    ASSERT_EQ(host.reports.size(), 1U);
    EXPECT_FALSE(std::isfinite(host.reports[0].metrics.at("loss")));
    EXPECT_FALSE(host.reports[0].warning.empty());
    EXPECT_FALSE(fs::exists(folder_ / "trial" / "last.ckpt"));
}

TEST_F(TrialFolder, WhatIsWrongWithATrialIsItsOutcomeAndTheNextOneRuns) {
    WorkerFixture worker;
    const auto outcome_of = [&](const Params& changes) {
        FakeHost host;
        return run_trial(run(1, false, changes), worker.context, host);
    };
    const auto typo = outcome_of({{"bach_size", 1.0}});
    EXPECT_EQ(typo.outcome, Outcome::failed);
    EXPECT_THAT(typo.message, HasSubstr("bach_size"));
    const auto batch = outcome_of({{"batch_size", std::int64_t{901}}});
    EXPECT_THAT(batch.message, Mentions("901", "more than", "900 samples"));
    const auto data = outcome_of({{"format", std::string("idx")}, {"path", std::string("no-such-set")}});
    EXPECT_THAT(data.message, HasSubstr("dataset-no-such-set"));
    auto wrong = run(1);
    wrong.objective.metric = "f1";
    FakeHost host;
    EXPECT_THAT(run_trial(wrong, worker.context, host).message, HasSubstr("f1"));
    auto ranked = run(1, false, {{"classes", std::int64_t{101}}, {"class_metrics", true}});
    ranked.objective.metric = "val_auc";
    EXPECT_THAT(run_trial(ranked, worker.context, host).message,
                MentionsInOrder("objective.metric: val_auc", "100", "val_loss, val_accuracy", "val_f1"));
    EXPECT_EQ(outcome_of({}).outcome, Outcome::complete);
}

TEST_F(TrialFolder, MoreMemoryThanThereIsIsNoFailure) {
    WorkerFixture worker;
    FakeHost host;
    const auto finished =
        run_trial(run(1, false, {{"hidden", std::vector<std::int64_t>(40, 65536)}}), worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::out_of_memory);
    EXPECT_THAT(finished.message, HasSubstr("MiB"));
    EXPECT_EQ(run_trial(run(1), worker.context, host).outcome, Outcome::complete);
}

TEST_F(TrialFolder, MemoryOfAMuchLargerTrialIsGivenBack) {
    WorkerFixture worker;
    FakeHost host;
    host.on_report = [](const Report&) { return Action::stop; };
    const Params large{{"hidden", std::vector<std::int64_t>{2500, 2500}}, {"eval_every", std::int64_t{1}}};
    EXPECT_EQ(run_trial(run(1, false, large), worker.context, host).outcome, Outcome::stopped);
    EXPECT_GT(worker.context.arena->bytes(), 100'000'000U);
    EXPECT_GT(worker.context.spare.at(0).state.capacity(), 18'000'000U);
    run_trial(run(1), worker.context, host);
    EXPECT_LT(worker.context.arena->bytes(), 1'000'000U);
    EXPECT_LT(worker.context.spare.at(0).state.capacity(), 10'000U);
}

TEST_F(TrialFolder, ValuesAreThoseOfTheKeptStep) {
    WorkerFixture worker;
    // A minimised loss that only rises: its best step is the first.
    auto rising = run(4, false, {{"lr", 0.0}, {"weight_decay", 0.0}});
    rising.objective = {"val_loss", Direction::minimize, Objective::At::best};
    rising.test = true;
    FakeHost host;
    const auto at_best = run_trial(rising, worker.context, host);
    EXPECT_EQ(at_best.values.at("val_loss"), host.reports[0].metrics.at("val_loss"));
    EXPECT_THAT(host.logged, Mentions("weights", "step 1"));
    rising.objective.at = Objective::At::last;
    FakeHost last_host;
    const auto at_last = run_trial(rising, worker.context, last_host);
    EXPECT_THAT(last_host.logged, Mentions("weights", "step 4"));
    EXPECT_EQ(at_last.values.at("test_accuracy"), at_best.values.at("test_accuracy"));
}

TEST_F(TrialFolder, TheBestWeightsOutliveAWorseEndAndAResume) {
    WorkerFixture worker;
    const Params worse{{"schedule", std::string("constant")}, {"lr", 0.3}, {"warmup", 0.0}};
    auto reference = run(6, false, worse);
    reference.test = true;
    FakeHost whole;
    const auto expected = run_trial(reference, worker.context, whole);
    fs::remove_all(folder_ / "trial");
    FakeHost first;
    first.on_report = [](const Report& report) { return report.step == 5 ? Action::pause : Action::go_on; };
    run_trial(reference, worker.context, first);
    auto again = reference;
    again.resume = true;
    FakeHost second;
    const auto got = run_trial(again, worker.context, second);
    EXPECT_EQ(second.from_step, 5);
    EXPECT_EQ(got.values, expected.values);
}

TEST_F(TrialFolder, SavesAModelThatComputesWhatItComputed) {
    WorkerFixture worker;
    auto saving = run(3);
    saving.test = true;
    saving.save = folder_ / "model.safetensors";
    FakeHost host;
    const auto finished = run_trial(saving, worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;

    const std::string file = bytes("model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    EXPECT_EQ(length % 8, 0U);
    const auto header = nlohmann::json::parse(file.substr(8, length));
    EXPECT_EQ(header["__metadata__"]["format"], "hpo-model");
    const auto configuration = nlohmann::json::parse(header["__metadata__"]["configuration"].get<std::string>());
    EXPECT_EQ(configuration["batch_size"], 64);
    const auto tensor = [&](const std::string& name) {
        const auto& entry = header.at(name);
        const std::size_t begin = entry["data_offsets"][0];
        const std::size_t end = entry["data_offsets"][1];
        std::vector<float> values((end - begin) / 4);
        std::memcpy(values.data(), file.data() + 8 + length + begin, end - begin);
        return values;
    };
    const float mean = tensor("input.mean")[0];
    const float deviation = tensor("input.deviation")[0];

    // The forward pass once more, by hand, over the test split.
    int correct = 0;
    int count = 0;
    const auto loaded =
        load_data(read_configuration(saving.params)->data, saving.data_seed, [&](const SampleBatch& batch) {
            const auto* labels = reinterpret_cast<const std::int32_t*>(batch.targets.data());
            for (std::int64_t row = 0; batch.part == Part::test && row < batch.count; ++row, ++count) {
                std::vector<float> x(20);
                std::memcpy(x.data(), batch.features.data() + row * 80, 80);
                for (float& value : x) value = (value - mean) / deviation;
                for (int layer = 0; layer < 3; ++layer) {
                    const auto weight = tensor("layers." + std::to_string(layer) + ".weight");
                    std::vector<float> out = tensor("layers." + std::to_string(layer) + ".bias");
                    for (std::size_t o = 0; o < out.size(); ++o) {
                        for (std::size_t i = 0; i < x.size(); ++i) out[o] += weight[o * x.size() + i] * x[i];
                        if (layer < 2) out[o] = std::max(out[o], 0.0F);
                    }
                    x = out;
                }
                correct += std::max_element(x.begin(), x.end()) - x.begin() == labels[row] ? 1 : 0;
            }
        });
    ASSERT_TRUE(loaded);
    EXPECT_EQ(count, 250);
    EXPECT_NEAR(static_cast<double>(correct) / count, finished.values.at("test_accuracy"), 1e-9);
}

TEST_F(TrialFolder, AModelThatCannotBeSavedIsAFailureThatSaysWhy) {
    WorkerFixture worker;
    auto saving = run(1);
    saving.save = folder_ / "no" / "such" / "model.safetensors";
    FakeHost host;
    const auto finished = run_trial(saving, worker.context, host);
    EXPECT_EQ(finished.outcome, Outcome::failed);
    EXPECT_THAT(finished.message, ::testing::AllOf(HasSubstr("model.safetensors"), HasSubstr("No such file")));
}

TEST(FashionMnist, ASmallPartOfItIsLearnedInTwoEpochs) {
    if (!fs::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "apt install dataset-fashion-mnist";
    WorkerFixture worker;
    FakeHost host;
    auto run = small_run({{"format", std::string("idx")},
                          {"path", std::string("fashion-mnist")},
                          {"subset", std::int64_t{6000}},
                          {"hidden", std::vector<std::int64_t>{64}},
                          {"lr", 0.003},
                          {"batch_size", std::int64_t{64}}},
                         2);
    run.test = true;
    const auto finished = run_trial(run, worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_GT(host.reports[1].metrics.at("val_accuracy"), 0.79);
    EXPECT_GT(finished.values.at("test_accuracy"), 0.77);
    // The published moments of the whole training set are 72.94 and 90.02.
    EXPECT_NEAR(worker.context.data->folds.front().mean, 72.94, 1.5);
    EXPECT_NEAR(worker.context.data->folds.front().deviation, 90.02, 1.5);
}

}  // namespace
}  // namespace hpo
