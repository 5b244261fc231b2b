// The real hpo-worker on a GPU backend: on PoCL, which computes on the CPU what OpenCL would on a GPU, and before
// drivers that fail.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "tests/e2e/worker/worker.hpp"

namespace hpo {
namespace {

using test::endless;
using test::params;
using test::run_of;
using test::Worker;
using test::WorkerProcess;
using ::testing::HasSubstr;
using to_worker::Action;
using Variables = std::vector<std::string>;

/// PoCL alone, with the driver's failures `asked` for.
Variables pocl(const Variables& asked = {}) {
    Variables all{"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd"};
    if (!asked.empty()) all.emplace_back("LD_LIBRARY_PATH=" FAKE_OPENCL);
    all.insert(all.end(), asked.begin(), asked.end());
    return all;
}

struct OpenClWorker : Worker {
    explicit OpenClWorker(const Variables& asked = {}, double alive_every = 5)
        : Worker(alive_every, {"--backend", "opencl"}, pocl(asked)) {}
};

from_worker::PlanAnswer plan_of(Worker& worker, const Params& of) {
    worker.send(to_worker::Plan{1, of, 1, 5});
    return worker.expect<from_worker::PlanAnswer>();
}

TEST(OpenClWorker, SaysWhatItComputesOn) {
    OpenClWorker worker;
    EXPECT_EQ(worker.hello.backend, "opencl");
    EXPECT_EQ(worker.complete(run_of(1, 1)).outcome, Outcome::complete);
    EXPECT_THAT(worker.output(), HasSubstr("opencl, "));
}

TEST(OpenClWorker, IsChosenByTheEnvironmentToo) {
    Variables variables = pocl();
    variables.emplace_back("HPO_BACKEND=opencl");
    EXPECT_EQ(Worker(5, {}, variables).hello.backend, "opencl");
    EXPECT_EQ(Worker(5, {"--backend", "cpu"}, variables).hello.backend, "cpu");
}

TEST(OpenClWorker, TrainsATrialToItsEnd) {
    const hpo::testing::TemporaryFolder folder;
    OpenClWorker worker;
    to_worker::Run run = run_of(1, 4);
    run.folder = folder / "checkpoints";
    run.test = true;
    run.save = folder / "model.safetensors";
    const auto finished = worker.complete(run);
    EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
    ASSERT_EQ(worker.reports.size(), 4U);
    EXPECT_GT(worker.reports[3].metrics.at("val_accuracy"), 0.9);
    EXPECT_GT(finished.values.at("test_accuracy"), 0.9);
    for (const std::string& file : {run.folder + "/last.ckpt", run.folder + "/best.ckpt", run.save})
        EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

TEST(OpenClWorker, APausedTrialGoesOnInAnotherWorkerWithTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    to_worker::Run run = run_of(1, 5);
    OpenClWorker first;
    ASSERT_EQ(first.complete(run).outcome, Outcome::complete);
    const auto whole = first.reports;
    run.folder = folder / "checkpoints";
    first.send(run);
    first.follow(run.id, [](auto step) { return step == 3 ? Action::pause : Action::go_on; });
    OpenClWorker second;
    run.id.attempt = 2;
    run.resume = true;
    EXPECT_EQ(second.complete(run).outcome, Outcome::complete);
    ASSERT_EQ(second.reports.size(), 2U);
    EXPECT_EQ(second.reports[0].metrics, whole[3].metrics);
    EXPECT_EQ(second.reports[1].metrics, whole[4].metrics);
}

/// What both draw is the same; what differs is the order in which sums are taken.
TEST(OpenClWorker, ItsCurvesAgreeWithTheCpus) {
    const Params kinds[] = {
        params(),
        params({{"activation", std::string("gelu")}, {"norm", std::string("layer")}, {"label_smoothing", 0.1}}),
        params({{"activation", std::string("silu")}, {"accumulation", std::int64_t{2}}, {"clip", 1.0}}),
        params({{"optimizer", std::string("sgd")}, {"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 1e-3}}),
    };
    Worker cpu;
    OpenClWorker opencl;
    std::int64_t trial = 0;
    for (const Params& kind : kinds) {
        const to_worker::Run run = run_of(++trial, 5, kind);
        ASSERT_EQ(cpu.complete(run).outcome, Outcome::complete);
        ASSERT_EQ(opencl.complete(run).outcome, Outcome::complete);
        for (std::size_t step = 0; step < 5; ++step)
            for (const char* metric : {"loss", "val_loss"}) {
                const double a = cpu.reports[step].metrics.at(metric);
                const double b = opencl.reports[step].metrics.at(metric);
                EXPECT_NEAR(a, b, 1e-5 * a) << "kind " << trial << ", step " << step + 1 << ", " << metric;
            }
    }
}

TEST(OpenClWorker, PlansItsMemoryToTheByteAndGoesOnAfterATrialThatDoesNotFit) {
    const Params large = params({{"hidden", std::vector<std::int64_t>{512, 256}}, {"batch_size", std::int64_t{256}}});
    OpenClWorker any;
    const auto answer = plan_of(any, large);
    EXPECT_EQ(answer.error, "");
    const std::int64_t needed = answer.footprint.device_bytes;
    EXPECT_GT(needed, answer.arena_bytes + 1000 * 20 * 4);
    EXPECT_GT(answer.footprint.host_bytes, needed) << "PoCL's memory is the host's";

    OpenClWorker exact({"FAKE_OPENCL_MEMORY=" + std::to_string(needed)});
    EXPECT_EQ(exact.complete(run_of(1, 1)).outcome, Outcome::complete);
    EXPECT_EQ(exact.complete(run_of(2, 1, large)).outcome, Outcome::complete);

    OpenClWorker less({"FAKE_OPENCL_MEMORY=" + std::to_string(needed - 1)});
    const auto failed = less.complete(run_of(1, 1, large));
    EXPECT_EQ(failed.outcome, Outcome::out_of_memory) << failed.message;
    EXPECT_EQ(less.complete(run_of(2, 1)).outcome, Outcome::complete);
}

TEST(OpenClWorker, ThePlanIsAnUpperBoundOfWhatATrialTakesOfTheHost) {
    const Params large = params({{"samples", std::int64_t{3000}},
                                 {"features", std::int64_t{200}},
                                 {"hidden", std::vector<std::int64_t>{1000, 500}},
                                 {"norm", std::string("layer")},
                                 {"activation", std::string("gelu")},
                                 {"batch_size", std::int64_t{2048}}});
    OpenClWorker worker;
    const auto answer = plan_of(worker, large);
    worker.complete(run_of(1, 1, large));
    ASSERT_EQ(worker.reports.size(), 1U);
#ifdef NDEBUG  // a sanitizer's own memory is in no plan
    EXPECT_LE(worker.reports[0].peak_bytes.value(), answer.footprint.host_bytes);
#endif
}

TEST(OpenClWorker, ADriverThatRefusesMemoryIsOutOfMemoryInWords) {
    OpenClWorker worker({"FAKE_OPENCL_GIVES=1000000"});
    const auto failed = worker.complete(run_of(1, 1, params({{"hidden", std::vector<std::int64_t>{1000}}})));
    EXPECT_EQ(failed.outcome, Outcome::out_of_memory);
    EXPECT_THAT(failed.message, HasSubstr("not enough memory on "));
    EXPECT_THAT(failed.message, HasSubstr("OpenCL error -4"));
    EXPECT_EQ(worker.complete(run_of(2, 1)).outcome, Outcome::complete);
}

TEST(OpenClWorker, ADeviceThatFailsInTheMiddleEndsTheWorkerWithItsWords) {
    OpenClWorker worker({"FAKE_OPENCL_LAUNCHES=1000"}, 0.01);
    worker.send(run_of(1, 5, endless()));
    worker.expect<from_worker::Started>();
    EXPECT_EQ(worker.wait(), 1);
    EXPECT_THAT(worker.output(), HasSubstr(" failed: "));
    EXPECT_THAT(worker.output(), HasSubstr("OpenCL error -5"));
}

TEST(OpenClWorker, StopsInTheMiddleOfAStep) {
    OpenClWorker worker({}, 0.01);
    worker.send(run_of(1, 5, endless()));
    worker.expect<from_worker::Started>();
    worker.wait_alive("training");
    worker.send(to_worker::Stop{{1, 1}});
    EXPECT_EQ(worker.expect<from_worker::Finished>().outcome, Outcome::stopped);
    EXPECT_EQ(worker.complete(run_of(2, 1)).outcome, Outcome::complete);
}

struct Refusal {
    Variables arguments;
    Variables variables;
    int status;
    const char* words;
};

TEST(GpuWorker, SaysWhyItCannotComputeOnWhatItIsToldTo) {
    const std::string cuda = "LD_LIBRARY_PATH=" FAKE_CUDA;
    const Refusal refusals[] = {
        {{"--backend", "opencl", "--device", "7"}, pocl(), 1, "there is no OpenCL device 7: they are numbered 0 to 0"},
        {{"--backend", "opencl"}, {"OCL_ICD_VENDORS=/nowhere"}, 1, "OpenCL finds no device"},
        {{"--backend", "cuda"}, {cuda, "FAKE_CUDA_INIT=100"}, 1, "the CUDA driver finds no device"},
        {{"--backend", "cuda"}, {cuda, "FAKE_CUDA_VERSION=13000"}, 1, "the CUDA driver finds no device"},
        {{"--backend", "cuda"}, {cuda, "FAKE_CUDA_VERSION=10020"}, 1, "is for CUDA 10.2; 11.2 or later is needed"},
        {{"--backend", "cuda"}, {cuda, "FAKE_CUDA_INIT=803"}, 1, "CUDA error 803, as the test asked"},
        {{"--backend", "cpu", "--device", "1"}, {}, 1, "the backend cpu has no devices to choose from"},
        {{"--backend", "abacus"}, {}, 1, "there is no backend abacus: it is auto, cpu, cuda or opencl"},
        {{"--backend", "opencl", "--device", "GPU"}, {}, 2, "device: GPU is not a number"},
    };
    for (const Refusal& refusal : refusals) {
        WorkerProcess worker(refusal.arguments, {}, refusal.variables);
        EXPECT_EQ(worker.wait(), refusal.status) << refusal.words;
        EXPECT_THAT(worker.output(), HasSubstr(refusal.words));
    }
}

TEST(GpuWorker, AutoTakesNoCpuInTheGuiseOfOpenCl) {
    Variables variables = pocl();
    variables.insert(variables.end(), {"LD_LIBRARY_PATH=" FAKE_CUDA, "FAKE_CUDA_INIT=100"});
    EXPECT_EQ(Worker(5, {"--backend", "auto"}, variables).hello.backend, "cpu");
}

}  // namespace
}  // namespace hpo
