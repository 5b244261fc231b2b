#include "worker/backends/gpu/cuda_compiler.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/backends/gpu/cuda_toolkit.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

#ifdef __SANITIZE_ADDRESS__
// NVRTC leaves threads behind that end while the leak checker stops them one by one, which it does not survive.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace hpo::gpu {
namespace {

using ::testing::HasSubstr;

bool has_compiler() { return open_toolkit_library("nvrtc", 0).ok(); }

/// Expects that `code` is machine code, not an intermediate language, of every kernel.
void expect_every_kernel(const Result<std::string>& code) {
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_EQ(code->substr(1, 3), "ELF");
    for (const char* kernel : kernel_names) EXPECT_THAT(*code, HasSubstr(kernel));
}

/// Neither a driver nor a device is needed: an error in a kernel shows wherever the compiler is.
TEST(CudaCompiler, CompilesEveryKernelForOldDevices) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    expect_every_kernel(compile_for_cuda(75));
}

/// A multiprocessor has 65,536 registers: with 64 for each work-item, four work-groups of 256 run at once, with 80
/// three.
TEST(CudaCompiler, NoKernelSpillsRegistersAndSeveralGroupsFitAMultiprocessor) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    const auto kernels = kernel_resources(90);
    ASSERT_TRUE(kernels.ok()) << kernels.error().message;
    std::vector<std::string> names;
    for (const auto& [name, registers, shared_bytes, spilled] : *kernels) {
        names.push_back(name);
        EXPECT_GT(registers, 0) << name;
        EXPECT_LE(registers, name == "attention_of_keys" ? 80 : 64) << name;
        EXPECT_LE(shared_bytes, 48 << 10) << name;
        EXPECT_EQ(spilled, 0) << name;
    }
    EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(kernel_names));
    const auto newer = kernel_resources(999);
    ASSERT_FALSE(newer.ok());
    EXPECT_THAT(newer.error().message, Mentions("99.9"));
}

TEST(CudaCompiler, ReadsWhatPtxasSays) {
    const auto kernels = read_ptxas(
        "ptxas info    : 24 bytes gmem\n"
        "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
        "ptxas info    : Function properties for first\n"
        "ptxas         .     8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
        "ptxas info    : Used 55 registers, used 1 barriers, 8200 bytes smem\n"
        "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
        "ptxas info    : Used 16 registers, used 0 barriers\n");
    EXPECT_THAT(kernels,
                ::testing::ElementsAre(KernelResources{"first", 55, 8200, 12}, KernelResources{"second", 16, 0, 0}));
    EXPECT_TRUE(read_ptxas("registers, 'entry function'\n registers").empty());
}

TEST(CudaCompiler, GivesTheDriverSomethingToTranslateForDevicesNewerThanItself) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    const auto code = compile_for_cuda(999);
    ASSERT_TRUE(code.ok()) << code.error().message;
    EXPECT_THAT(*code, HasSubstr(".target sm_"));
}

TEST(CudaCompiler, SaysThatADeviceIsTooOldForIt) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    const auto code = compile_for_cuda(20);
    ASSERT_FALSE(code.ok());
    EXPECT_THAT(code.error().message, Mentions("capability 2.0"));
}

TEST(CudaCompiler, CompilesEveryKernelOnceForADeviceAndADriver) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    const testing::TemporaryFolder folder;
    setenv("XDG_CACHE_HOME", (folder / "").c_str(), 1);
    expect_every_kernel(cached_for_cuda(90, 13000));
    const std::filesystem::directory_iterator files(folder / "hpo");
    std::ofstream(files->path()) << "kept";  // the one file there is
    EXPECT_EQ(*cached_for_cuda(90, 13000), "kept");
    EXPECT_FALSE(cached_for_cuda(20, 13000).ok());  // of another device, which is too old
    unsetenv("XDG_CACHE_HOME");
}

TEST(ToolkitLibrary, IsLookedForInTheFoldersOfToolkitsThenOfWheels) {
    const testing::TemporaryFolder folder;
    const std::string root = folder.path().string();
    const char* there[] = {"home/lib64", "home/targets/x86_64-linux/lib",
                           "venv/lib/python3.12/site-packages/nvidia/cu13/lib",
                           "on/lib/python3.13/site-packages/nvidia/cublas/lib"};
    for (const char* place : there) std::filesystem::create_directories(folder / place);
    std::filesystem::create_directories(folder / "on/bin");
    const std::string path = std::getenv("PATH");
    setenv("CUDA_HOME", (root + "/home").c_str(), 1);
    setenv("VIRTUAL_ENV", (root + "/venv").c_str(), 1);
    setenv("PATH", (root + "/on/bin:" + path).c_str(), 1);
    unsetenv("CUDA_PATH");
    const auto folders = toolkit_folders();
    unsetenv("CUDA_HOME");
    unsetenv("VIRTUAL_ENV");
    setenv("PATH", path.c_str(), 1);
    ASSERT_GE(folders.size(), 5U);
    EXPECT_EQ(folders[0], folder / there[0]);
    EXPECT_EQ(folders[1], folder / there[1]);
    const auto at = [&](const char* place) { return std::find(folders.begin(), folders.end(), folder / place); };
    EXPECT_LT(at(there[2]), at(there[3]));
    EXPECT_NE(at(there[3]), folders.end());
}

TEST(ToolkitLibrary, SaysWhatToInstallWhereThereIsNone) {
    const auto library = open_toolkit_library("nothing", 12);
    ASSERT_FALSE(library.ok());
    EXPECT_THAT(library.error().message, Mentions("CUDA 12"));
}

}  // namespace
}  // namespace hpo::gpu
