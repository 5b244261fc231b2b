// Asks macOS for the machine; apple.cpp decides.
#include <libproc.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "hpo/darwin_memory.hpp"
#include "orchestrator/devices/apple.hpp"
#include "orchestrator/devices/darwin/system.hpp"

namespace hpo {

namespace fs = std::filesystem;

Host read_host(const fs::path&) {
    AppleAnswers answers;
    answers.memory = darwin::installed_bytes();
    answers.cpus = darwin::number_of("hw.logicalcpu");
    answers.cpu_name = darwin::text_of("machdep.cpu.brand_string");
    for (std::int64_t level = 0; level < darwin::number_of("hw.nperflevels").value_or(0); ++level) {
        const std::string name = "hw.perflevel" + std::to_string(level);
        if (const auto cores = darwin::number_of(name + ".logicalcpu"))
            answers.levels.push_back({darwin::text_of(name + ".name"), static_cast<int>(*cores)});
    }
    return host_of(answers);
}

std::vector<fs::path> control_groups(const fs::path&, const std::string&) { return {}; }
std::vector<fs::path> memory_groups(const fs::path&) { return {}; }

std::int64_t available_memory(const fs::path&, std::span<const fs::path>) {
    return available_of(darwin::installed_bytes(), darwin::pages()).value_or(0);
}
std::int64_t available_memory(const fs::path& root) { return available_memory(root, {}); }

std::int64_t resident_memory(std::int64_t pid, const fs::path&) {
    const auto usage = darwin::usage_of(pid);
    return usage ? static_cast<std::int64_t>(usage->ri_phys_footprint) : 0;
}

std::optional<std::int64_t> proportional_memory(std::int64_t pid, const fs::path&) {
    const auto usage = darwin::usage_of(pid);
    return usage ? std::optional(static_cast<std::int64_t>(usage->ri_phys_footprint)) : std::nullopt;
}

std::unordered_map<std::int64_t, std::int64_t> parents_of_processes(const fs::path&) {
    std::unordered_map<std::int64_t, std::int64_t> parents;
    std::vector<int> pids(static_cast<std::size_t>(std::max(0, ::proc_listallpids(nullptr, 0))) + 64);
    const int found = ::proc_listallpids(pids.data(), static_cast<int>(pids.size() * sizeof(int)));
    pids.resize(static_cast<std::size_t>(std::max(0, found)));
    for (const int pid : pids) {
        proc_bsdshortinfo info{};
        if (::proc_pidinfo(pid, PROC_PIDT_SHORTBSDINFO, 0, &info, sizeof info) == static_cast<int>(sizeof info))
            parents[pid] = info.pbsi_ppid;
    }
    return parents;
}

bool has_gpu_file(const fs::path&) { return false; }  // of OpenCL, which macOS has only for old programs

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace hpo
