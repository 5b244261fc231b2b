#include "orchestrator/devices/host.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "hpo/descriptor.hpp"

namespace hpo {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// Bytes of physical memory.
struct Installed {
    std::int64_t all = 0;
    std::int64_t available = 0;
};

/// Reads the installed memory with sysinfo(), for a machine without /proc. The available memory leaves out cached pages
/// of files, which the kernel could reclaim.
Installed installed_by_sysinfo() {
    struct sysinfo info {};
    if (::sysinfo(&info) != 0) return {};
    const auto unit = static_cast<std::int64_t>(info.mem_unit);
    return {static_cast<std::int64_t>(info.totalram) * unit,
            static_cast<std::int64_t>(info.freeram + info.bufferram) * unit};
}

/// The first kilobyte of a file of the kernel, read without the cost of a stream: this happens before each trial.
struct Beginning {
    explicit Beginning(const fs::path& path) {
        const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        const ssize_t read = file ? ::read(file.get(), text, sizeof text - 1) : 0;
        text[read > 0 ? read : 0] = '\0';
    }
    char text[1024];
};

Installed installed_memory(const fs::path& root) {
    std::optional<std::int64_t> all, available;  // "MemTotal:  1234 kB"
    const Beginning file(root / "proc/meminfo");
    for (const auto& [key, bytes] : {std::pair{"MemTotal:", &all}, {"MemAvailable:", &available}})
        if (const char* line = std::strstr(file.text, key)) *bytes = std::atoll(line + std::strlen(key)) * 1024;
    if (all && available) return {*all, *available};
    const Installed otherwise = installed_by_sysinfo();
    return {all.value_or(otherwise.all), available.value_or(otherwise.available)};
}

/// The cached pages of files in a control group's usage. The kernel reclaims them when memory is needed, so they count
/// as available, as in MemAvailable: otherwise a group that has read its data once would look full for ever.
std::int64_t reclaimable(const fs::path& group) {
    std::ifstream file(group / "memory.stat");
    std::int64_t own = 0, with_children = 0;
    std::string key;
    for (std::int64_t bytes = 0; file >> key >> bytes;) {
        if (key == "inactive_file" || key == "active_file") own += bytes;
        if (key == "total_inactive_file" || key == "total_active_file") with_children += bytes;
    }
    return std::max(own, with_children);  // version 1 has both keys; in version 2 the first includes children
}

/// Reads the number at the beginning of a file; nothing for "max", an empty or a missing file.
std::optional<std::int64_t> number_in(const fs::path& file) {
    std::ifstream stream(file);
    std::int64_t number = 0;
    return stream >> number ? std::optional(number) : std::nullopt;
}

/// A memory limit of a control group, and the name of its file with the memory in use.
struct MemoryLimit {
    std::int64_t limit = no_limit;
    const char* in_use = "";
};
MemoryLimit memory_limit(const fs::path& group) {
    if (const auto limit = number_in(group / "memory.max")) return {*limit, "memory.current"};
    return {number_in(group / "memory.limit_in_bytes").value_or(no_limit), "memory.usage_in_bytes"};
}

double core_quota(const fs::path& root) {
    double cores = std::numeric_limits<double>::infinity();
    for (const fs::path& group : control_groups(root, "cpu")) {
        std::ifstream v2(group / "cpu.max");
        double quota = 0, period = 0;
        if (v2 >> quota >> period && period > 0) {
            cores = std::min(cores, quota / period);
            continue;
        }
        const auto old_quota = number_in(group / "cpu.cfs_quota_us"),
                   old_period = number_in(group / "cpu.cfs_period_us");
        if (old_quota && old_period && *old_quota > 0 && *old_period > 0)
            cores = std::min(cores, static_cast<double>(*old_quota) / static_cast<double>(*old_period));
    }
    return cores;
}

std::optional<std::int64_t> processes_left(const fs::path& root) {
    std::optional<std::int64_t> left;
    for (const fs::path& group : control_groups(root, "pids")) {
        const auto limit = number_in(group / "pids.max"), used = number_in(group / "pids.current");
        if (limit) left = std::min(left.value_or(no_limit), std::max<std::int64_t>(0, *limit - used.value_or(0)));
    }
    return left;
}

/// The cores that many machines have; "Arm architecture reference manual", MIDR_EL1.
struct ArmCore {
    const char* implementer;
    const char* part;
    const char* name;
};
constexpr ArmCore arm_cores[] = {
    {"0x41", "0xd03", "Cortex-A53"},  {"0x41", "0xd08", "Cortex-A72"},  {"0x41", "0xd0b", "Cortex-A76"},
    {"0x41", "0xd0c", "Neoverse N1"}, {"0x41", "0xd40", "Neoverse V1"}, {"0x41", "0xd42", "Cortex-A78AE"},
    {"0x41", "0xd49", "Neoverse N2"}, {"0x41", "0xd4f", "Neoverse V2"}, {"0x41", "0xd84", "Neoverse V3"},
    {"0x46", "0x001", "A64FX"},       {"0x4e", "0x004", "Carmel"},      {"0x61", "0x022", "Apple M1"},
    {"0x61", "0x023", "Apple M1"},    {"0x61", "0x032", "Apple M2"},    {"0x61", "0x033", "Apple M2"},
    {"0xc0", "0xac3", "Ampere-1"},    {"0xc0", "0xac4", "Ampere-1A"},
};

/// Returns the name of the first CPU. On ARM the kernel has only the numbers of its implementer and part.
std::string cpu_name(const fs::path& root) {
    std::string implementer, part;
    std::ifstream file(root / "proc/cpuinfo");
    for (std::string line; part.empty() && std::getline(file, line);) {
        const std::string value = line.substr(std::min(line.find(':') + 2, line.size()));
        if (line.starts_with("model name")) return value;
        if (line.starts_with("CPU implementer")) implementer = value;
        if (line.starts_with("CPU part")) part = value;
    }
    for (const ArmCore& core : arm_cores)
        if (core.implementer == implementer && core.part == part) return core.name;
    return part.empty() ? "unknown CPU" : "ARM CPU " + implementer + " " + part;
}

}  // namespace

std::vector<fs::path> control_groups(const fs::path& root, const std::string& controller) {
    std::ifstream file(root / "proc/self/cgroup");
    fs::path base, inner;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string id, names, path;
        std::getline(fields, id, ':');
        std::getline(fields, names, ':');
        std::getline(fields, path);
        const bool v2 = names.empty();
        const bool v1 = ("," + names + ",").find("," + controller + ",") != std::string::npos;
        if (!v1 && !(v2 && base.empty())) continue;
        base = root / "sys/fs/cgroup" / (v1 ? names : "");
        // The mount may have its names in another order, or only this one.
        if (std::error_code none; v1 && !fs::exists(base, none)) base = root / "sys/fs/cgroup" / controller;
        inner = fs::path(path).relative_path();
    }
    std::vector<fs::path> folders;
    if (base.empty()) return folders;
    for (fs::path part = inner; !part.empty(); part = part.parent_path()) folders.push_back(base / part);
    folders.push_back(base);
    return folders;
}

Host read_host(const fs::path& root) {
    Host host;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) host.cpus.push_back(cpu);
    if (host.cpus.empty()) host.cpus.push_back(0);
    host.cores = std::max(1.0, std::min(static_cast<double>(host.cpus.size()), core_quota(root)));
    host.memory = installed_memory(root).all;
    for (const fs::path& group : memory_groups(root)) host.memory = std::min(host.memory, memory_limit(group).limit);
    host.processes = processes_left(root);

    host.cpu_name = cpu_name(root);
    return host;
}

/// Returns the control groups that limit memory. A group that may have all memory, or has no limit (the largest number
/// of pages there is), limits nothing; its usage is not read, which would cost the kernel more than all other readings
/// here.
std::vector<fs::path> memory_groups(const fs::path& root) {
    const std::int64_t installed = installed_memory(root).all;
    std::vector<fs::path> groups = control_groups(root, "memory");
    std::erase_if(groups, [&](const fs::path& group) {
        const std::int64_t limit = memory_limit(group).limit;
        return limit == no_limit || (installed > 0 && limit >= installed);
    });
    return groups;
}

std::int64_t available_memory(const fs::path& root, std::span<const fs::path> groups) {
    std::int64_t available = installed_memory(root).available;
    for (const fs::path& group : groups) {
        const MemoryLimit found = memory_limit(group);
        const std::int64_t used = number_in(group / found.in_use).value_or(0);
        const std::int64_t held = std::max<std::int64_t>(0, used - reclaimable(group));
        available = std::min(available, std::max<std::int64_t>(0, found.limit - held));
    }
    return available;
}

std::int64_t available_memory(const fs::path& root) { return available_memory(root, memory_groups(root)); }

std::int64_t resident_memory(std::int64_t pid, const fs::path& root) {
    const Beginning file(root / "proc" / std::to_string(pid) / "statm");  // "total resident ..."
    const char* resident = std::strchr(file.text, ' ');
    return resident ? std::atoll(resident) * sysconf(_SC_PAGESIZE) : 0;
}

bool has_gpu_file(const fs::path& root) {
    std::error_code none;
    for (const char* name : {"dev/kfd", "dev/dxg", "dev/nvidiactl", "dev/nvgpu", "dev/mali0", "dev/kgsl-3d0"})
        if (fs::exists(root / name, none)) return true;
    for (const auto& file : fs::directory_iterator(root / "dev/dri", none))
        if (file.path().filename().string().starts_with("renderD")) return true;
    return false;
}

std::string host_name() {
    char name[256] = {};
    return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace hpo
