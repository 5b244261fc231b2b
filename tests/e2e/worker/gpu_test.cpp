// The real hpo-worker on GPU backends: on PoCL, which runs OpenCL on the CPU, on a simulated CUDA device, and with
// drivers that fail.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "tests/e2e/worker/worker.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"

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

/// A backend whose driver fails on request (tests/support/fake_cuda/cuda.cpp, tests/support/fake_opencl/opencl.cpp).
struct Backend {
    const char* name;
    const char* prefix;  ///< of the environment variables that request failures
    Variables variables;
    const char* device;  ///< the device's name in its log
    const char* lost;    ///< its message about a failed device
};
const Backend pocl{"opencl",
                   "FAKE_OPENCL_",
                   {"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd", "LD_LIBRARY_PATH=" + test::fake_folder("opencl")},
                   "opencl, ",
                   "OpenCL error -5"};
const Backend cuda{
    "cuda",
    "FAKE_CUDA_",
    {"LD_LIBRARY_PATH=" + test::fake_folder("cuda"), "XDG_CACHE_HOME=" + test::fake_folder("cuda") + "/cache"},
    "cuda, fake CUDA device, cuBLAS",
    "CUDA error 719"};

void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

Variables with(const Backend& backend, const Variables& requests, const Variables& more = {}) {
    Variables all = backend.variables;
    all.insert(all.end(), more.begin(), more.end());
    for (const std::string& request : requests) all.push_back(backend.prefix + request);
    return all;
}

/// Opens a FIFO for writing as soon as it has a reader, and closes it in the destructor.
struct WhenRead {
    explicit WhenRead(const std::string& fifo) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(test::deadline);
        while ((descriptor = ::open(fifo.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
            if (std::chrono::steady_clock::now() > until) throw std::runtime_error("nobody reads " + fifo);
            ::usleep(1000);
        }
    }
    ~WhenRead() { ::close(descriptor); }
    WhenRead(const WhenRead&) = delete;
    WhenRead& operator=(const WhenRead&) = delete;
    int descriptor;
};

struct GpuWorker : Worker {
    explicit GpuWorker(const Backend& backend, const Variables& requests = {}, double alive_every = 5)
        : Worker(alive_every, {"--backend", backend.name}, with(backend, requests)) {}
};

class OnGpu : public ::testing::TestWithParam<Backend> {
   protected:
    [[nodiscard]] const Backend& backend() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Backends, OnGpu, ::testing::Values(pocl, cuda),
                         [](const auto& one) { return std::string(one.param.name); });

from_worker::PlanAnswer plan_of(Worker& worker, const Params& of) {
    worker.send(to_worker::Plan{1, of, 1, 5});
    return worker.expect<from_worker::PlanAnswer>();
}

TEST_P(OnGpu, ReportsItsDevice) {
    GpuWorker worker(backend());
    EXPECT_EQ(worker.hello.backend, backend().name);
    EXPECT_EQ(worker.complete(run_of(1, 1)).outcome, Outcome::complete);
    EXPECT_THAT(worker.output(), HasSubstr(backend().device));
}

/// The orchestrator expects hello within seconds of the connection, but a driver's first product may take longer.
TEST(OnCuda, MeasuresItselfBeforeItConnects) {
    const hpo::testing::TemporaryFolder folder;
    const std::string fifo = folder / "fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    WorkerProcess worker({"--backend", "cuda"}, {}, with(cuda, {"WAITS=" + fifo}));
    {
        const WhenRead first_graph(fifo);
        EXPECT_FALSE(worker.connects());
    }
    worker.accept();
    EXPECT_EQ(worker.expect<from_worker::Hello>().backend, "cuda");
}

TEST_P(OnGpu, CanBeChosenByTheEnvironment) {
    Variables variables = backend().variables;
    variables.push_back("HPO_BACKEND=" + std::string(backend().name));
    EXPECT_EQ(Worker(5, {}, variables).hello.backend, backend().name);
    EXPECT_EQ(Worker(5, {"--backend", "cpu"}, variables).hello.backend, "cpu");
}

TEST_P(OnGpu, TrainsATrialToItsEnd) {
    const hpo::testing::TemporaryFolder folder;
    GpuWorker worker(backend());
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

TEST_P(OnGpu, APausedTrialResumesInAnotherWorkerWithTheSameBits) {
    const hpo::testing::TemporaryFolder folder;
    to_worker::Run run = run_of(1, 5);
    GpuWorker first(backend());
    ASSERT_EQ(first.complete(run).outcome, Outcome::complete);
    const auto whole = first.reports;
    run.folder = folder / "checkpoints";
    first.send(run);
    first.follow(run.id, [](auto step) { return step == 3 ? Action::pause : Action::go_on; });
    GpuWorker second(backend());
    run.id.attempt = 2;
    run.resume = true;
    EXPECT_EQ(second.complete(run).outcome, Outcome::complete);
    ASSERT_EQ(second.reports.size(), 2U);
    EXPECT_EQ(second.reports[0].metrics, whole[3].metrics);
    EXPECT_EQ(second.reports[1].metrics, whole[4].metrics);
}

TEST(OnCuda, ADeviceWithoutGraphsTrainsToTheSameBits) {
    GpuWorker graphs(cuda), none(cuda, {"GRAPHS=0"});
    ASSERT_EQ(graphs.complete(run_of(1, 3)).outcome, Outcome::complete);
    ASSERT_EQ(none.complete(run_of(1, 3)).outcome, Outcome::complete);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(graphs.reports[i].metrics, none.reports[i].metrics);
}

TEST(OnCuda, DataLargerThanHalfTheDeviceIsStaged) {
    GpuWorker worker(cuda, {"MEMORY=134217728"});
    const Params samples{{"samples", std::int64_t{100'000}}, {"features", std::int64_t{160}}};
    const auto staged = plan_of(worker, params(samples));
    ASSERT_EQ(staged.error, "");
    EXPECT_GT(staged.data_bytes, 64 << 20);
    EXPECT_LT(staged.footprint.device_bytes, 48 << 20);
    EXPECT_GT(staged.footprint.host_bytes, staged.data_bytes);
    Params asked = params(samples);
    asked["placement"] = std::string("device");
    EXPECT_GT(plan_of(worker, asked).footprint.device_bytes, staged.data_bytes);
    EXPECT_LT(plan_of(worker, params()).footprint.host_bytes, staged.footprint.host_bytes - staged.data_bytes / 2);
}

TEST_P(OnGpu, StagedDataTrainsToTheSameBits) {
    GpuWorker worker(backend());
    ASSERT_EQ(worker.complete(run_of(1, 3)).outcome, Outcome::complete);
    const auto resident = worker.reports;
    to_worker::Run run = run_of(2, 3);
    run.params["placement"] = std::string("staged");
    ASSERT_EQ(worker.complete(run).outcome, Outcome::complete);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(worker.reports[i].metrics, resident[i].metrics);
}

/// Both draw the same random numbers. Only the order of sums differs.
TEST_P(OnGpu, ItsCurvesAgreeWithTheCpus) {
    const Params kinds[] = {
        params(),
        params({{"activation", std::string("gelu")}, {"norm", std::string("layer")}, {"label_smoothing", 0.1}}),
        params({{"activation", std::string("silu")}, {"accumulation", std::int64_t{2}}, {"clip", 1.0}}),
        params({{"optimizer", std::string("sgd")}, {"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 1e-3}}),
    };
    Worker cpu;
    GpuWorker gpu(backend());
    std::int64_t trial = 0;
    for (const Params& kind : kinds) {
        const to_worker::Run run = run_of(++trial, 5, kind);
        ASSERT_EQ(cpu.complete(run).outcome, Outcome::complete);
        ASSERT_EQ(gpu.complete(run).outcome, Outcome::complete);
        for (std::size_t step = 0; step < 5; ++step)
            for (const char* metric : {"loss", "val_loss"}) {
                const double a = cpu.reports[step].metrics.at(metric);
                const double b = gpu.reports[step].metrics.at(metric);
                EXPECT_NEAR(a, b, 1e-5 * a) << "kind " << trial << ", step " << step + 1 << ", " << metric;
            }
    }
}

TEST_P(OnGpu, PlansItsMemoryToTheByteAndSurvivesATrialThatDoesNotFit) {
    const Params large = params({{"hidden", std::vector<std::int64_t>{512, 256}}, {"batch_size", std::int64_t{256}}});
    GpuWorker any(backend());
    const auto answer = plan_of(any, large);
    EXPECT_EQ(answer.error, "");
    const std::int64_t needed = answer.footprint.device_bytes;
    EXPECT_GT(needed, answer.arena_bytes + 1000 * 20 * 4);
    const std::int64_t on_host = answer.footprint.host_bytes - plan_of(any, params()).footprint.host_bytes;
    const std::int64_t on_device = needed - plan_of(any, params()).footprint.device_bytes;
    EXPECT_EQ(on_host > on_device, std::string("opencl") == backend().name) << "PoCL's memory is the host's as well";

    GpuWorker exact(backend(), {"MEMORY=" + std::to_string(needed)});
    EXPECT_EQ(exact.complete(run_of(1, 1)).outcome, Outcome::complete);
    EXPECT_EQ(exact.complete(run_of(2, 1, large)).outcome, Outcome::complete);

    GpuWorker less(backend(), {"MEMORY=" + std::to_string(needed - 1)});
    const auto failed = less.complete(run_of(1, 1, large));
    EXPECT_EQ(failed.outcome, Outcome::out_of_memory) << failed.message;
    EXPECT_EQ(less.complete(run_of(2, 1)).outcome, Outcome::complete);
}

TEST(OpenCl, ABufferAboveTheDevicesLimitIsRefusedInThePlanOrStaged) {
    GpuWorker worker(pocl, {"PIECE=8000000"});
    EXPECT_EQ(plan_of(worker, params()).error, "");
    EXPECT_THAT(plan_of(worker, params({{"hidden", std::vector<std::int64_t>{2048, 2048}}})).error,
                Mentions("piece", "device"));
    Params samples = params({{"samples", std::int64_t{100'000}}, {"features", std::int64_t{160}}});
    const auto staged = plan_of(worker, samples);
    EXPECT_EQ(staged.error, "");
    EXPECT_LT(staged.footprint.device_bytes, staged.data_bytes);
    samples["placement"] = std::string("device");
    EXPECT_THAT(plan_of(worker, samples).error, HasSubstr("data.placement: staged"));
}

/// Drivers load code and allocate workspaces on first use, while other programs come and go.
TEST(OnCuda, CountsTheDriversReadingOfThisProcessAfterItsFirstUpdates) {
    const hpo::testing::TemporaryFolder folder;
    const std::string fifo = folder / "fifo", script = folder / "script";
    const auto device_says = [&](const std::string& of_processes) {
        std::ofstream(script) << "device GPU-1 8GiB Fake\nprocess GPU-1 1 6GiB\n" << of_processes;
    };
    const auto planned = [&](std::int64_t own_mebibytes) {
        std::filesystem::remove(fifo);
        EXPECT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
        device_says("");
        WorkerProcess worker(
            {"--backend", "cuda"}, {},
            with(cuda, {"WAITS=" + fifo, "MEMORY=8589934592"},
                 {"HPO_NVML_LIBRARY=" + hpo::testing::build_folder() + "/tests/support/libfake-nvml.so",
                  "FAKE_NVML=" + script}));
        {
            const WhenRead first_graph(fifo);
            device_says("process GPU-1 " + std::to_string(worker.pid()) + " " + std::to_string(own_mebibytes) +
                        "MiB\n");
        }
        worker.accept();
        worker.expect<from_worker::Hello>();
        worker.send(to_worker::Welcome{protocol_version, 5});
        worker.send(to_worker::Plan{1, params(), 1, 5});
        return worker.expect<from_worker::PlanAnswer>().footprint.device_bytes;
    };
    const std::int64_t with_500 = planned(500);
    EXPECT_EQ(planned(700) - with_500, std::int64_t{200} << 20);
    EXPECT_EQ(planned(3500) - with_500, std::int64_t{3000} << 20) << "the driver tells whose it is";
}

TEST(OpenCl, ThePlanIsAnUpperBoundOfATrialsHostMemory) {
    const Params large = params({{"samples", std::int64_t{3000}},
                                 {"features", std::int64_t{200}},
                                 {"hidden", std::vector<std::int64_t>{1000, 500}},
                                 {"norm", std::string("layer")},
                                 {"activation", std::string("gelu")},
                                 {"batch_size", std::int64_t{1024}},
                                 {"eval_every", std::int64_t{1}}});
    {  // The very first time, a driver compiles in the process, with memory that is in no plan, and keeps the result.
        GpuWorker first(pocl);
        first.complete(run_of(1, 1, large));
    }
    GpuWorker worker(pocl);
    const auto answer = plan_of(worker, large);
    worker.complete(run_of(1, 1, large));
    ASSERT_EQ(worker.reports.size(), 1U);
#ifdef NDEBUG  // a sanitizer's own memory is in no plan
    EXPECT_LE(worker.reports[0].peak_bytes.value(), answer.footprint.host_bytes);
#endif
}

TEST(Cuda, MicroBatchesShrinkWhileAnotherProgramTakesMemory) {
    const hpo::testing::TemporaryFolder folder;
    const std::string file = folder / "others";
    const auto others_take = [&](std::int64_t bytes) { std::ofstream(file) << bytes; };
    others_take(0);
    GpuWorker worker(cuda, {"OTHERS=" + file});
    const to_worker::Run run = run_of(1, 30, params({{"samples", std::int64_t{300}}}));
    worker.send(run);
    const auto finished = worker.follow(run.id, [&](std::int64_t step) {
        if (step == 5) others_take(std::int64_t{1} << 30);
        if (step == 15) others_take(0);
        return Action::go_on;
    });
    EXPECT_EQ(finished.outcome, Outcome::complete) << finished.message;
    ASSERT_EQ(worker.reports.size(), 30U);
    EXPECT_FALSE(worker.reports[4].micro_batch);
    ASSERT_TRUE(worker.reports[14].micro_batch);
    EXPECT_LT(*worker.reports[14].micro_batch, 50);
    EXPECT_FALSE(worker.reports[29].micro_batch) << "all of it is there again";
    EXPECT_THAT(worker.output(), Mentions("%", "of 51 samples", "instead of 64"));

    GpuWorker undisturbed(cuda);
    ASSERT_EQ(undisturbed.complete(run).outcome, Outcome::complete);
    for (std::size_t step = 0; step < 30; ++step) {
        const double wanted = undisturbed.reports[step].metrics.at("val_loss");
        EXPECT_NEAR(worker.reports[step].metrics.at("val_loss"), wanted, 1e-3 * wanted) << step;
    }
}

TEST(OpenCl, ADriverThatRefusesMemoryLeadsToOutOfMemoryWithItsError) {
    GpuWorker worker(pocl, {"GIVES=1000000"});
    const auto failed = worker.complete(run_of(1, 1, params({{"hidden", std::vector<std::int64_t>{1000}}})));
    EXPECT_EQ(failed.outcome, Outcome::out_of_memory);
    EXPECT_THAT(failed.message, Mentions("enough", "memory"));
    EXPECT_THAT(failed.message, HasSubstr("OpenCL error -4"));
    EXPECT_EQ(worker.complete(run_of(2, 1)).outcome, Outcome::complete);
}

TEST_P(OnGpu, ADeviceThatFailsDuringTrainingEndsTheWorkerWithItsError) {
    GpuWorker worker(backend(), {"LAUNCHES=1000"}, 0.01);
    worker.send(run_of(1, 5, endless()));
    worker.expect<from_worker::Started>();
    EXPECT_EQ(worker.wait(), device_failed_status);
    EXPECT_THAT(worker.output(), HasSubstr(" failed: "));
    EXPECT_THAT(worker.output(), HasSubstr(backend().lost));
}

TEST_P(OnGpu, StopsWithinAStep) {
    GpuWorker worker(backend(), {}, 0.01);
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
    const char* message;
};

TEST(GpuBackends, GiveTheReasonIfTheyCannotUseADevice) {
    const Refusal refusals[] = {
        {{"--backend", "opencl", "--device", "7"},
         pocl.variables,
         1,
         "there is no OpenCL device 7: they are numbered 0 to 0"},
        {{"--backend", "opencl"}, {"OCL_ICD_VENDORS=/nowhere"}, 1, "OpenCL finds no device"},
        {{"--backend", "opencl"}, with(pocl, {"GROUP=64"}), 1, "in work groups of at most 64 items; 256 are needed"},
        {{"--backend", "cuda", "--device", "1"}, with(cuda, {}), 1, "there is no CUDA device 1"},
        {{"--backend", "cuda"}, with(cuda, {"INIT=100"}), 1, "the CUDA driver finds no device"},
        {{"--backend", "cuda"}, with(cuda, {"DEVICES=0"}), 1, "the CUDA driver finds no device"},
        {{"--backend", "cuda"}, with(cuda, {"VERSION=10020"}), 1, "is for CUDA 10.2; 11.2 or later is needed"},
        {{"--backend", "cuda"}, with(cuda, {"INIT=803"}), 1, "CUDA error 803, as the test asked"},
        {{"--backend", "cpu", "--device", "1"}, {}, 1, "the backend cpu has no devices to choose from"},
        {{"--backend", "abacus"}, {}, 1, "there is no backend abacus: it is auto, cpu, cuda or opencl"},
        {{"--backend", "opencl", "--device", "GPU"}, {}, 2, "device: GPU is not a number"},
    };
    for (const Refusal& refusal : refusals) {
        WorkerProcess worker(refusal.arguments, {}, refusal.variables);
        EXPECT_EQ(worker.wait(), refusal.status) << refusal.message;
        EXPECT_THAT(worker.output(), HasSubstr(refusal.message));
    }
}

TEST(GpuBackends, CudaKernelsAreCompiledAgainIfTheirCacheIsDamaged) {
    const hpo::testing::TemporaryFolder folder;
    const Variables variables{"LD_LIBRARY_PATH=" + test::fake_folder("cuda"),
                              "XDG_CACHE_HOME=" + folder.path().string()};
    ASSERT_EQ(Worker(5, {"--backend", "cuda"}, variables).hello.backend, "cuda");
    const std::filesystem::path kept = std::filesystem::directory_iterator(folder / "hpo")->path();
    const auto size = std::filesystem::file_size(kept);
    std::ofstream(kept) << "junk";
    EXPECT_EQ(Worker(5, {"--backend", "cuda"}, variables).hello.backend, "cuda");
    EXPECT_EQ(std::filesystem::file_size(kept), size);
}

TEST(GpuBackends, AutoPrefersCudaAndDoesNotTakeACpuByOpenCl) {
    EXPECT_EQ(Worker(5, {"--backend", "auto"}, with(cuda, {})).hello.backend, "cuda");
    Variables variables = with(cuda, {"INIT=100"});
    variables.emplace_back("OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd");
    EXPECT_EQ(Worker(5, {"--backend", "auto"}, variables).hello.backend, "cpu");
}

}  // namespace
}  // namespace hpo
