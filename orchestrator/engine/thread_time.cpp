#include "orchestrator/engine/thread_time.hpp"

#include <fstream>
#include <string>
#include <vector>

namespace hpo {

std::optional<ThreadTime> thread_time_of_tree(std::int64_t pid, const std::filesystem::path& proc) {
    constexpr double nanosecond = 1e-9;
    constexpr std::size_t most_processes = 256;  // limits the time of reading a fork bomb
    ThreadTime sum;
    bool any = false;
    std::vector<std::int64_t> processes{pid};
    for (std::size_t next = 0; next < processes.size() && next < most_processes; ++next) {
        std::error_code failed;
        const auto tasks = proc / std::to_string(processes[next]) / "task";
        for (const auto& task : std::filesystem::directory_iterator(tasks, failed)) {
            double running = 0, waiting = 0;
            if (std::ifstream(task.path() / "schedstat") >> running >> waiting) {
                sum.running += nanosecond * running;
                sum.waiting += nanosecond * waiting;
                any = true;
            }
            std::ifstream children(task.path() / "children");
            for (std::int64_t child = 0; children >> child;) processes.push_back(child);
        }
    }
    return any ? std::optional(sum) : std::nullopt;
}

}  // namespace hpo
