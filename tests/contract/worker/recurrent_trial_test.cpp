// Trials of recurrent networks on synthetic tokens and windows.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::test {
namespace {

using ::testing::HasSubstr;
using to_worker::Action;

Params recurrent_params(const char* type, const Params& changes = {}) {
    return with({{"format", std::string("synthetic")},
                 {"samples", std::int64_t{64}},
                 {"steps", std::int64_t{6}},
                 {"vocabulary", std::int64_t{6}},
                 {"type", std::string(type)},
                 {"width", std::int64_t{24}},
                 {"depth", std::int64_t{2}},
                 {"dropout", 0.1},
                 {"batch_size", std::int64_t{32}},
                 {"lr", 0.005}},
                changes);
}

class RecurrentTrialOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, RecurrentTrialOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(RecurrentTrialOn, TrialsInCompanyTrainAsEachWouldAlone) {
    for (const char* type : {"gru", "lstm"})
        expect_the_curves_that_each_has_alone(GetParam(), 2, [&](std::int64_t number) {
            return recurrent_params(type, {{"lr", 0.002 * static_cast<double>(number)},
                                           {"batch_size", 20 + number},
                                           {"dropout", 0.1 * static_cast<double>(number)}});
        });
}

TEST_P(RecurrentTrialOn, ThePlanIsWhatIsAllocatedToTheByte) {
    for (const char* type : {"gru", "lstm"}) {
        WorkerFixture worker(GetParam());
        const auto answer = answer_plan({1, recurrent_params(type), 1, 5}, worker.context);
        ASSERT_EQ(answer.error, "");
        FakeHost host;
        ASSERT_EQ(run_trial(small_run(recurrent_params(type), 1), worker.context, host).outcome, Outcome::complete)
            << host.logged;
        EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
    }
}

TEST_P(RecurrentTrialOn, ANarrowPrecisionFollowsFloat32) {
    for (const char* type : {"gru", "lstm"}) {
        const auto curve = [&](const char* precision) {
            WorkerFixture worker(GetParam());
            FakeHost host;
            const auto finished = run_trial(
                small_run(recurrent_params(type, {{"precision", std::string(precision)}}), 2), worker.context, host);
            return std::pair(finished, curve_of(host));
        };
        const auto [finished, narrow] = curve("bfloat16");
        if (!WorkerFixture(GetParam()).device->computes_in(Precision::bfloat16)) {
            EXPECT_THAT(finished.message, HasSubstr("training.precision"));
            return;
        }
        ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
        const auto wide = curve("float32").second;
        for (std::size_t step = 0; step < 2; ++step)
            EXPECT_NEAR(narrow.at(step).at("loss"), wide.at(step).at("loss"), 0.1);
        EXPECT_NE(narrow, wide);
    }
}

TEST(RecurrentTrial, LearnsThatTheTokenBeforeTheLastTellsTheNext) {
    for (const char* type : {"gru", "lstm"}) {
        WorkerFixture worker;
        FakeHost host;
        const Params params = recurrent_params(type, {{"samples", std::int64_t{400}},
                                                      {"steps", std::int64_t{12}},
                                                      {"depth", std::int64_t{1}},
                                                      {"width", std::int64_t{32}},
                                                      {"dropout", 0.0},
                                                      {"lr", 0.02},
                                                      {"batch_size", std::int64_t{16}}});
        const auto finished = run_trial(small_run(params, 20), worker.context, host);
        ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
        // The best possible: the second to twelfth target of twelve, and of those seven eighths and a sixth of the
        // rest.
        constexpr double known = 7.0 / 8 + 1.0 / 8 / 6;
        EXPECT_GT(host.reports.back().metrics.at("val_accuracy"), 0.9 * 11 / 12 * known) << type;
        EXPECT_LT(host.reports.back().metrics.at("val_accuracy"), 1.05 * (11 * known + 1.0 / 6) / 12)
            << "sees the target";
    }
}

TEST(RecurrentTrial, APausedTrialGoesOnToTheSameBits) {
    for (const char* type : {"gru", "lstm"}) {
        const hpo::testing::TemporaryFolder folder;
        const auto in = [&](const char* name, bool resume) {
            auto run = small_run(recurrent_params(type), 4);
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
}

TEST(RecurrentTrial, WindowsOfNumbersTrainToo) {
    for (const char* type : {"gru", "lstm"}) {
        WorkerFixture worker;
        FakeHost host;
        Params params = recurrent_params(type, {{"samples", std::int64_t{240}},
                                                {"features", std::int64_t{5}},
                                                {"classes", std::int64_t{3}},
                                                {"noise", 0.5},
                                                {"lr", 0.01}});
        params.erase("vocabulary");
        const auto finished = run_trial(small_run(params, 6), worker.context, host);
        ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
        EXPECT_GT(host.reports.back().metrics.at("val_accuracy"), 0.8) << type;
    }
}

}  // namespace
}  // namespace hpo::test
