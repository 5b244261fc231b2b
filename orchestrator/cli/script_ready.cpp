#include "orchestrator/cli/script_ready.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

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

constexpr std::size_t most_files = 10'000;  ///< of a folder that are looked at for a similar name

/// "; did you mean 'train.py'?", of the files beside the one that is missing; empty: none is called similarly.
string similar_file(const fs::path& missing) {
    std::vector<string> names;
    std::error_code failed;
    const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
    for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
         entry.increment(failed))
        if (names.size() < most_files) names.push_back(entry->path().filename().string());
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view nearest = study::nearest(missing.filename().string(), candidates);
    return nearest.empty() ? "" : "; did you mean '" + printable(string(nearest)) + "'?";
}

/// $PATH of the study's programs; nothing: as here.
std::optional<string> path_of_study(const Study& study) {
    const auto own = study.environment.own.find("PATH");
    return own == study.environment.own.end() ? std::nullopt : own->second;
}

/// The file that the command's interpreter is to run; empty: there is none, or it depends on the trial.
string script_of(const std::vector<string>& command) {
    string word;
    if (const auto at = script::interpreter_arguments(command)) {
        word = command[*at];
    } else {
        const string program = fs::path(command.front()).filename().string();
        constexpr std::string_view shells[] = {"sh", "bash", "dash", "zsh", "ksh", "Rscript", "perl", "ruby", "node"};
        const bool known = std::find(std::begin(shells), std::end(shells), program) != std::end(shells);
        if (known && command.size() > 1) word = command[1];
    }
    return word.starts_with('-') || !script::placeholders(word).empty() ? "" : word;
}

}  // namespace

void refuse_unready_script(const Study& study, const string& file) {
    if (study.command.empty()) return;
    const auto refuse = [&](const char* key, const string& message) {
        // A study that was given its folders and templates is not written any more as its file is.
        const bool as_written = !file.empty() && study.home.empty() && study.files.empty();
        throw Refusal(error_at(as_written ? study.source : "", file.empty() ? study.name : file, key, message));
    };
    const string& program = study.command.front();
    const fs::path home = script::home_of(study);
    const bool names_path = program.find('/') != string::npos;
    if (script::placeholders(program).empty() &&
        script::path_of(names_path ? (home / program).string() : program, path_of_study(study)).empty()) {
        std::error_code ignored;
        const bool is_path = program.find('/') != string::npos;
        if (is_path && fs::exists(home / program, ignored))
            refuse("worker.command", "the program " + printable(program) + " cannot be executed (chmod +x?)");
        refuse("worker.command", "there is no program " + printable(program) +
                                     (is_path ? similar_file(home / program) : " on the path ($PATH)"));
    }
    std::error_code ignored;
    if (const string script = script_of(study.command); !script.empty() && !fs::exists(home / script, ignored))
        refuse("worker.command",
               "there is no file " + printable(script) + " in " + home.string() + similar_file(home / script));
    if (study.metrics && study.metrics->file.empty() && !script::gives(study.metrics->patterns, study.objective.metric))
        refuse("worker.metrics.stdout", "no pattern gives the objective, " + printable(study.objective.metric) +
                                            ": name it by a group, such as (?<" + study.objective.metric +
                                            ">{number})");
}

}  // namespace hpo
