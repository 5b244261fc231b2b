#include "worker/training/precision.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/training/trial_group.hpp"

namespace hpo {
namespace {

using test::FakeHost;
using test::small_params;
using test::small_run;
using test::with;
using test::WorkerFixture;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using to_worker::Action;

/// A fixture with a separate cache for each test.
class PrecisionOf : public ::testing::Test {
   protected:
    struct Worker : WorkerFixture {
        Worker(std::string_view backend, const std::filesystem::path& folder) : WorkerFixture(backend) {
            context.precisions = PrecisionChoices(folder);
        }
    };
    [[nodiscard]] Worker start_worker(std::string_view backend = "opencl") const { return {backend, folder_.path()}; }
    [[nodiscard]] static Params in(const char* precision, const Params& changes = {}) {
        return with(with(small_params(), {{"precision", std::string(precision)}}), changes);
    }
    [[nodiscard]] std::size_t kept() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
            count += entry.is_regular_file() ? 1 : 0;
        return count;
    }
    /// Returns the validation losses of four steps.
    std::vector<double> curve(const Params& params, std::string_view backend = "opencl") {
        Worker worker = start_worker(backend);
        FakeHost host;
        const auto finished = run_trial(small_run(test::sized_for("opencl", params), 4), worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
        std::vector<double> losses;
        for (const Report& report : host.reports) losses.push_back(report.metrics.at("val_loss"));
        return losses;
    }

    const hpo::testing::TemporaryFolder folder_;
};

TEST_F(PrecisionOf, ANarrowOneFollowsTheGoldenCurveWithinItsBounds) {
    const auto golden = curve(small_params());
    std::vector<std::tuple<const char*, const char*, double>> cases{{"opencl", "bfloat16", 0.02},
                                                                    {"opencl", "float16", 0.005}};
    if (bfloat16_unit() != Bfloat16Unit::none) cases.emplace_back("cpu", "bfloat16", 0.02);
    for (const auto& [backend, precision, bound] : cases)
        for (const char* optimizer : {"adamw", "sgd"}) {
            const Params changes{{"optimizer", std::string(optimizer)}, {"norm", std::string("layer")}};
            const auto wide = curve(with(small_params(), changes), backend);
            const auto narrow = curve(in(precision, changes), backend);
            for (std::size_t i = 0; i < 4; ++i) {
                EXPECT_NEAR(narrow[i], wide[i], bound) << precision << ' ' << optimizer;
                EXPECT_NE(narrow[i], wide[i]) << precision << ' ' << optimizer;
            }
        }
    const auto plain = curve(in("bfloat16"));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(plain[i], golden[i], 0.02);
}

TEST_F(PrecisionOf, ADeviceThatHasItNotSaysSoAtThePlanAndTheTrial) {
    for (const auto& [backend, precision, text] :
         {std::tuple("cpu", "float16", "float32, and in bfloat16 where the CPU has AMX, AVX512-BF16"),
          std::tuple("cpu", "tf32", "float32, and in bfloat16"), std::tuple("opencl", "tf32", "capability 8.0")}) {
        Worker worker = start_worker(backend);
        const auto answer = answer_plan({1, in(precision), 1, 5}, worker.context);
        EXPECT_THAT(answer.error, AllOf(HasSubstr("training.precision: "), HasSubstr(text)));
        FakeHost host;
        const auto finished = run_trial(small_run(in(precision), 1), worker.context, host);
        EXPECT_EQ(finished.outcome, Outcome::failed);
        EXPECT_THAT(finished.message, HasSubstr(text));
    }
}

TEST_F(PrecisionOf, ThePlanCountsTheOperandsToTheByte) {
    for (const char* precision : {"bfloat16", "float16"}) {
        Worker worker = start_worker();
        const auto wide = answer_plan({1, small_params(), 1, 5}, worker.context);
        const auto narrow = answer_plan({1, in(precision), 1, 5}, worker.context);
        EXPECT_GT(narrow.arena_bytes, wide.arena_bytes);
        FakeHost host;
        run_trial(small_run(in(precision), 1), worker.context, host);
        EXPECT_EQ(narrow.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
    }
}

TEST_F(PrecisionOf, AFloat16TrialGoesOnWithTheScaleItHad) {
    // Gradients that are too large at the first scale: it falls in the first updates, which are left out.
    const Params params = in("float16", {{"lr", 0.002}, {"clip", 0.0}});
    const hpo::testing::TemporaryFolder checkpoints;
    Worker worker = start_worker();
    FakeHost whole, first, second;
    auto run = small_run(params, 4);
    ASSERT_EQ(run_trial(run, worker.context, whole).outcome, Outcome::complete);
    run.folder = checkpoints / "trial";
    first.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    run_trial(run, worker.context, first);
    run.resume = true;
    ASSERT_EQ(run_trial(run, worker.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 2);
    EXPECT_EQ(second.reports[1].metrics, whole.reports[3].metrics);
    run.params = small_params();
    FakeHost other;
    run_trial(run, worker.context, other);
    EXPECT_THAT(other.logged, HasSubstr("configuration"));
}

TEST_F(PrecisionOf, AutoIsTheNarrowOneWhereItIsFasterAtAnEqualLoss) {
    const auto run = [](Precision precision, double speed, double loss) {
        return PrecisionRun{precision, 96, speed, loss};
    };
    const auto better = [&](double speed, double loss) {
        return better_precision(run(Precision::float32, 100, 1), run(Precision::bfloat16, speed, loss));
    };
    EXPECT_EQ(better(120, 1), Precision::bfloat16);
    EXPECT_EQ(better(120, 1.01), Precision::bfloat16);
    EXPECT_EQ(better(105, 0.9), Precision::float32);
    EXPECT_EQ(better(300, 1.05), Precision::float32);
    EXPECT_EQ(better(300, std::nan("")), Precision::float32);
    EXPECT_EQ(better(0, 1), Precision::float32);
}

TEST_F(PrecisionOf, AutoIsFloat32WithoutMeasuringWhereThereIsNoOther) {
    const auto device = make_cpu_device(cpu_levels().front());
    EXPECT_EQ(narrow_precision(*device), std::nullopt);
    const auto resolved = PrecisionChoices(folder_.path()).resolve(*read_configuration(in("auto")), *device);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->training.precision, Precision::float32);
    EXPECT_FALSE(resolved->training.measured_precision);
}

TEST_F(PrecisionOf, AutoOnTheCpuMeasuresWhereItMultipliesBfloat16) {
    // The test's clock stands still: nothing is faster.
    EXPECT_EQ(curve(in("auto"), "cpu"), curve(small_params(), "cpu"));
    EXPECT_EQ(kept(), bfloat16_unit() != Bfloat16Unit::none ? 1U : 0U);
}

TEST_F(PrecisionOf, AutoIsMeasuredOnceSaidAndKept) {
    Worker worker = start_worker();
    // Before it is measured, the plan counts what may be taken.
    const auto before = answer_plan({1, in("auto"), 1, 5}, worker.context);
    EXPECT_EQ(before.arena_bytes, answer_plan({1, in("bfloat16"), 1, 5}, worker.context).arena_bytes);
    FakeHost first, second;
    ASSERT_EQ(run_trial(small_run(in("auto"), 4), worker.context, first).outcome, Outcome::complete);
    // The test's clock stands still: nothing is faster.
    EXPECT_THAT(first.logged, Mentions("precision auto: float32", "bfloat16", "0.00"));
    EXPECT_THAT(first.logged, HasSubstr(" precision=float32"));
    EXPECT_EQ(kept(), 1U);
    const auto after = answer_plan({1, in("auto"), 1, 5}, worker.context);
    EXPECT_EQ(after.arena_bytes, answer_plan({1, small_params(), 1, 5}, worker.context).arena_bytes);
    Worker other = start_worker();  // another process finds the file
    ASSERT_EQ(run_trial(small_run(in("auto"), 4), other.context, second).outcome, Outcome::complete);
    EXPECT_THAT(second.logged, Not(HasSubstr("precision auto")));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(first.reports[i].metrics, second.reports[i].metrics);
}

/// On a device whose library multiplies in float32 alone, products of 16 bits may be the slower ones.
TEST_F(PrecisionOf, AutoFollowsTheMeasuredTimesInBothDirections) {
    for (const auto& [narrow_seconds, taken] : {std::pair(0.5, "bfloat16"), std::pair(2.0, "float32")}) {
        const hpo::testing::TemporaryFolder empty;
        Worker worker("opencl", empty.path());
        // float32 is measured first, and both precisions train for the same number of iterations.
        const int iterations = 3 * 32;
        FakeHost host;
        int measured = 0;
        host.on_ask = [&, seconds = narrow_seconds] {
            if (host.phases.back() == "measuring")
                worker.clock.advance(Seconds(++measured <= iterations ? 1 : seconds));
            return true;
        };
        Params params = in("auto", {{"batch_size", std::int64_t{8}}, {"lr", 0.001}});
        ASSERT_EQ(run_trial(small_run(params, 1), worker.context, host).outcome, Outcome::complete);
        EXPECT_THAT(host.logged, Mentions(std::string("precision auto: ") + taken, "; ", "bfloat16")) << measured;
    }
}

TEST_F(PrecisionOf, TrialsOfOneBucketShareAChoice) {
    Worker worker = start_worker();
    const auto log_of = [&](const Params& changes) {
        FakeHost host;
        run_trial(small_run(in("auto", changes), 1), worker.context, host);
        return host.logged;
    };
    EXPECT_THAT(log_of({{"batch_size", std::int64_t{40}}}), HasSubstr("precision auto"));
    EXPECT_THAT(log_of({{"batch_size", std::int64_t{48}}, {"optimizer", std::string("sgd")}}),
                Not(HasSubstr("precision auto")));
    EXPECT_THAT(log_of({{"batch_size", std::int64_t{96}}}), HasSubstr("precision auto"));
    EXPECT_EQ(kept(), 2U);
    // The time of an update does not depend on eval_every and subset; it does on accumulation.
    EXPECT_THAT(log_of({{"batch_size", std::int64_t{40}}, {"eval_every", std::int64_t{3}}, {"subset", 500.0}}),
                Not(HasSubstr("precision auto")));
    EXPECT_THAT(log_of({{"batch_size", std::int64_t{40}}, {"accumulation", std::int64_t{2}}}),
                HasSubstr("precision auto"));
}

TEST_F(PrecisionOf, AutoIsMeasuredAtALearningRateThatIsNotChaotic) {
    const auto measured_at = [](double lr) {
        const hpo::testing::TemporaryFolder empty;
        Worker worker("opencl", empty.path());
        FakeHost host;
        run_trial(small_run(in("auto", {{"lr", lr}, {"warmup", 0.5}}), 1), worker.context, host);
        return host.logged.substr(0, host.logged.find('\n'));
    };
    EXPECT_THAT(measured_at(10), HasSubstr("precision auto"));
    EXPECT_EQ(measured_at(10), measured_at(0.001));
}

TEST_F(PrecisionOf, AKeptChoiceIsFollowed) {
    Worker worker = start_worker();
    FakeHost host;
    run_trial(small_run(in("auto"), 1), worker.context, host);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
        if (entry.is_regular_file()) std::ofstream(entry.path()) << "bfloat16\n";
    EXPECT_EQ(curve(in("auto")), curve(in("bfloat16")));
}

/// Another device: `auto` has another choice there.
TEST_F(PrecisionOf, AResumedAutoTrialKeepsThePrecisionOfItsCheckpoint) {
    const hpo::testing::TemporaryFolder checkpoints, elsewhere;
    FakeHost whole, first, fresh, second, next;
    Worker worker = start_worker();
    auto run = small_run(in("auto"), 4);
    ASSERT_EQ(run_trial(run, worker.context, whole).outcome, Outcome::complete);
    run.folder = checkpoints / "trial";
    first.on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    run_trial(run, worker.context, first);
    ASSERT_THAT(first.logged, HasSubstr("precision=float32"));

    Worker other("opencl", elsewhere.path());
    const auto choose_bfloat16 = [&] {
        run_trial(small_run(in("auto"), 1), other.context, fresh);
        for (const auto& entry : std::filesystem::directory_iterator(elsewhere.path()))
            std::ofstream(entry.path()) << "bfloat16\n";
        other.context.precisions = PrecisionChoices(elsewhere.path());
    };
    choose_bfloat16();
    run.resume = true;
    ASSERT_EQ(run_trial(run, other.context, second).outcome, Outcome::complete);
    EXPECT_EQ(second.from_step, 2) << second.logged;
    EXPECT_THAT(second.logged, HasSubstr("precision=float32"));
    EXPECT_EQ(second.reports.back().metrics, whole.reports.back().metrics);
    // The next trial of this worker that starts from the beginning follows the choice of its device.
    ASSERT_EQ(run_trial(small_run(in("auto"), 1), other.context, next).outcome, Outcome::complete);
    EXPECT_THAT(next.logged, HasSubstr("precision=bfloat16"));
}

TEST_F(PrecisionOf, TrialsOfAutoShareAGroupOnlyInOnePrecision) {
    const hpo::testing::TemporaryFolder checkpoints;
    FakeHost first, resumed;
    Worker worker = start_worker();
    auto run = small_run(in("auto"), 4);
    run.folder = checkpoints / "trial";
    first.on_report = [](const Report&) { return Action::pause; };
    run_trial(run, worker.context, first);  // in float32
    run.resume = true;
    const auto fresh = small_run(in("auto"), 1);
    const auto accepts = [&](const to_worker::Run& member, const to_worker::Run& joining) {
        TrialGroup group(worker.context, [](const from_worker::Finished&) {});
        group.add(member, resumed);
        return group.accepts(joining);
    };
    EXPECT_TRUE(accepts(run, fresh));
    EXPECT_TRUE(accepts(fresh, run));
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
        std::ofstream(entry.path()) << "bfloat16\n";
    worker.context.precisions = PrecisionChoices(folder_.path());
    EXPECT_FALSE(accepts(run, fresh));
    EXPECT_FALSE(accepts(fresh, run));
}

}  // namespace
}  // namespace hpo
