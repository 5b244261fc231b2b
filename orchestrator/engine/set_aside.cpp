#include "orchestrator/engine/set_aside.hpp"

#include <cstdio>
#include <ctime>
#include <string>
#include <system_error>

#include "orchestrator/engine/runner.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo {

std::filesystem::path move_aside(const Study& study, const StudyFolder& folder, const Programs& programs, bool here) {
    std::error_code failed;
    if (!std::filesystem::exists(folder.path, failed)) return {};
    if (const auto ready = could_begin(study, programs, here); !ready) throw Fatal(ready.error().message);
    const auto lock = HolderLock::take(folder);
    if (!lock) throw Fatal(lock.error().message);
    char time[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(time, sizeof time, "-%Y%m%d-%H%M%S", std::localtime(&now));
    const auto old = folder.path.parent_path() / ".old";
    std::filesystem::create_directories(old, failed);
    auto aside = old / (folder.name() + time);
    for (int n = 2; std::filesystem::exists(aside, failed); ++n)
        aside = old / (folder.name() + time + '-' + std::to_string(n));
    std::filesystem::rename(folder.path, aside, failed);
    if (failed) throw Fatal("cannot move " + folder.path.string() + " aside: " + failed.message());
    std::fprintf(stderr, "hpo: the earlier study was moved to %s\n", aside.c_str());
    return aside;
}

void move_back(const std::filesystem::path& aside, const StudyFolder& folder) {
    std::error_code failed;
    if (aside.empty() || std::filesystem::exists(folder.path, failed)) return;
    std::filesystem::rename(aside, folder.path, failed);
    if (failed) return;
    std::filesystem::remove(aside.parent_path(), failed);  // only if nothing else is in it
    std::fprintf(stderr, "hpo: the earlier study was moved back to %s\n", folder.path.c_str());
}

}  // namespace hpo
