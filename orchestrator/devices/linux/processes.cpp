// Processes and their memory, from /proc.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>

#include "hpo/descriptor.hpp"
#include "orchestrator/devices/host.hpp"

namespace hpo {

namespace fs = std::filesystem;

namespace {

/// The file is "pid (any name) state parent ...". The name may contain spaces and brackets, so the last bracket counts.
std::optional<std::int64_t> parent_of(const fs::path& process) {
    const Descriptor file(::open((process / "stat").c_str(), O_RDONLY | O_CLOEXEC));
    char buffer[512];
    const ssize_t size = file ? ::read(file.get(), buffer, sizeof buffer) : 0;
    const std::string_view text(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
    const auto name_end = text.rfind(')');
    std::int64_t parent = 0;
    if (name_end == std::string_view::npos || text.size() < name_end + 5) return std::nullopt;
    const auto read = std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
    return read.ec == std::errc() ? std::optional(parent) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> proportional_memory(std::int64_t pid, const fs::path& root) {
    std::ifstream file(root / "proc" / std::to_string(pid) / "smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("Pss:")) return std::atoll(line.c_str() + 4) * 1024;
    return std::nullopt;
}

std::unordered_map<std::int64_t, std::int64_t> parents_of_processes(const fs::path& root) {
    std::unordered_map<std::int64_t, std::int64_t> parents;
    std::error_code failed;
    for (auto entry = fs::directory_iterator(root / "proc", failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        std::int64_t pid = 0;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
        if (const auto parent = parent_of(entry->path())) parents[pid] = *parent;
    }
    return parents;
}

}  // namespace hpo
