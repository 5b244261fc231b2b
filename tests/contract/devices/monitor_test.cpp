// DeviceMonitor and its helper against the fake management library (tests/support/FAKES.md): the real helper process,
// and a clock that tests advance.
#include "orchestrator/devices/monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>

#include "orchestrator/devices/host.hpp"
#include "tests/support/fake_device.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t GiB = 1LL << 30;
constexpr auto deadline = std::chrono::seconds(30);

class Monitor : public ::testing::Test {
   protected:
    Monitor() {
        // The helpers of the previous test are killed, which takes the kernel a moment.
        const auto end = std::chrono::steady_clock::now() + deadline;
        while (!helpers().empty() && std::chrono::steady_clock::now() < end) ::usleep(500);
        ::setenv("HPO_NVML_LIBRARY", (testing::build_folder() + "/tests/support/libfake-nvml.so").c_str(), 1);
        ::setenv("FAKE_NVML", (folder_ / "script").c_str(), 1);
    }
    ~Monitor() override {
        ::unsetenv("HPO_NVML_LIBRARY");
        ::unsetenv("HPO_OPENCL_LIBRARY");
        ::unsetenv("FAKE_NVML");
    }

    /// Replaces the script atomically, so that a reading sees either the old or the new one.
    void script(const std::string& text) {
        std::ofstream(folder_ / "next") << text;
        std::filesystem::rename(folder_ / "next", folder_ / "script");
    }

    static DeviceMonitor::Options options() { return {.program = testing::build_folder() + "/bin/hpo"}; }

    /// Advances the monitor's clock by `step` seconds before each check, until `reached` returns true.
    void pass_until(DeviceMonitor& monitor, double step, const std::function<bool()>& reached) {
        const auto end = std::chrono::steady_clock::now() + deadline;
        while (!reached()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            now_ += Seconds(step);
            monitor.poll(now_);
            for (DeviceNotice& notice : monitor.take_notices()) notices_.push_back(std::move(notice));
            ::usleep(500);
        }
    }

    /// Waits for one reading after the other, without a limit on the helper's time, until `reached` returns true.
    void read_until(DeviceMonitor& monitor, const std::function<bool()>& reached) {
        for (int readings = 0; !reached() && !HasFatalFailure(); ++readings) {
            ASSERT_LT(readings, 100);
            now_ += Seconds(1);
            monitor.poll(now_);
            pass_until(monitor, 0, [&] { return monitor.latest().age == 0; });
        }
    }

    [[nodiscard]] std::vector<std::string> warnings() const {
        std::vector<std::string> texts;
        for (const DeviceNotice& notice : notices_)
            if (notice.warning) texts.push_back(notice.text);
        return texts;
    }

    /// Returns the living helpers of this process.
    static std::vector<std::int64_t> helpers(std::int64_t of = ::getpid()) {
        const std::vector<std::int64_t> self{of};
        const auto tree = trees(self);
        std::vector<std::int64_t> found;
        for (const std::int64_t pid : tree[0]) {
            std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
            std::string name;
            if (std::getline(comm, name) && name == "hpo-devices" && fake::is_alive(pid)) found.push_back(pid);
        }
        return found;
    }

    testing::TemporaryFolder folder_;
    Seconds now_{1000};
    std::vector<DeviceNotice> notices_;
};

TEST_F(Monitor, ReadsWhatADeviceDoesWhereTheDriverTellsIt) {
    script(
        "device GPU-1111 8GiB Imaginary 9000\n"
        "device GPU-2222 24GiB Imaginary 9900\n"
        "activity 1 utilization 37\nactivity 1 memory_utilization 12\nactivity 1 power 210.5\n"
        "activity 1 power_limit 700\nactivity 1 temperature 61\nactivity 1 clock 1980\n"
        "activity 1 received 5000000\nactivity 1 sent 2000\nactivity 1 throttle 32\n"
        "activity 0 throttle 1\n");  // idle: no throttling
    DeviceMonitor monitor(options());
    monitor.start(now_);
    ASSERT_THAT(monitor.latest().devices, SizeIs(2));
    const DeviceActivity& silent = monitor.latest().devices[0].activity;
    EXPECT_FALSE(silent.utilization || silent.power || silent.temperature || silent.clock || silent.received);
    EXPECT_EQ(silent.throttled, false);
    const DeviceActivity& busy = monitor.latest().devices[1].activity;
    EXPECT_EQ(busy.utilization, 37);
    EXPECT_EQ(busy.memory_utilization, 12);
    EXPECT_EQ(busy.power, 210.5);
    EXPECT_EQ(busy.power_limit, 700);
    EXPECT_EQ(busy.temperature, 61);
    EXPECT_EQ(busy.clock, 1980);
    EXPECT_EQ(busy.received, 5'000'000);
    EXPECT_EQ(busy.sent, 2000);
    EXPECT_EQ(busy.throttled, true);
}

TEST_F(Monitor, ReadsTheDevicesAtTheStart) {
    script(
        "device GPU-1111 8GiB Imaginary 9000\n"
        "device GPU-2222 24GiB Imaginary 9900\n"
        "process GPU-2222 4242 6GiB\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    const DeviceReadings& readings = monitor.latest();
    ASSERT_THAT(readings.devices, SizeIs(2)) << readings.problem;
    EXPECT_EQ(readings.problem, "");
    EXPECT_FALSE(readings.stale);
    const DeviceReading& second = readings.devices[1];
    EXPECT_EQ(second.id, "GPU-2222");
    EXPECT_EQ(second.name, "Imaginary 9900");
    EXPECT_EQ(second.index, 1);
    EXPECT_EQ(second.memory, 24 * GiB);
    EXPECT_EQ(second.used, 6 * GiB);
    EXPECT_EQ(second.pci, "00000000:02:00.0");
    ASSERT_TRUE(second.processes);
    ASSERT_THAT(*second.processes, SizeIs(1));
    EXPECT_EQ(second.processes->front().pid, 4242);
    EXPECT_EQ(second.processes->front().bytes, 6 * GiB);
    EXPECT_THAT(monitor.take_notices(), IsEmpty());
}

TEST_F(Monitor, SeesWhatProcessesReallyTake) {
    script("device GPU-1111 8GiB Imaginary\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_EQ(monitor.latest().devices.at(0).used, 0);
    ASSERT_TRUE(fake::take(5 * GiB));
    EXPECT_FALSE(fake::take(4 * GiB)) << "beyond its capacity the device gives nothing";
    read_until(monitor, [&] { return monitor.latest().devices[0].used == 5 * GiB; });
    EXPECT_EQ(monitor.latest().devices[0].processes->front().pid, ::getpid());
    fake::give_back();
    read_until(monitor, [&] { return monitor.latest().devices[0].used == 0; });
    EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(Monitor, SeesAForeignProcessGrow) {
    script("device GPU-1111 8GiB Imaginary\nprocess GPU-1111 4242 1GiB 512MiB\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_EQ(monitor.latest().devices.at(0).used, GiB);
    read_until(monitor, [&] { return monitor.latest().devices[0].used == 3 * GiB; });
}

TEST_F(Monitor, SaysWhereWhoUsesWhatIsHidden) {
    script("device GPU-1111 8GiB Imaginary\nprocess GPU-1111 4242 1GiB\nhidden\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_EQ(monitor.latest().devices.at(0).used, GiB);
    EXPECT_FALSE(monitor.latest().devices[0].processes);
}

TEST_F(Monitor, ReadsTheLongerListOfProcessesThatSomeDriversGive) {
    script(
        "device GPU-1111 8GiB Imaginary\nprocess GPU-1111 4242 1GiB\nprocess GPU-1111 4243 2GiB\n"
        "process GPU-1111 4244 3GiB\nlonger\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    ASSERT_TRUE(monitor.latest().devices.at(0).processes);
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    for (const DeviceProcess& process : *monitor.latest().devices[0].processes)
        found.emplace_back(process.pid, process.bytes);
    EXPECT_THAT(found,
                ::testing::ElementsAre(std::pair(4242, GiB), std::pair(4243, 2 * GiB), std::pair(4244, 3 * GiB)));
}

TEST_F(Monitor, ADeviceWithoutMemoryOfItsOwnSharesTheHosts) {
    script("device GPU-1111 1GiB Imaginary\nunified\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_TRUE(monitor.latest().devices.at(0).unified);
    EXPECT_EQ(monitor.latest().devices[0].memory, read_host().memory);
}

TEST_F(Monitor, AnAbsentLibraryIsOneWarningThatNamesTheCure) {
    ::setenv("HPO_NVML_LIBRARY", (folder_ / "libnone.so").c_str(), 1);
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().devices, IsEmpty());
    EXPECT_THAT(monitor.latest().problem, HasSubstr("loaded"));
    pass_until(monitor, 0.5, [&] { return now_ > Seconds(1020); });
    ASSERT_THAT(notices_, SizeIs(1));
    EXPECT_TRUE(notices_[0].warning);
    EXPECT_THAT(notices_[0].text, HasSubstr("correct HPO_NVML_LIBRARY"));
}

TEST_F(Monitor, AnotherLibraryIsRefused) {
    ::setenv("HPO_NVML_LIBRARY", "libz.so.1", 1);
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().problem, Mentions("libz.so.1", "not"));
}

TEST_F(Monitor, WithoutADriverThereIsNoHelperAndNoWarning) {
    ::unsetenv("HPO_NVML_LIBRARY");
    if (::access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "this machine has a driver";
    DeviceMonitor monitor(options());
    monitor.start(now_);
    pass_until(monitor, 1, [&] { return now_ > Seconds(1010); });
    EXPECT_THAT(helpers(), IsEmpty());
    EXPECT_THAT(monitor.latest().devices, IsEmpty());
    EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(Monitor, AHelperThatCannotBeStartedIsATroubleAndNoFailure) {
    DeviceMonitor monitor({.program = folder_ / "no-hpo"});
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().problem, HasSubstr("helper"));
}

TEST_F(Monitor, AProgramThatIsNotExecutedIsNoCrashOfTheDriver) {
    const std::filesystem::path program = folder_ / "hpo";
    std::ofstream(program) << "#!/bin/sh\nexit 127\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    DeviceMonitor monitor({.program = program});
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().problem, Mentions("helper", program.string()));
}

TEST_F(Monitor, ADriverThatFailsIsToldInItsWordsAndItsRecoveryToo) {
    script("device GPU-1111 8GiB Imaginary\nfail 18\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().problem, Mentions("code 18", "updated", "restart"));
    script("device GPU-1111 8GiB Imaginary\n");
    pass_until(monitor, 0.1, [&] { return monitor.latest().problem.empty(); });
    EXPECT_THAT(monitor.latest().devices, SizeIs(1));
    ASSERT_THAT(notices_, SizeIs(2));
    EXPECT_THAT(notices_[1].text, HasSubstr("again after"));
}

TEST_F(Monitor, ADriverThatFailsLaterTakesNoDeviceAway) {
    script("device GPU-1111 8GiB Imaginary\nprocess GPU-1111 4242 1GiB\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    script("device GPU-1111 8GiB Imaginary\nfail 999 nvmlDeviceGetCount_v2\n");
    pass_until(monitor, 0.1, [&] { return !monitor.latest().problem.empty(); });
    ASSERT_THAT(monitor.latest().devices, SizeIs(1));
    EXPECT_FALSE(monitor.latest().devices[0].lost);
    EXPECT_EQ(monitor.latest().devices[0].used, GiB);
    EXPECT_TRUE(monitor.latest().stale);
    EXPECT_GT(monitor.latest().age, 0.5);
}

TEST_F(Monitor, ALibraryThatHangsAtTheStartHoldsNobodyLongerThanItsPatience) {
    script("device GPU-1111 8GiB Imaginary\nhang\n");
    DeviceMonitor::Options impatient = options();
    impatient.patience_at_first = Seconds(0.2);
    DeviceMonitor monitor(impatient);
    const auto begun = std::chrono::steady_clock::now();
    monitor.start(now_);
    const Seconds took = std::chrono::steady_clock::now() - begun;
    EXPECT_GE(took.count(), 0.2);
    EXPECT_LT(took.count(), 1.5);
    EXPECT_THAT(monitor.latest().devices, IsEmpty());
    EXPECT_THAT(monitor.latest().problem, Mentions("not answered", "within 200 ms"));
}

TEST_F(Monitor, ASlowDriverIsWaitedForAtTheStartWithAMessage) {
    script("device GPU-1111 8GiB Imaginary\nslow 2.5\n");
    DeviceMonitor monitor(options());
    std::vector<std::string> messages;
    monitor.start(now_, [&](const std::string& message) { messages.push_back(message); });
    EXPECT_THAT(monitor.latest().devices, SizeIs(1)) << monitor.latest().problem;
    ASSERT_THAT(messages, SizeIs(1));
    EXPECT_THAT(messages[0], Mentions("NVIDIA", "up to 15.0 s"));
}

TEST_F(Monitor, AHelperThatHangsIsKilledAndStartedAgainWithTheLastReadingsMeanwhile) {
    script("device GPU-1111 8GiB Imaginary\nprocess GPU-1111 4242 1GiB\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    const auto first = helpers();
    ASSERT_THAT(first, SizeIs(1));
    script("device GPU-1111 8GiB Imaginary\nhang nvmlDeviceGetMemoryInfo\n");
    pass_until(monitor, 0.05, [&] { return !monitor.latest().problem.empty(); });
    EXPECT_EQ(monitor.latest().devices.at(0).used, GiB) << "the last good reading";
    EXPECT_TRUE(monitor.latest().stale);
    EXPECT_GE(monitor.latest().age, 2);
    pass_until(monitor, 0.05, [&] { return !helpers().empty() && helpers() != first; });
    script("device GPU-1111 8GiB Imaginary\n");
    pass_until(monitor, 0.05, [&] { return monitor.latest().problem.empty(); });
    EXPECT_EQ(monitor.latest().devices[0].used, 0);
    EXPECT_FALSE(monitor.latest().stale);
    EXPECT_THAT(warnings(), SizeIs(1));
    EXPECT_THAT(notices_, SizeIs(2));
}

TEST_F(Monitor, ACrashIsOneWarningHoweverOftenItHappensAndEachPauseIsLonger) {
    script("device GPU-1111 8GiB Imaginary\ncrash\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().problem, Mentions("crashed", "signal 6"));
    const auto starts = [this] {
        std::ifstream file(folder_ / "script.starts");
        return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
    };
    std::vector<double> at;
    for (int n = 2; n <= 7; ++n) {
        pass_until(monitor, 0.05, [&] { return starts() >= n; });
        at.push_back(now_.count());
    }
    for (std::size_t i = 1; i < at.size(); ++i)
        EXPECT_GT(at[i] - at[i - 1], std::min(1.9 * std::pow(2, i), 29.0)) << "before start " << i + 2;
    EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(Monitor, ASlowLibraryIsHeardInTheEnd) {
    script("device GPU-1111 8GiB Imaginary\nslow 0.3\n");
    DeviceMonitor::Options impatient = options();
    impatient.patience_at_first = impatient.patience = Seconds(0.1);
    DeviceMonitor monitor(impatient);
    monitor.start(now_);
    EXPECT_THAT(monitor.latest().problem, HasSubstr("answered"));
    const auto begun = std::chrono::steady_clock::now();
    const Seconds before = now_;
    const auto end = begun + deadline;
    while (monitor.latest().devices.empty() && std::chrono::steady_clock::now() < end) {
        now_ = before + Seconds(std::chrono::steady_clock::now() - begun);
        monitor.poll(now_);
        ::usleep(1000);
    }
    EXPECT_THAT(monitor.latest().devices, SizeIs(1));
    EXPECT_EQ(monitor.latest().problem, "");
}

TEST_F(Monitor, ALostDeviceIsSetAsideAndTheOthersAreRead) {
    script("device GPU-1111 8GiB Imaginary\ndevice GPU-2222 8GiB Imaginary\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    script("device GPU-1111 8GiB Imaginary\ndevice GPU-2222 8GiB Imaginary\nlost 0\nprocess GPU-2222 1 1GiB\n");
    read_until(monitor, [&] { return monitor.latest().devices.at(0).lost; });
    EXPECT_EQ(monitor.latest().devices[0].id, "GPU-1111") << "known although it does not say so any more";
    EXPECT_THAT(monitor.latest().devices[0].reason, HasSubstr("lost"));
    EXPECT_FALSE(monitor.latest().devices[1].lost);
    EXPECT_EQ(monitor.latest().devices[1].used, GiB);
    EXPECT_EQ(monitor.latest().problem, "");
    ASSERT_THAT(warnings(), SizeIs(1));
    EXPECT_THAT(warnings()[0], Mentions("GPU 0 (Imaginary, GPU-1111)", "aside"));
    script("device GPU-1111 8GiB Imaginary\ndevice GPU-2222 8GiB Imaginary\n");
    read_until(monitor, [&] { return !monitor.latest().devices[0].lost; });
    EXPECT_THAT(notices_.back().text, HasSubstr("again"));
}

TEST_F(Monitor, ADeviceThatTheDriverNoLongerListsIsLost) {
    script("device GPU-1111 8GiB Imaginary\ndevice GPU-2222 8GiB Imaginary\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    script("device GPU-1111 8GiB Imaginary\n");
    read_until(monitor, [&] { return monitor.latest().devices.at(1).lost; });
    EXPECT_EQ(monitor.latest().devices[1].id, "GPU-2222");
    EXPECT_THAT(monitor.latest().devices[1].reason, HasSubstr("list"));
}

TEST_F(Monitor, AnUncorrectableMemoryErrorSetsADeviceAsideAndAResetBringsItBack) {
    script("device GPU-1111 8GiB Imaginary\necc 0 3\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    EXPECT_FALSE(monitor.latest().devices.at(0).lost) << "errors of before do not count";
    script("device GPU-1111 8GiB Imaginary\necc 0 5\n");
    read_until(monitor, [&] { return monitor.latest().devices[0].lost; });
    EXPECT_THAT(monitor.latest().devices[0].reason, Mentions("2 uncorrectable"));
    script("device GPU-1111 8GiB Imaginary\necc 0 0\n");
    read_until(monitor, [&] { return !monitor.latest().devices[0].lost; });
}

TEST_F(Monitor, ADeviceWhoseMemoryCannotBeReadIsSetAside) {
    script("device GPU-1111 8GiB Imaginary\nfail 999 nvmlDeviceGetMemoryInfo\n");
    DeviceMonitor monitor(options());
    monitor.start(now_);
    ASSERT_THAT(monitor.latest().devices, SizeIs(1));
    EXPECT_TRUE(monitor.latest().devices[0].lost);
}

TEST_F(Monitor, OpenClIsAskedOnce) {
    ::unsetenv("HPO_NVML_LIBRARY");
    DeviceMonitor::Options both = options();
    both.opencl = true;
    both.patience_at_first = Seconds(20);
    DeviceMonitor monitor(both);
    monitor.start(now_);
    pass_until(monitor, 0.1, [&] { return helpers().empty(); });
    pass_until(monitor, 0.5, [&] { return now_ > Seconds(1020); });
    EXPECT_THAT(helpers(), IsEmpty());
    EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(Monitor, AHelperDiesWithTheMonitor) {
    script("device GPU-1111 8GiB Imaginary\nhang nvmlDeviceGetMemoryInfo\n");
    DeviceMonitor::Options impatient = options();
    {
        DeviceMonitor monitor(impatient);
        monitor.poll(now_);
        pass_until(monitor, 0, [&] { return !helpers().empty(); });
    }
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (!helpers().empty() && std::chrono::steady_clock::now() < end) ::usleep(500);
    EXPECT_THAT(helpers(), IsEmpty());
}

TEST_F(Monitor, AHungHelperDiesWithAParentThatIsKilled) {
    script("device GPU-1111 8GiB Imaginary\nhang nvmlDeviceGetMemoryInfo\n");
    const pid_t parent = ::fork();
    if (parent == 0) {
        DeviceMonitor monitor(options());
        monitor.poll(now_);
        for (;;) ::pause();
    }
    std::vector<std::int64_t> found;
    const auto end = std::chrono::steady_clock::now() + deadline;
    while ((found = helpers(parent)).empty() && std::chrono::steady_clock::now() < end) ::usleep(500);
    ASSERT_THAT(found, SizeIs(1));
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    while (fake::is_alive(found[0]) && std::chrono::steady_clock::now() < end) ::usleep(500);
    EXPECT_FALSE(fake::is_alive(found[0]));
}

}  // namespace
}  // namespace hpo
