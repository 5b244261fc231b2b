// Trials with Lion, averaged weights and schedules that follow the validation loss.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::test {
namespace {

using to_worker::Action;
namespace fs = std::filesystem;

Params averaged(const Params& changes = {}) {
    return with(with(small_params(), {{"ema", 0.95}, {"optimizer", std::string("lion")}, {"lr", 0.002}}), changes);
}

class AveragedTrialOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, AveragedTrialOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(AveragedTrialOn, TrialsOfAllOptimizersInCompanyTrainAsEachWouldAlone) {
    const auto params_of = [](std::int64_t number) {
        const char* optimizers[] = {"lion", "sgd", "adamw"};
        return averaged({{"optimizer", std::string(optimizers[number - 1])},
                         {"schedule", std::string(number == 2 ? "plateau" : "wsd")},
                         {"lr_patience", std::int64_t{0}},
                         {"batch_size", 40 + number}});
    };
    expect_the_curves_that_each_has_alone(GetParam(), 3, params_of, 1);
}

TEST_P(AveragedTrialOn, ThePlanIsWhatIsAllocatedToTheByte) {
    WorkerFixture worker(GetParam());
    const auto plain = answer_plan({1, averaged({{"ema", 0.0}}), 1, 5}, worker.context);
    const auto answer = answer_plan({1, averaged(), 1, 5}, worker.context);
    ASSERT_EQ(answer.error, "");
    EXPECT_GE(answer.arena_bytes, plain.arena_bytes + 4 * answer.parameters);
    FakeHost host;
    ASSERT_EQ(run_trial(small_run(averaged(), 1), worker.context, host).outcome, Outcome::complete) << host.logged;
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
}

TEST(AveragedTrial, TrainsTheSameWeightsAndEvaluatesTheirAverage) {
    const auto curve = [](double decay) {
        WorkerFixture worker;
        FakeHost host;
        EXPECT_EQ(run_trial(small_run(averaged({{"ema", decay}}), 3), worker.context, host).outcome, Outcome::complete);
        return curve_of(host);
    };
    const Curve plain = curve(0), with_average = curve(0.95);
    for (std::size_t step = 0; step < 3; ++step) {
        EXPECT_EQ(plain[step].at("loss"), with_average[step].at("loss"));
        EXPECT_NE(plain[step].at("val_loss"), with_average[step].at("val_loss"));
    }
    EXPECT_LT(with_average.back().at("val_loss"), with_average.front().at("val_loss"));
}

TEST(AveragedTrial, LessensTheNoiseOfTheWeightsAtAConstantRate) {
    // Polyak and Juditsky 1992: at a constant learning rate the average is nearer to the minimum than the weights.
    const auto loss = [](double decay) {
        WorkerFixture worker;
        FakeHost host;
        run_trial(small_run(averaged({{"ema", decay},
                                      {"optimizer", std::string("sgd")},
                                      {"schedule", std::string("constant")},
                                      {"dropout", 0.0},
                                      {"batch_size", std::int64_t{4}},
                                      {"hidden", std::vector<std::int64_t>{}},
                                      {"label_smoothing", 0.0},
                                      {"lr", 0.05}}),
                            4),
                  worker.context, host);
        return host.reports.back().metrics.at("val_loss");
    };
    EXPECT_LT(loss(0.99), 0.9 * loss(0));
}

TEST(AveragedTrial, APausedTrialGoesOnToTheSameBits) {
    for (const char* schedule : {"plateau", "step", "wsd"}) {
        const hpo::testing::TemporaryFolder folder;
        const auto in = [&](const char* name, bool resume) {
            auto run = small_run(averaged({{"schedule", std::string(schedule)},
                                           {"lr", 0.03},
                                           {"lr_decay", 0.5},
                                           {"lr_patience", std::int64_t{0}}}),
                                 6);
            run.folder = fs::path(folder.path()) / name;
            run.resume = resume;
            run.test = true;
            return run;
        };
        WorkerFixture worker, later;
        FakeHost whole, first, second;
        const auto at_once = run_trial(in("whole", false), worker.context, whole);
        ASSERT_EQ(at_once.outcome, Outcome::complete);
        first.on_report = [](const Report& report) { return report.step == 4 ? Action::pause : Action::go_on; };
        ASSERT_EQ(run_trial(in("paused", false), worker.context, first).outcome, Outcome::paused);
        const auto resumed = run_trial(in("paused", true), later.context, second);
        ASSERT_EQ(resumed.outcome, Outcome::complete);
        EXPECT_EQ(second.from_step, 4);
        EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
        EXPECT_EQ(second.reports.back().learning_rate, whole.reports.back().learning_rate);
        EXPECT_EQ(resumed.values, at_once.values);
        EXPECT_LT(*whole.reports.back().learning_rate, 0.03) << schedule;
    }
}

}  // namespace
}  // namespace hpo::test
