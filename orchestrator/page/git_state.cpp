#include "orchestrator/page/git_state.hpp"

#include <string>
#include <vector>

#include "orchestrator/engine/worker_output.hpp"

namespace hpo::page {

Json git_state(const Study& study) {
    const ScriptWorker* script = study.script();
    const std::string folder = !script || script->home.empty() ? "." : script->home;
    const auto git = [&](std::vector<std::string> arguments) {
        std::vector<std::string> command{"/usr/bin/env", "git", "-c", "core.fsmonitor=false", "-C", folder};
        command.insert(command.end(), arguments.begin(), arguments.end());
        WorkerOutput output = program_output(command, {{"GIT_OPTIONAL_LOCKS", "0"}});
        while (!output.text.empty() && output.text.back() == '\n') output.text.pop_back();
        return output;
    };
    const WorkerOutput commit = git({"rev-parse", "HEAD"});
    if (commit.status != 0) return nullptr;
    const WorkerOutput changed = git({"status", "--porcelain", "--untracked-files=no"});
    const std::string branch = git({"branch", "--show-current"}).text;
    return {{"commit", commit.text},
            {"branch", branch.empty() ? Json(nullptr) : Json(branch)},
            {"changed", changed.status == 0 ? Json(changed.text) : Json(nullptr)}};
}

}  // namespace hpo::page
