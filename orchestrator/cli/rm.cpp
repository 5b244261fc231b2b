// hpo rm: removes studies with all that their folders hold.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/slurm/study_job.hpp"
#include "orchestrator/store/holder_lock.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

namespace fs = std::filesystem;

/// A study that no other process can begin to run while it is removed.
struct Doomed {
    StudyFolder folder;
    HolderLock lock;
};

/// Returns "runs/early: 214 files, 3.1 MB".
std::string contents_text(const StudyFolder& folder) {
    std::uintmax_t files = 0, bytes = 0;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path, ignored)) {
        if (!entry.is_regular_file(ignored) || entry.is_symlink(ignored)) continue;
        ++files;
        bytes += entry.file_size(ignored);
    }
    return folder.path.string() + ": " + std::to_string(files) + " files, " + bytes_text(static_cast<double>(bytes));
}

Doomed take(const std::string& argument) {
    if (argument.empty()) throw Fatal("name the study to remove", 2);
    const StudyFolder folder = choose_study(argument, Unbegun::allowed);
    std::error_code ignored;
    if (fs::is_symlink(folder.path, ignored))
        throw Fatal(folder.path.string() + ": a link to another place; remove the study there, then the link");
    slurm::RealCommands commands(slurm::command_limit());
    slurm::refuse_change_under_job(commands, folder);
    return {folder, or_fail(HolderLock::take(folder))};
}

/// Throws Fatal unless the user agrees.
void ask(const std::vector<Doomed>& studies) {
    for (const Doomed& one : studies) print(printable(contents_text(one.folder)) + '\n');
    if (!view::is_terminal(STDIN_FILENO)) throw Fatal("nothing was removed: add --yes where nobody can be asked", 2);
    print(studies.size() == 1 ? "Remove it, with all its results? [y/N] "
                              : "Remove them, with all their results? [y/N] ");
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "Y" && answer != "yes") throw Fatal("nothing was removed");
}

/// Renames the folder first: a study is there as a whole or not at all, whenever this process is killed.
void remove(const Doomed& study) {
    const fs::path aside =
        study.folder.path.parent_path() / ("." + study.folder.name() + ".removed-" + std::to_string(::getpid()));
    std::error_code problem;
    fs::rename(study.folder.path, aside, problem);
    if (problem) throw Fatal(study.folder.path.string() + ": " + problem.message());
    fs::remove(aside / "study.db", problem);  // without study.db, a folder left after a kill is no study
    if (!problem) fs::remove_all(aside, problem);
    if (problem) throw Fatal(aside.string() + ": the study is gone, but this folder is left: " + problem.message());
    print("removed " + printable(study.folder.path.string()) + '\n');
}

}  // namespace

CommandAction rm(CLI::App& app) {
    struct Arguments {
        std::vector<std::string> studies;
        bool yes = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    app.add_option("STUDY", arguments->studies, "Studies that do not run: their names or folders")->required();
    app.add_flag("-y,--yes", arguments->yes, "Do not ask");
    return [arguments] {
        std::vector<Doomed> studies;
        for (const std::string& argument : arguments->studies) {
            const fs::path path = choose_study(argument, Unbegun::allowed).path;
            const auto is_named = [&](const Doomed& one) { return one.folder.path == path; };
            if (std::none_of(studies.begin(), studies.end(), is_named)) studies.push_back(take(argument));
        }
        if (!arguments->yes) ask(studies);
        for (const Doomed& one : studies) remove(one);
        return 0;
    };
}

}  // namespace hpo::commands
