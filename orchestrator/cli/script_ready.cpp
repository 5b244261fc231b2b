#include "orchestrator/cli/script_ready.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "hpo/nearest.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/syntax/interpreter.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/study/diagnostics.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;
using std::string;

constexpr std::size_t max_files = 10'000;  ///< of a folder that are compared with a missing name

/// Returns "; did you mean 'train.py'?" if the folder of the missing file has a file with a similar name, else an empty
/// text.
string similar_file(const fs::path& missing) {
    std::vector<string> names;
    std::error_code failed;
    const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
        if (names.size() < max_files) names.push_back(entry->path().filename().string());
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view nearest = hpo::nearest(missing.filename().string(), candidates);
    return nearest.empty() ? "" : "; did you mean '" + printable(string(nearest)) + "'?";
}

/// Returns the $PATH that the study sets for its programs, or nothing if they inherit the one of this process.
std::optional<string> path_of_study(const Study& study) {
    const auto own = study.environment.own.find("PATH");
    return own == study.environment.own.end() ? std::nullopt : own->second;
}

/// Returns the file that the command's interpreter runs. Returns an empty text if there is none, or if it depends on
/// the trial.
string script_of(const std::vector<string>& command) {
    string file;
    if (const auto index = script::interpreter_arguments(command)) {
        file = command[*index];
    } else {
        const string program = fs::path(command.front()).filename().string();
        constexpr std::string_view shells[] = {"sh", "bash", "dash", "zsh", "ksh", "Rscript", "perl", "ruby", "node"};
        const bool known = std::find(std::begin(shells), std::end(shells), program) != std::end(shells);
        if (known && command.size() > 1) file = command[1];
    }
    return file.starts_with('-') || !script::placeholders(file).empty() ? "" : file;
}

}  // namespace

void refuse_unready_script(const Study& study, const string& file) {
    if (study.command.empty()) return;
    const auto refuse = [&](const char* key, const string& message) {
        // A study with a home folder or with templates was rewritten when they were filled in, so that its source no
        // longer matches the file's lines.
        const bool as_written = !file.empty() && study.home.empty() && study.files.empty();
        throw Refusal(error_at(as_written ? study.source : "", file.empty() ? study.name : file, key, message));
    };
    const string& program = study.command.front();
    const fs::path home = script::home_of(study);
    const bool is_path = program.find('/') != string::npos;
    if (script::placeholders(program).empty() &&
        script::path_of(is_path ? (home / program).string() : program, path_of_study(study)).empty()) {
        std::error_code ignored;
        if (is_path && fs::exists(home / program, ignored))
            refuse("worker.command", "the program " + printable(program) + " cannot be executed (chmod +x?)");
        refuse("worker.command", "there is no program " + printable(program) +
                                     (is_path ? similar_file(home / program) : " on the path ($PATH)"));
    }
    std::error_code ignored;
    if (const string script = script_of(study.command); !script.empty() && !fs::exists(home / script, ignored))
        refuse("worker.command",
               "there is no file " + printable(script) + " in " + home.string() + similar_file(home / script));
    if (study.metrics && study.metrics->file.empty() &&
        !script::captures(study.metrics->patterns, study.objective.metric))
        refuse("worker.metrics.stdout", "no pattern captures the objective, " + printable(study.objective.metric) +
                                            ": add a group of that name, such as (?<" + study.objective.metric +
                                            ">{number})");
}

}  // namespace hpo
