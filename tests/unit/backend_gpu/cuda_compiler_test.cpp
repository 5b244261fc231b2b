#include "worker/backends/gpu/cuda_compiler.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

#ifdef __SANITIZE_ADDRESS__
// NVRTC leaves threads behind that end while the leak checker stops them one by one, which it does not survive.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace hpo::gpu {
namespace {

using ::testing::HasSubstr;

bool has_compiler() { return open_toolkit_library("nvrtc", 0).ok(); }

/// Neither a driver nor a device is needed: an error in a kernel shows wherever the compiler is.
TEST(CudaCompiler, CompilesEveryKernelForOldAndNewDevices) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    for (const int capability : {75, 90}) {
        const auto code = compile_for_cuda(capability);
        ASSERT_TRUE(code.ok()) << code.error().message;
        EXPECT_EQ(code->substr(1, 3), "ELF") << capability;  // machine code, not an intermediate language
        for (const char* kernel : kernel_names) EXPECT_THAT(*code, HasSubstr(kernel)) << capability;
    }
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
    EXPECT_THAT(code.error().message, HasSubstr("compute capability 2.0"));
}

TEST(CudaCompiler, CompilesOnceForADeviceAndADriver) {
    if (!has_compiler()) GTEST_SKIP() << "CUDA's compiler is not installed";
    const testing::TemporaryFolder folder;
    setenv("XDG_CACHE_HOME", (folder / "").c_str(), 1);
    const auto first = cached_for_cuda(90, 13000);
    ASSERT_TRUE(first.ok()) << first.error().message;
    const std::filesystem::directory_iterator files(folder / "hpo");
    std::ofstream(files->path()) << "kept";  // the one file there is
    EXPECT_EQ(*cached_for_cuda(90, 13000), "kept");
    EXPECT_NE(*cached_for_cuda(89, 13000), "kept");
    unsetenv("XDG_CACHE_HOME");
}

TEST(ToolkitLibrary, SaysWhatToInstallWhereThereIsNone) {
    const auto library = open_toolkit_library("nothing", 12);
    ASSERT_FALSE(library.ok());
    EXPECT_THAT(library.error().message, HasSubstr("libnothing of CUDA 12 is not found"));
}

}  // namespace
}  // namespace hpo::gpu
