#include "orchestrator/telemetry/host_counters.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "orchestrator/devices/host.hpp"

namespace hpo {

namespace fs = std::filesystem;

namespace {

std::optional<double> number_of(const fs::path& file) {
    std::ifstream stream(file);
    double number = 0;
    return stream >> number ? std::optional(number) : std::nullopt;
}

std::string line_of(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

/// Returns the busy time by CPU. Each CPU's line is "cpu3 user nice system idle iowait irq softirq steal guest
/// guest_nice", in clock ticks. `user` includes `guest`. Stolen time is not counted, since this machine did not use it.
std::map<int, double> busy_seconds(std::span<const int> cpus, const fs::path& root) {
    static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::map<int, double> busy;
    std::ifstream file(root / "proc/stat");
    for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
        std::istringstream fields(line.substr(3));
        int cpu = -1;
        double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0;
        if (line[3] == ' ' || !(fields >> cpu >> user >> nice >> system >> idle >> waiting >> hard >> soft)) continue;
        if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end())
            busy[cpu] = (user + nice + system + hard + soft) / ticks;
    }
    return busy;
}

/// Reads the energy counters of processor packages. These are the zones "intel-rapl:0", "intel-rapl:1" and so on, for
/// AMD processors too. Their sub-zones have two colons. Since 2020 only root can read them.
std::map<std::string, EnergyCounter> energy(const fs::path& root) {
    std::map<std::string, EnergyCounter> found;
    std::error_code none;
    for (const auto& zone : fs::directory_iterator(root / "sys/class/powercap", none)) {
        const std::string name = zone.path().filename().string();
        if (!line_of(zone.path() / "name").starts_with("package")) continue;
        const auto used = number_of(zone.path() / "energy_uj");
        if (!used) continue;
        const auto range = number_of(zone.path() / "max_energy_range_uj");
        found[name] = {*used / 1e6, range.value_or(0) / 1e6};
    }
    return found;
}

/// Returns true for the drivers of CPU sensors: Intel, AMD, ARM SCMI and those of boards.
bool is_cpu_sensor(const std::string& driver) {
    for (const char* known : {"coretemp", "k10temp", "zenpower", "cpu_thermal", "scpi_sensors", "scmi_sensors"})
        if (driver == known) return true;
    return false;
}

std::optional<double> temperature(const fs::path& root) {
    std::optional<double> hottest;
    std::error_code none;
    for (const auto& chip : fs::directory_iterator(root / "sys/class/hwmon", none)) {
        if (!is_cpu_sensor(line_of(chip.path() / "name"))) continue;
        for (const auto& file : fs::directory_iterator(chip.path(), none)) {
            const std::string name = file.path().filename().string();
            if (!name.starts_with("temp") || !name.ends_with("_input")) continue;
            if (const auto thousandths = number_of(file.path()))
                hottest = std::max(hottest.value_or(-1000), *thousandths / 1000);
        }
    }
    return hottest;
}

/// The approximate number of CPUs sampled for the mean clock. Servers have hundreds of CPUs.
constexpr std::size_t most_clocks = 8;

std::optional<double> clock_of(std::span<const int> cpus, const fs::path& root) {
    double sum = 0;
    int read = 0;
    const std::size_t stride = std::max<std::size_t>(1, cpus.size() / most_clocks);
    for (std::size_t i = 0; i < cpus.size(); i += stride) {
        const auto folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpus[i])) / "cpufreq";
        const auto kilohertz = number_of(folder / "scaling_cur_freq");
        if (!kilohertz) return std::nullopt;
        sum += *kilohertz / 1000;
        ++read;
    }
    return read > 0 ? std::optional(sum / read) : std::nullopt;
}

/// Returns the throttled time of the innermost control group that reports it.
std::optional<double> throttled_seconds(const fs::path& root) {
    for (const fs::path& group : control_groups(root, "cpu")) {
        std::ifstream file(group / "cpu.stat");
        std::string key;
        for (double value = 0; file >> key >> value;) {
            if (key == "throttled_usec") return value / 1e6;
            if (key == "throttled_time") return value / 1e9;  // version 1
        }
    }
    return std::nullopt;
}

/// Returns the stall time of a resource. The first line is "some avg10=0.00 avg60=0.00 avg300=0.00 total=668749110",
/// with the total in microseconds.
std::optional<double> stall_seconds(const fs::path& root, const char* resource) {
    const std::string line = line_of(root / "proc/pressure" / resource);
    const auto total = line.find("total=");
    if (!line.starts_with("some ") || total == std::string::npos) return std::nullopt;
    return std::strtod(line.c_str() + total + 6, nullptr) / 1e6;
}

}  // namespace

HostCounters read_host_counters(std::span<const int> cpus, double now, const fs::path& root) {
    HostCounters counters;
    counters.seconds = now;
    counters.busy_seconds = busy_seconds(cpus, root);
    counters.memory = read_host(root).memory;
    counters.memory_used = std::max<std::int64_t>(0, counters.memory - available_memory(root));
    counters.energy = energy(root);
    counters.temperature = temperature(root);
    counters.clock = clock_of(cpus, root);
    counters.throttled_seconds = throttled_seconds(root);
    counters.cpu_stall_seconds = stall_seconds(root, "cpu");
    counters.memory_stall_seconds = stall_seconds(root, "memory");
    counters.io_stall_seconds = stall_seconds(root, "io");
    return counters;
}

double cpu_seconds(std::span<const std::int64_t> processes, const fs::path& root) {
    static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    double seconds = 0;
    for (const std::int64_t pid : processes) {
        const std::string line = line_of(root / "proc" / std::to_string(pid) / "stat");
        const auto name_end = line.rfind(')');
        if (name_end == std::string::npos) continue;
        // The name is followed by 11 fields, from the state on, and then by the four times.
        std::istringstream fields(line.substr(name_end + 1));
        std::string skipped;
        for (int i = 0; i < 11; ++i) fields >> skipped;
        double user = 0, system = 0, children_user = 0, children_system = 0;
        if (fields >> user >> system >> children_user >> children_system)
            seconds += (user + system + children_user + children_system) / ticks;
    }
    return seconds;
}

}  // namespace hpo
