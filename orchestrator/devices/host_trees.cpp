// Process trees and the memory that they hold.
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <unordered_map>

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

using Children = std::unordered_map<std::int64_t, std::vector<std::int64_t>>;

/// Returns the children of each process.
Children all_children(const fs::path& proc) {
    Children children;
    std::error_code failed;
    for (auto entry = fs::directory_iterator(proc, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string();
        std::int64_t pid = 0;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (read.ec != std::errc() || read.ptr != name.data() + name.size()) continue;
        if (const auto parent = parent_of(entry->path())) children[*parent].push_back(pid);
    }
    return children;
}

}  // namespace

std::optional<std::int64_t> proportional_memory(std::int64_t pid, const fs::path& root) {
    std::ifstream file(root / "proc" / std::to_string(pid) / "smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("Pss:")) return std::atoll(line.c_str() + 4) * 1024;
    return std::nullopt;
}

std::vector<std::vector<std::int64_t>> trees(std::span<const std::int64_t> roots, const fs::path& root) {
    std::vector<std::vector<std::int64_t>> all(roots.size());
    if (roots.empty()) return all;
    const Children children = all_children(root / "proc");
    for (std::size_t i = 0; i < roots.size(); ++i) {
        if (!parent_of(root / "proc" / std::to_string(roots[i]))) continue;
        std::vector<std::int64_t>& tree = all[i];
        tree.push_back(roots[i]);
        for (std::size_t next = 0; next < tree.size(); ++next)
            if (const auto below = children.find(tree[next]); below != children.end())
                for (const std::int64_t child : below->second)
                    // A pid that was reused while /proc was read could make a cycle.
                    if (std::find(tree.begin(), tree.end(), child) == tree.end()) tree.push_back(child);
    }
    return all;
}

std::vector<std::int64_t> tree_memory(std::span<const std::vector<std::int64_t>> trees, const fs::path& root) {
    std::vector<std::int64_t> all;
    for (const std::vector<std::int64_t>& tree : trees) {
        std::int64_t bytes = 0;
        for (const std::int64_t pid : tree) {
            const auto proportional = tree.size() > 1 ? proportional_memory(pid, root) : std::nullopt;
            bytes += proportional ? *proportional : resident_memory(pid, root);
        }
        all.push_back(bytes);
    }
    return all;
}

std::vector<std::int64_t> tree_memory(std::span<const std::int64_t> roots, const fs::path& root) {
    return tree_memory(trees(roots, root), root);
}

}  // namespace hpo
