// How a running MPS control daemon is recognized by its files. No test here has seen a real one.
#include "orchestrator/devices/mps.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

struct Mps : ::testing::Test {
    hpo::testing::TemporaryFolder folder;
    Mps() { ::unsetenv("CUDA_MPS_PIPE_DIRECTORY"); }
    ~Mps() override { ::unsetenv("CUDA_MPS_PIPE_DIRECTORY"); }
    void write(const std::string& path, const std::string& text) const {
        const auto file = folder.path() / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
};

TEST_F(Mps, ARunningDaemonIsUsed) {
    EXPECT_EQ(mps_pipes(folder.path()), std::nullopt);
    write("tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "42\n");
    EXPECT_EQ(mps_pipes(folder.path()), std::nullopt) << "the daemon was killed";
    write("proc/42/comm", "bash\n");
    EXPECT_EQ(mps_pipes(folder.path()), std::nullopt) << "another process has its pid";
    write("proc/42/comm", "nvidia-cuda-mps\n");
    EXPECT_EQ(mps_pipes(folder.path()), "/tmp/nvidia-mps");
}

TEST_F(Mps, ItsFolderMayBeGivenInTheEnvironment) {
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/run/mine", 1);
    write("proc/42/comm", "nvidia-cuda-mps\n");
    write("tmp/nvidia-mps/nvidia-cuda-mps-control.pid", "42\n");
    EXPECT_EQ(mps_pipes(folder.path()), std::nullopt);
    write("run/mine/nvidia-cuda-mps-control.pid", "no number");
    EXPECT_EQ(mps_pipes(folder.path()), std::nullopt);
    write("run/mine/nvidia-cuda-mps-control.pid", "42");
    EXPECT_EQ(mps_pipes(folder.path()), "/run/mine");
}

}  // namespace
}  // namespace hpo
