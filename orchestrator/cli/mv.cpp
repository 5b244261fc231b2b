// hpo mv: gives a study another name.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/slurm/study_job.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::commands {
namespace {

namespace fs = std::filesystem;

/// Returns the study file with another name in its line `study:`, which stands at the left of a stored file.
std::string with_name(const std::string& source, const std::string& name, const std::string& file) {
    const std::size_t line = source.starts_with("study:") ? 0 : source.find("\nstudy:");
    if (line == std::string::npos)
        throw Fatal(file + ": has no line that begins with 'study:', so it cannot be given another name");
    const std::size_t at = source[line] == '\n' ? line + 1 : line;
    std::string renamed =
        source.substr(0, at) + "study: \"" + name + '"' + source.substr(std::min(source.size(), source.find('\n', at)));
    if (or_fail(parse_stored_study(renamed, file)).name != name)  // never break a study
        throw Fatal(file + ": cannot be given another name");
    return renamed;
}

int move_study(const std::string& argument, const std::string& name) {
    const StudyFolder from = choose_study(argument, Unbegun::allowed);
    if (!is_study_name(name))
        throw Fatal(
            "'" + printable(name) + "' is no name of a study: 1 to 64 of A-Z a-z 0-9 . _ -, no '.' or '-' first", 2);
    if (name.find_first_not_of("0123456789") == std::string::npos)
        throw Fatal("'" + name + "' would be taken for a trial's number: choose a name with a letter", 2);
    const StudyFolder to{from.path.parent_path() / name};
    std::error_code problem;
    if (fs::is_symlink(from.path, problem)) throw Fatal(from.path.string() + ": a link to another place");
    if (fs::exists(fs::symlink_status(to.path, problem))) throw Fatal(to.path.string() + ": exists already");
    slurm::RealCommands commands(slurm::command_limit());
    slurm::refuse_change_under_job(commands, from);
    (void)choose_study(argument);                             // throws if the study has not begun
    const HolderLock lock = or_fail(HolderLock::take(from));  // no process runs the study meanwhile
    // The most recent study is the one that ran last, which a new name does not change.
    std::error_code unknown;
    const auto changed = last_change(from);
    // The name inside comes first: after a kill between the two, the same command does the rest.
    {
        const auto store = or_fail(open_store(from.database()));
        const std::string renamed = with_name(store->source(), name, from.yaml().string());
        or_fail(store->set_source(renamed));
        or_fail(replace_file(from.yaml(), renamed));
    }
    fs::last_write_time(from.database(), changed, unknown);
    fs::rename(from.path, to.path, problem);
    if (problem) throw Fatal(to.path.string() + ": " + problem.message());
    print(printable(from.path.string()) + " is now " + printable(to.path.string()) + '\n');
    return 0;
}

}  // namespace

CommandAction mv(CLI::App& app) {
    struct Arguments {
        std::string study, name;
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("STUDY", arguments->study, "A study that does not run: its name or folder")->required();
    app.add_option("NEW", arguments->name, "Its new name, which no other study has")->required();
    return [arguments] { return move_study(arguments->study, arguments->name); };
}

}  // namespace hpo::commands
