// Process trees and the memory that they hold.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "orchestrator/devices/host.hpp"

namespace hpo {

namespace fs = std::filesystem;

std::vector<std::vector<std::int64_t>> trees(std::span<const std::int64_t> roots, const fs::path& root) {
    std::vector<std::vector<std::int64_t>> all(roots.size());
    if (roots.empty()) return all;
    const auto parents = parents_of_processes(root);
    std::unordered_map<std::int64_t, std::vector<std::int64_t>> children;
    for (const auto& [pid, parent] : parents) children[parent].push_back(pid);
    for (std::size_t i = 0; i < roots.size(); ++i) {
        if (!parents.contains(roots[i])) continue;
        std::vector<std::int64_t>& tree = all[i];
        tree.push_back(roots[i]);
        for (std::size_t next = 0; next < tree.size(); ++next)
            if (const auto below = children.find(tree[next]); below != children.end())
                for (const std::int64_t child : below->second)
                    // A pid that was reused while the processes were read could make a cycle.
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

}  // namespace hpo
