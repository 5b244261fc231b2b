#include "orchestrator/engine/code_state.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "hpo/short_hash.hpp"
#include "orchestrator/engine/imported_files.hpp"
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

namespace {

/// Calls `visit(name, path, status)` for each argument of the script's command that is a file, and for the modules of
/// its own folder that a Python program imports.
template <class Visit>
void for_each_file(const Study& study, Visit&& visit) {
    const ScriptWorker* script = study.script();
    if (script == nullptr) return;
    const std::filesystem::path home = script::home_of(*script);
    const auto visit_file = [&](const std::string& name, const std::filesystem::path& path) {
        struct stat info {};
        const bool is_file = ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
        if (is_file) visit(name, path, info);
        return is_file;
    };
    for (const std::string& argument : script->command) {
        const std::filesystem::path path = home / argument;
        if (!visit_file(argument, path) || path.extension() != ".py") continue;
        for (const std::filesystem::path& imported : imported_files(path))
            visit_file(argument[0] == '/' ? imported.string() : imported.lexically_relative(home).string(), imported);
    }
}

/// Returns the hash of the file's bytes and their number. Empty if the file is large or cannot be read.
std::string fingerprint(const std::filesystem::path& path, const struct stat& info) {
    constexpr off_t most = 16 << 20;  // bytes
    std::ifstream file(path, std::ios::binary);
    if (info.st_size > most || !file) return {};
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    return short_hash(bytes) + '-' + std::to_string(bytes.size());
}

}  // namespace

std::string fingerprints_of_files(const Study& study) {
    std::string lines;
    for_each_file(study, [&](const std::string& argument, const auto& path, const struct stat& info) {
        const std::string print = argument.find('\n') == std::string::npos ? fingerprint(path, info) : "";
        if (!print.empty()) lines += print + ' ' + argument + '\n';
    });
    return lines;
}

std::vector<std::string> files_changed_since(const Study& study, const std::string& before, double time) {
    std::map<std::string, std::string> known;  // fingerprints by arguments
    std::istringstream lines(before);
    for (std::string print, argument; lines >> print && lines.get() && std::getline(lines, argument);)
        known[argument] = print;
    std::vector<std::string> changed;
    for_each_file(study, [&](const std::string& argument, const auto& path, const struct stat& info) {
        const auto found = known.find(argument);
        const bool differs =
            found != known.end() ? fingerprint(path, info) != found->second : static_cast<double>(info.st_mtime) > time;
        if (differs) changed.push_back(argument);
    });
    return changed;
}

std::string first_lines(std::string text, std::size_t most) {
    if (text.size() <= most) return text;
    const std::size_t last = text.rfind('\n', most);
    text.resize(last == std::string::npos ? 0 : last + 1);
    return text + "(more)";
}

}  // namespace hpo
