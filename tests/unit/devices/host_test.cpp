#include "orchestrator/devices/host.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

constexpr std::int64_t MiB = 1 << 20;

/// A machine whose /proc and /sys are files of the test. It has 8 GiB, of which 6 GiB are available.
class FakeHost : public ::testing::Test {
   protected:
    FakeHost() {
        write("proc/meminfo",
              "MemTotal:        8388608 kB\nMemFree:          100000 kB\nMemAvailable:    6291456 kB\n");
        write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Imaginary 9000\n");
    }
    void write(const std::string& file, const std::string& text) {
        std::filesystem::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    testing::TemporaryFolder root_;
};

TEST_F(FakeHost, WithoutControlGroupsTheInstalledMemoryCounts) {
    const Host host = read_host(root_.path());
    EXPECT_EQ(host.memory, 8192 * MiB);
    EXPECT_EQ(available_memory(root_.path()), 6144 * MiB);
    EXPECT_EQ(host.cpu_name, "Imaginary 9000");
    EXPECT_FALSE(host.cpus.empty());
    EXPECT_EQ(host.cores, static_cast<double>(host.cpus.size()));
}

TEST_F(FakeHost, AnArmCpuIsNamedByTheNumbersOfItsImplementerAndPart) {
    const auto name = [&](const std::string& cpuinfo) {
        write("proc/cpuinfo", cpuinfo);
        return read_host(root_.path()).cpu_name;
    };
    const std::string first =
        "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n";
    EXPECT_EQ(name(first + "CPU variant\t: 0x0\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU part\t: 0xd0c\n"),
              "Neoverse V2");
    EXPECT_EQ(name(first + "CPU part\t: 0xfff\n"), "ARM CPU 0x41 0xfff");
    EXPECT_EQ(name(first), "unknown CPU");
}

TEST_F(FakeHost, AMemoryLimitOfCgroupV2AppliesAlsoIfAnOuterGroupSetsIt) {
    write("proc/self/cgroup", "0::/user/job\n");
    write("sys/fs/cgroup/user/memory.max", "1073741824\n");
    write("sys/fs/cgroup/user/memory.current", "268435456\n");
    write("sys/fs/cgroup/user/job/memory.max", "max\n");
    write("sys/fs/cgroup/user/job/cpu.max", "100000 100000\n");
    EXPECT_EQ(read_host(root_.path()).memory, 1024 * MiB);
    EXPECT_EQ(available_memory(root_.path()), 768 * MiB);
    EXPECT_EQ(read_host(root_.path()).cores, 1);
}

TEST_F(FakeHost, AMemoryLimitOfCgroupV1Applies) {
    write("proc/self/cgroup", "4:memory:/job\n1:cpu:/job\n0::/\n");
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
    write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2147483648\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // the kernel's value for no limit
    write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(read_host(root_.path()).memory, 2048 * MiB);
    EXPECT_EQ(available_memory(root_.path()), 0);
}

TEST_F(FakeHost, OnlyControlGroupsThatLimitMemoryAreReadAgain) {
    write("proc/self/cgroup", "0::/user/job\n");
    write("sys/fs/cgroup/user/memory.max", "1073741824\n");
    write("sys/fs/cgroup/user/memory.current", "268435456\n");
    write("sys/fs/cgroup/user/job/memory.max", "max\n");
    write("sys/fs/cgroup/memory.max", "17179869184\n");  // more than is installed
    const auto groups = memory_groups(root_.path());
    EXPECT_THAT(groups, ::testing::ElementsAre(root_ / "sys/fs/cgroup/user"));
    write("sys/fs/cgroup/user/memory.current", "805306368\n");
    EXPECT_EQ(available_memory(root_.path(), groups), 256 * MiB);
    write("sys/fs/cgroup/user/memory.max", "2147483648\n");  // the limit itself may change, too
    EXPECT_EQ(available_memory(root_.path(), groups), 1280 * MiB);
}

TEST_F(FakeHost, CachedFilePagesOfAControlGroupCountAsAvailable) {
    write("proc/self/cgroup", "4:memory:/job\n0::/\n");
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
    write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
    write(
        "sys/fs/cgroup/memory/job/memory.stat",
        "cache 1\ninactive_file 1048576\nactive_file 0\ntotal_inactive_file 536870912\ntotal_active_file 268435456\n");
    EXPECT_EQ(available_memory(root_.path()), 768 * MiB);
    write("proc/self/cgroup", "0::/job\n");
    write("sys/fs/cgroup/job/memory.max", "1073741824\n");
    write("sys/fs/cgroup/job/memory.current", "1073741824\n");
    write("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 134217728\nactive_file 134217728\n");
    EXPECT_EQ(available_memory(root_.path()), 256 * MiB);
}

TEST_F(FakeHost, AQuotaBelowOneCoreCountsAsOne) {
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/cpu.max", "20000 100000\n");
    EXPECT_EQ(read_host(root_.path()).cores, 1);
}

TEST_F(FakeHost, TheSmallestOfSeveralNestedQuotasApplies) {
    write("proc/self/cgroup", "5:cpu,cpuacct:/outer/inner\n0::/\n");
    write("sys/fs/cgroup/cpu/outer/cpu.cfs_quota_us", "150000\n");  // only one of the controller's two names is mounted
    write("sys/fs/cgroup/cpu/outer/cpu.cfs_period_us", "100000\n");
    write("sys/fs/cgroup/cpu/outer/inner/cpu.cfs_quota_us", "400000\n");
    write("sys/fs/cgroup/cpu/outer/inner/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(read_host(root_.path()).cores, std::min(1.5, double(read_host(root_.path()).cpus.size())));
}

TEST_F(FakeHost, ALimitOnProcessesIsReportedAsTheNumberLeft) {
    EXPECT_FALSE(read_host(root_.path()).processes);
    write("proc/self/cgroup", "0::/user/job\n");
    write("sys/fs/cgroup/user/pids.max", "100\n");
    write("sys/fs/cgroup/user/pids.current", "36\n");
    write("sys/fs/cgroup/user/job/pids.max", "max\n");
    EXPECT_EQ(read_host(root_.path()).processes, 64);
}

TEST_F(FakeHost, AnUnreadableMeminfoDoesNotMeanAMachineWithoutMemory) {
    std::filesystem::remove(root_ / "proc/meminfo");
    EXPECT_GT(read_host(root_.path()).memory, 64 * MiB);
    EXPECT_GT(available_memory(root_.path()), 0);
}

TEST(Host, ReadsTheMemoryOfALivingProcessOnly) {
    EXPECT_GT(resident_memory(::getpid()), MiB);
    EXPECT_EQ(resident_memory(999'999'999), 0);
    EXPECT_GT(read_host().memory, 64 * MiB);
    EXPECT_FALSE(host_name().empty());
}

TEST(Host, AGpuIsDetectedByItsDeviceFiles) {
    const testing::TemporaryFolder root;
    EXPECT_FALSE(has_gpu_file(root.path()));
    std::filesystem::create_directories(root / "dev/dri");
    std::ofstream(root / "dev/dri/card0");  // belongs to a display
    EXPECT_FALSE(has_gpu_file(root.path()));
    std::ofstream(root / "dev/dri/renderD128");
    EXPECT_TRUE(has_gpu_file(root.path()));
}

}  // namespace
}  // namespace hpo
