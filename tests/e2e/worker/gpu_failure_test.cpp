// The real hpo-worker with devices and drivers that are too old, incomplete, or fail at any call.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/worker/worker.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using test::endless;
using test::run_of;
using test::Worker;
using test::WorkerProcess;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Variables = std::vector<std::string>;

/// PoCL with failures that a script requests.
class FailingOpenCl : public ::testing::Test {
   protected:
    Variables failing(const std::string& script) {
        std::ofstream(folder_ / "script") << script << "\n";
        return {"OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd", "LD_LIBRARY_PATH=" + test::fake_folder("opencl"),
                "FAKE_OPENCL=" + (folder_ / "script").string()};
    }

   private:
    hpo::testing::TemporaryFolder folder_;
};

/// Returns the exit status and the output of a worker that ends before its hello.
void expect_refusal(const std::string& backend, const Variables& variables, int status, const std::string& message) {
    WorkerProcess worker({"--backend", backend}, {}, variables);
    EXPECT_EQ(worker.wait(), status) << message;
    EXPECT_THAT(worker.output(), HasSubstr(message));
}

TEST_F(FailingOpenCl, ADeviceThatCannotBeOpenedIsRefusedWithItsNameAndTheReason) {
    expect_refusal("opencl", failing("version OpenCL 1.1 of long ago"), 1,
                   " speaks OpenCL 1.1 of long ago; OpenCL 1.2 or later is needed: update its driver");
    expect_refusal("opencl", failing("unavailable 1"), 1, " is not available");
    expect_refusal("opencl", failing("clCreateContext -2"), 1,
                   " cannot be opened: OpenCL error -2 (CL_DEVICE_NOT_AVAILABLE)");
    expect_refusal("opencl", failing("clCreateCommandQueue -6"), 1, " gives no queue: OpenCL error -6");
    expect_refusal("opencl", failing("clBuildProgram -11"), 1,
                   " does not compile the kernels: OpenCL error -11 (CL_BUILD_PROGRAM_FAILURE)");
    expect_refusal("opencl", failing("clCreateKernel -5"), 1, " has no kernel ");
    expect_refusal("opencl", failing("clGetPlatformIDs -30"), 1, "OpenCL's platforms: OpenCL error -30");
    expect_refusal("opencl", failing("clGetDeviceIDs -1"), 1, "OpenCL finds no device");
}

TEST_F(FailingOpenCl, ADeviceThatFailsInItsFirstComputationDoesSoBeforeHello) {
    expect_refusal("opencl", failing("clEnqueueNDRangeKernel -5"), device_failed_status,
                   "OpenCL error -5 (CL_OUT_OF_RESOURCES)");
}

/// Lets every call fail that is made while a trial runs.
TEST_F(FailingOpenCl, AnyFailureDuringTrainingEndsTheWorkerAsAFailureOfItsDevice) {
    for (const char* call : {"clEnqueueNDRangeKernel -5", "clEnqueueReadBuffer -14", "clEnqueueWriteBuffer -2",
                             "clFinish -36", "clFlush -36"}) {
        const Variables variables = failing("");
        Worker worker(0.01, {"--backend", "opencl"}, variables);
        failing(call);
        EXPECT_THROW(worker.complete(run_of(1, 30)), std::runtime_error) << call << ": it was to hang up";
        worker.disconnect();
        EXPECT_EQ(worker.wait(), device_failed_status) << call;
        EXPECT_THAT(worker.output(), HasSubstr(" failed: ")) << call;
    }
}

TEST_F(FailingOpenCl, AShortageOfMemoryAtAnyMomentEndsTheTrialOnly) {
    for (const char* call :
         {"clCreateBuffer -4", "clCreateBuffer -5", "clEnqueueFillBuffer -4", "clEnqueueNDRangeKernel -4",
          "clEnqueueNDRangeKernel -6 after 300", "clEnqueueWriteBuffer -4", "clEnqueueReadBuffer -6"}) {
        const Variables variables = failing("");
        Worker worker(5, {"--backend", "opencl"}, variables);
        failing(call);
        const auto finished = worker.complete(run_of(1, 2));
        EXPECT_EQ(finished.outcome, Outcome::out_of_memory) << call << ": " << finished.message;
        EXPECT_THAT(finished.message, Mentions("enough", "memory")) << call;
        failing("");
        EXPECT_EQ(worker.complete(run_of(2, 2)).outcome, Outcome::complete) << call;
    }
}

/// A CUDA toolkit in a folder, with libraries that the test chooses.
class Toolkit : public ::testing::Test {
   protected:
    /// Adds `name` as a link to a library of the fake toolkit, to another library, or to a file that cannot be loaded.
    void put(const std::string& name, const std::string& library) {
        const std::filesystem::path link = folder_ / name;
        std::filesystem::create_directories(link.parent_path());
        std::filesystem::remove(link);
        std::filesystem::create_symlink(library.front() == '/' ? library : test::fake_folder("cuda") + "/" + library,
                                        link);
    }
    Variables variables(const Variables& more = {}) {
        Variables all{"LD_LIBRARY_PATH=" + folder_.path().string(), "XDG_CACHE_HOME=" + (folder_ / "cache").string()};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    void SetUp() override {
        for (const char* name : toolkit) put(name, name);
        put("libcuda.so.1", "libcuda.so.1");
    }

    static constexpr const char* toolkit[] = {"libnvrtc.so.13", "libnvrtc-builtins.so.13.990", "libcublas.so.13"};
    hpo::testing::TemporaryFolder folder_;
};

/// The compiler loads its builtins by name, from the folders of the loader, which these are not.
TEST_F(Toolkit, IsFoundInAnyFolderWithTheLibrariesThatItLoads) {
    // A version that the loader does not find on this machine: libraries that it finds come first.
    const char* major = ::dlopen("libnvrtc.so.13", RTLD_LAZY) ? "12" : "13";
    std::filesystem::create_directories(folder_ / "empty");
    const std::string folder = folder_.path().string();
    const struct {
        std::string place, variable;
    } places[] = {{"home/lib64", "CUDA_HOME=" + folder + "/home"},
                  {"home/targets/x86_64-linux/lib", "CUDA_PATH=" + folder + "/home"},
                  {"venv/lib/python3.12/site-packages/nvidia/cu13/lib", "VIRTUAL_ENV=" + folder + "/venv"},
                  {"conda/lib", "CONDA_PREFIX=" + folder + "/conda"},
                  {"on/lib/python3.13/site-packages/nvidia/all/lib", "PATH=" + folder + "/on/bin:/usr/bin"}};
    for (const auto& [place, variable] : places) {
        SCOPED_TRACE(place);
        for (const std::string name : toolkit) {
            std::filesystem::remove(folder_ / name);
            const bool builtins = name.find("builtins") != std::string::npos;
            put(place + "/" + (builtins ? name : name.substr(0, name.size() - 2) + major), name);
        }
        Worker worker(5, {"--backend", "cuda"},
                      variables({variable, "HOME=" + folder + "/empty",
                                 "CUDA_HOME=", "CUDA_PATH=", "FAKE_CUDA_VERSION=" + std::string(major) + "990"}));
        EXPECT_EQ(worker.complete(run_of(1, 1)).outcome, Outcome::complete);
        EXPECT_THAT(worker.output(), HasSubstr("cuda, fake CUDA device, cuBLAS"));
        const std::string file = folder + "/" + place + "/libcublas.so." + major;
        EXPECT_THAT(worker.hello.notes, ElementsAre("matrix products by cuBLAS 13.12.11 of " + file));
        std::filesystem::remove_all(folder_ / "cache");  // otherwise nothing would be compiled
        std::filesystem::remove_all(folder_ / place);
    }
}

TEST_F(Toolkit, ANewCompilerCompilesAgain) {
    const auto kept = [&](const Variables& more) {
        EXPECT_EQ(Worker(5, {"--backend", "cuda"}, variables(more)).hello.backend, "cuda");
        const std::filesystem::directory_iterator files(folder_ / "cache/hpo");
        return std::distance(begin(files), end(files));
    };
    EXPECT_EQ(kept({}), 1);
    EXPECT_EQ(kept({}), 1);
    EXPECT_EQ(kept({"FAKE_NVRTC_VERSION=991"}), 2);
}

TEST_F(Toolkit, LibrariesThatAreTooOldAreNamed) {
    put("libnvrtc.so.13", "libcublas.so.13");  // a library without the functions of nvrtc
    expect_refusal("cuda", variables(), 1, "CUDA's compiler (NVRTC) is older than version 11.2");
    SetUp();
    put("libcuda.so.1", "libcublas.so.13");
    expect_refusal("cuda", variables(), 1, "the CUDA driver is older than version 11");
}

TEST_F(Toolkit, ADeviceThatTheCompilerNoLongerSupportsIsNamedWithTheCure) {
    expect_refusal("cuda", variables({"FAKE_CUDA_CAPABILITY=50"}), 1,
                   "no longer knows devices of compute capability 5.0: install an older CUDA toolkit's libraries");
}

TEST_F(Toolkit, WithoutAUsableCublasTheKernelsComputeTheProducts) {
    put("libcublas.so.13", "libnvrtc.so.13");
    Worker worker(5, {"--backend", "cuda"}, variables());
    EXPECT_EQ(worker.complete(run_of(1, 1)).outcome, Outcome::complete);
    EXPECT_THAT(worker.output(), Mentions("cuda, fake CUDA", "own"));
    const char* why = "several times slower than cuBLAS: cuBLAS is older than version 11";
    EXPECT_THAT(worker.output(), HasSubstr(why));
    EXPECT_THAT(worker.hello.notes, ElementsAre(HasSubstr(why)));
}

TEST_F(Toolkit, ADeviceIsTunedOnceBeforeItsFirstTrial) {
    const auto notes = [&](const char* tuning) {
        return Worker(5, {"--backend", "cuda"}, variables({tuning})).hello.notes;
    };
    EXPECT_THAT(notes("HPO_TUNING=off"), ElementsAre(HasSubstr("matrix products")));
    const auto tuned = notes("HPO_TUNING=");
    ASSERT_THAT(tuned, ElementsAre(Mentions("cuda, fake CUDA", "cuBLAS", "padded"), HasSubstr("matrix products")));
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/hpo"))
        if (entry.path().filename().string().starts_with("tuning-"))
            std::ofstream(entry.path())
                << "complete 0 times 9 batches 32 512 widths 64 256 parts 4194304 updates 64 rows 900\n";
    EXPECT_THAT(notes("HPO_TUNING="), Contains(AllOf(Mentions("32", "512", "64"), Mentions("half", "900 rows"))));
}

}  // namespace
}  // namespace hpo
