#include "orchestrator/execution/adoptions.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/system.hpp"

namespace hpo {
namespace {

/// Returns true if the process runs another program than this one. A zombie runs none.
bool runs_another_program(pid_t pid) {
    struct stat own {
    }, its{};
    return ::stat("/proc/self/exe", &own) == 0 &&
           ::stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &its) == 0 &&
           (own.st_dev != its.st_dev || own.st_ino != its.st_ino);
}

}  // namespace

Adoptions::Adoptions()
    : adopts_(system::adopt_orphans()), spared_(adopts_ ? children_of(::getpid()) : std::vector<pid_t>()) {}

std::size_t Adoptions::kill() {
    if (!adopts_) return 0;
    std::erase_if(killed_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
    std::size_t found = 0;
    for (const pid_t pid : children_of(::getpid())) {
        if (std::ranges::find(spared_, pid) != spared_.end() || !runs_another_program(pid)) continue;
        // The pid cannot be reused before this process reaps it.
        if (::kill(pid, SIGKILL) != 0) continue;
        ++found;
        if (std::ranges::find(killed_, pid) == killed_.end()) killed_.push_back(pid);
    }
    return found;
}

}  // namespace hpo
