// The cores and the environment variables of a script: those set by hpo, those set by the study, and their report.
#include <gmock/gmock.h>

#include "orchestrator/engine/workers.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct ScriptEnvironment : ::testing::Test {
    Study study;
    WorkerPlan plan{2, 2, {{0, 1, 2, 5}, {6}}};
    Target target;

    ScriptEnvironment() { study.worker = ScriptWorker{.command = {"train"}}; }
    [[nodiscard]] LaunchSpec launch(WorkerIndex index = 0) const {
        return worker_launch(study, {"/bin/hpo", "/bin/worker", "/share"}, plan, index, target);
    }
};

TEST_F(ScriptEnvironment, FollowsTheCoresOfItsPlaceAndIsTold) {
    EXPECT_EQ(launch().environment.at("OMP_NUM_THREADS"), "4");
    EXPECT_EQ(launch().cpus, plan.cpus[0]);
    EXPECT_THAT(launch().description, HasSubstr("cores 0-2, 5\n"));
    EXPECT_THAT(launch().description, HasSubstr("MKL_NUM_THREADS, NUMBA_NUM_THREADS"));
    EXPECT_EQ(launch(1).environment.at("OMP_NUM_THREADS"), "1");
    EXPECT_THAT(launch(1).description, HasSubstr("cores 6\n"));
    EXPECT_FALSE(launch().environment.contains("CUDA_VISIBLE_DEVICES")) << "a script sees what there is";
}

TEST_F(ScriptEnvironment, HasNoMoreThreadsThanTheQuotaOfItsControlGroupHasCores) {
    Host host;
    for (int cpu = 0; cpu < 64; ++cpu) host.cpus.push_back(cpu);
    const auto threads_with = [&](double quota) {
        host.cores = quota;
        plan = plan_workers(study, host);
        return launch().environment.at("OMP_NUM_THREADS");
    };
    EXPECT_EQ(threads_with(1), "1");
    EXPECT_EQ(plan.start, 1);
    EXPECT_EQ(plan.workers, 16) << "a quarter of the budget, if their throughput says so";
    study.resources.parallel = 1;
    EXPECT_EQ(threads_with(1), "1");
    EXPECT_EQ(threads_with(6.5), "6");
    EXPECT_EQ(threads_with(64), "64");
    study.resources.parallel = 16;
    EXPECT_EQ(threads_with(8), "1") << "half a core each";
    EXPECT_EQ(threads_with(64), "4");
}

TEST_F(ScriptEnvironment, IsNotPinnedWhereTheNumberOfTrialsAtOnceIsSearched) {
    Host host;
    for (int cpu = 0; cpu < 4; ++cpu) host.cpus.push_back(cpu);
    host.cores = 4;
    plan = plan_workers(study, host);
    EXPECT_EQ(plan.start, 4);
    EXPECT_TRUE(launch().cpus.empty());
    EXPECT_EQ(launch().environment.at("OMP_NUM_THREADS"), "1");
    study.resources.trial.cores = 2;
    plan = plan_workers(study, host);
    EXPECT_EQ(plan.workers, 2) << "each has the cores that it declares";
    EXPECT_EQ(launch(1).cpus, (std::vector<int>{2, 3}));
    EXPECT_EQ(launch(1).environment.at("OMP_NUM_THREADS"), "2");
}

TEST_F(ScriptEnvironment, HasTheCoresOfATrialForAllItsProcesses) {
    Host host;
    for (int cpu = 0; cpu < 16; ++cpu) host.cpus.push_back(cpu);
    host.cores = 16;
    study.resources.trial.processes = 4;
    plan = plan_workers(study, host);
    EXPECT_EQ(plan.workers, 4) << "a core for each process, and no search for more";
    EXPECT_EQ(launch(1).cpus, (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(launch(1).environment.at("OMP_NUM_THREADS"), "1") << "of each process";
    EXPECT_EQ(launch(1).command.at(1), "__script") << "the adapter starts them";
    EXPECT_THAT(launch(1).description, Mentions("4 processes", "RANK"));
    study.resources.trial.cores = 2;
    plan = plan_workers(study, host);
    EXPECT_EQ(plan.workers, 2);
    EXPECT_EQ(launch(1).environment.at("OMP_NUM_THREADS"), "2");
    host.processes = 40;
    EXPECT_EQ(plan_workers(study, host).workers, 1);
}

TEST_F(ScriptEnvironment, ThereAreNoMorePlacesThanALimitOnProcessesHasRoomFor) {
    Host host;
    for (int cpu = 0; cpu < 64; ++cpu) host.cpus.push_back(cpu);
    host.cores = 64;
    host.processes = 100;
    EXPECT_EQ(plan_workers(study, host).workers, 12);
    host.processes = 3;
    EXPECT_EQ(plan_workers(study, host).workers, 1);
    study.resources.parallel = 20;
    EXPECT_EQ(plan_workers(study, host).workers, 20) << "said by the study";
}

TEST_F(ScriptEnvironment, ThatCoresKeepFewerTrialsAtOnceThanTheStudyAsksForIsSaidWithTheCure) {
    Host host;
    host.cores = 2;
    study.budget.trials = 500;
    EXPECT_EQ(fewer_than_asked(study, host), "") << "found by throughput";
    study.resources.parallel = 200;
    EXPECT_THAT(fewer_than_asked(study, host), MentionsInOrder("resources.parallel", "200", "2 trials", "1 of 2 cores",
                                                               "resources.trial: {cores: 0.01}", "200"));
    study.resources.trial.cores = 0.01;
    EXPECT_EQ(fewer_than_asked(study, host), "");
    study.resources.trial.cores = 3;
    study.budget.trials = 7;
    EXPECT_THAT(fewer_than_asked(study, host), MentionsInOrder("resources.parallel", "200", "1 trial", "3 of 2 cores",
                                                               "resources.trial: {cores: 0.28}", "7"));
    study.resources.parallel = 1;
    EXPECT_EQ(fewer_than_asked(study, host), "");
    study.resources.parallel = 200;
    study.worker = NativeWorker{};
    EXPECT_EQ(fewer_than_asked(study, host), "") << "a native trial needs a core";
}

TEST_F(ScriptEnvironment, OfAGpuNamesItByItsIdAndKeepsFrameworksFromTakingAllOfIt) {
    target = {"cuda", "GPU-8f6c", {}};
    EXPECT_EQ(launch().environment.at("CUDA_VISIBLE_DEVICES"), "GPU-8f6c");
    EXPECT_THAT(launch().description, HasSubstr("XLA_PYTHON_CLIENT_PREALLOCATE = false"));
    study.script()->environment.tuned = false;
    EXPECT_EQ(launch().environment.at("CUDA_VISIBLE_DEVICES"), "GPU-8f6c");
    EXPECT_EQ(launch().description, "CUDA_VISIBLE_DEVICES = GPU-8f6c");
    EXPECT_TRUE(launch().cpus.empty());
}

TEST_F(ScriptEnvironment, OfTheStudyWinsAndItsValuesAreNotRepeated) {
    study.script()->environment.own = {{"OMP_NUM_THREADS", "3"},
                                       {"API_KEY", "secret"},
                                       {"MALLOC_TRIM_THRESHOLD_", std::nullopt},
                                       {"PYTHONPATH", "/mine"}};
    const LaunchSpec spec = launch();
    EXPECT_EQ(spec.environment.at("OMP_NUM_THREADS"), "3");
    EXPECT_EQ(spec.environment.at("API_KEY"), "secret");
    EXPECT_FALSE(spec.environment.contains("MALLOC_TRIM_THRESHOLD_"));
    EXPECT_EQ(spec.environment.at("PYTHONPATH"), "/share:/mine");
    EXPECT_THAT(spec.description, Mentions("API_KEY, MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS, PYTHONPATH"));
    EXPECT_THAT(spec.description, Not(HasSubstr("secret")));
}

TEST(MetalLimits, AreSharesOfWhatTheGpuMayUse) {
    constexpr std::int64_t gib = std::int64_t{1} << 30;
    using Variables = std::map<std::string, std::string>;
    const auto limits = [](std::int64_t reserved, std::int64_t processes, std::int64_t metal) {
        return metal_limits(reserved, processes, metal);
    };
    EXPECT_EQ(limits(3 * gib, 1, 12 * gib), (Variables{{"PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.2500"},
                                                       {"PYTORCH_MPS_LOW_WATERMARK_RATIO", "0.2000"}}));
    EXPECT_EQ(limits(3 * gib, 2, 12 * gib).at("PYTORCH_MPS_HIGH_WATERMARK_RATIO"), "0.1250");
    EXPECT_EQ(limits(gib, 1, 3 * gib).at("PYTORCH_MPS_HIGH_WATERMARK_RATIO"), "0.3334") << "not less than reserved";
    EXPECT_EQ(limits(1, 1, 12 * gib).at("PYTORCH_MPS_HIGH_WATERMARK_RATIO"), "0.0001") << "0 would mean none";
    EXPECT_EQ(limits(20 * gib, 1, 12 * gib).at("PYTORCH_MPS_HIGH_WATERMARK_RATIO"), "1.0000");
    EXPECT_TRUE(limits(0, 1, 12 * gib).empty()) << "no reservation";
    EXPECT_TRUE(limits(gib, 1, 0).empty()) << "no GPU of Apple";
}

TEST_F(ScriptEnvironment, KeepsPyTorchOnMetalWithinTheReservationUnlessTheStudySaysOtherwise) {
    constexpr const char* limit = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
    target = {.backend = "metal", .metal = std::int64_t{8} << 30};
    EXPECT_FALSE(launch().environment.contains(limit));
    study.resources.trial.device_bytes = std::int64_t{2} << 30;
    EXPECT_EQ(launch().environment.at(limit), "0.2500");
    EXPECT_THAT(launch().description, HasSubstr(std::string(limit) + " = 0.2500"));
    std::get<ScriptWorker>(study.worker).environment.own[limit] = "0.0";
    EXPECT_EQ(launch().environment.at(limit), "0.0");
    target = {};
    std::get<ScriptWorker>(study.worker).environment.own.clear();
    EXPECT_FALSE(launch().environment.contains(limit));
}

}  // namespace
}  // namespace hpo
