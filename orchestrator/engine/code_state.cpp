#include "orchestrator/engine/code_state.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "orchestrator/engine/worker_output.hpp"
#include "orchestrator/script/home.hpp"

namespace hpo {

CodeState code_state(const Study& study) {
    constexpr std::size_t most_changed = 8192;  // bytes
    const ScriptWorker* script = study.script();
    const std::string folder = !script || script->home.empty() ? "." : script->home;
    const auto git = [&](std::vector<std::string> arguments) {
        std::vector<std::string> command{"/usr/bin/env",         "timeout", "3",   "git", "-c",
                                         "core.fsmonitor=false", "-C",      folder};
        command.insert(command.end(), arguments.begin(), arguments.end());
        WorkerOutput output = program_output(command, {{"GIT_OPTIONAL_LOCKS", "0"}});
        while (!output.text.empty() && output.text.back() == '\n') output.text.pop_back();
        return output;
    };
    const WorkerOutput commit = git({"rev-parse", "HEAD"});
    if (commit.status != 0) return {};
    CodeState code{commit.text, git({"branch", "--show-current"}).text, ""};
    const WorkerOutput changed = git({"status", "--porcelain", "--untracked-files=no"});
    code.changed = changed.status == 0 ? changed.text : "(git status was too slow or failed)";
    code.changed = first_lines(std::move(code.changed), most_changed);
    return code;
}

std::vector<std::string> files_changed_after(const Study& study, double time) {
    std::vector<std::string> changed;
    const ScriptWorker* script = study.script();
    if (script == nullptr) return changed;
    const std::filesystem::path home = script::home_of(*script);
    for (const std::string& argument : script->command) {
        struct stat info {};
        if (::stat((home / argument).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
        if (static_cast<double>(info.st_mtime) > time) changed.push_back(argument);
    }
    return changed;
}

std::string first_lines(std::string text, std::size_t most) {
    if (text.size() <= most) return text;
    const std::size_t last = text.rfind('\n', most);
    text.resize(last == std::string::npos ? 0 : last + 1);
    return text + "(more)";
}

}  // namespace hpo
