#include "orchestrator/preview/script_ready.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <variant>
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
std::optional<string> path_of(const ScriptWorker& script) {
    const auto own = script.environment.own.find("PATH");
    return own == script.environment.own.end() ? std::nullopt : own->second;
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

/// Returns true if the text names this file without a folder, as in config.json, --config=./config.json or
/// @config.json.
bool names_file(std::string_view text, std::string_view name) {
    const auto is_part = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    };
    for (auto at = text.find(name); at != string::npos; at = text.find(name, at + 1)) {
        std::string_view before = text.substr(0, at);
        if (before.ends_with("./")) before.remove_suffix(2);
        const std::string_view after = text.substr(at + name.size());
        const bool begins = before.empty() || !(is_part(before.back()) ||
                                                std::string_view("./}").find(before.back()) != std::string_view::npos);
        const bool ends = after.empty() || !(is_part(after.front()) || after.front() == '.' || after.front() == '/');
        if (begins && ends) return true;
    }
    return false;
}

/// The ways by which a script may find a file that is written for each trial.
struct TrialFileUse {
    bool is_named = false;          ///< true if an argument names it without a folder
    bool is_found = false;          ///< true if the script gets its path, or runs in its folder
    bool knows_folder = false;      ///< true if the script gets the path of the trial's folder
    std::optional<fs::path> other;  ///< the file of the same name in the folder in which the script runs
};

TrialFileUse use_of(const ScriptWorker& script, const string& name) {
    TrialFileUse use;
    string cwd = script.cwd;
    while (cwd.ends_with("/") || cwd.ends_with("/.")) cwd.pop_back();
    use.is_found = cwd == "{folder}";
    std::vector<string> texts = script.command;
    for (const auto& [variable, value] : script.environment.own) texts.push_back(value.value_or(""));
    for (const string& text : texts) {
        use.is_found = use.is_found || text.find("{folder}/" + name) != string::npos;
        for (const std::string_view braced : script::placeholders(text))
            use.knows_folder =
                use.knows_folder || braced == "folder" || braced == "params_file" || braced.starts_with("params:");
    }
    for (const string& argument : script.command) use.is_named = use.is_named || names_file(argument, name);
    const fs::path other = fs::path(script::home_of(script)) / script.cwd / name;
    std::error_code ignored;
    if (script::placeholders(script.cwd).empty() && fs::exists(other, ignored)) use.other = other.lexically_normal();
    return use;
}

string cure_of(const string& name) {
    return "write {folder}/" + name + ", or let the script run in the trial's folder by cwd: \"{folder}\"";
}

/// Returns the program that the first line of an executable script names but that is missing; else an empty text.
string missing_interpreter(const string& script, const std::optional<string>& path) {
    std::ifstream stream(script, std::ios::binary);
    string line(256, '\0');  // as much as the system reads
    stream.read(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(static_cast<std::size_t>(stream.gcount()));
    if (!line.starts_with("#!")) return {};
    line.resize(std::min(line.find_first_of("\r\n"), line.size()));
    std::istringstream words(line.substr(2));
    string program, argument;
    words >> program >> argument;
    if (program.empty()) return {};
    if (script::path_of(program).empty()) return program;
    const bool by_env = fs::path(program).filename() == "env" && !argument.empty() && !argument.starts_with('-') &&
                        argument.find('=') == string::npos;
    return by_env && script::path_of(argument, path).empty() ? argument : "";
}

string content_of(const string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::vector<string> shadowed_files(const Study& study) {
    std::vector<string> warnings;
    const ScriptWorker* script = study.script();
    if (!script) return warnings;
    for (const auto& [name, file] : script->files) {
        const TrialFileUse use = use_of(*script, name);
        if (!use.is_found && use.other)
            warnings.push_back("the script may read " + printable(use.other->string()) + " instead of the " + name +
                               " that is written for each trial: in the command " + cure_of(name));
    }
    return warnings;
}

string program_on_path(const ScriptWorker& script) {
    const string& program = script.command.front();
    const bool named = program.find('/') == string::npos && script::placeholders(program).empty();
    return named ? script::path_of(program, path_of(script)) : string();
}

std::optional<ScriptProblem> missing_program(const Study& study) {
    if (!study.script()) return std::nullopt;
    const ScriptWorker& script = *study.script();
    const auto problem = [](const string& message) { return ScriptProblem{"worker.command", message}; };
    const string& program = script.command.front();
    const fs::path home = script::home_of(script);
    const bool is_path = program.find('/') != string::npos;
    std::error_code ignored;
    if (script::placeholders(program).empty()) {
        const std::optional<string> path = path_of(script);
        const string found = script::path_of(is_path ? (home / program).string() : program, path);
        if (found.empty() && is_path && fs::exists(home / program, ignored))
            return problem("the program " + printable(program) + " cannot be executed (chmod +x?)");
        if (found.empty())
            return problem("there is no program " + printable(program) +
                           (is_path ? similar_file(home / program) : " on the path ($PATH)"));
        if (const string missing = missing_interpreter(found, path); !missing.empty())
            return problem("the first line of " + printable(found) + " names the program " + printable(missing) +
                           ", which is not there");
    }
    const string source = script_of(script.command);
    if (source.empty()) return std::nullopt;
    if (!fs::exists(home / source, ignored))
        return problem("there is no file " + printable(source) + " in " + home.string() + similar_file(home / source));
    if (::access((home / source).c_str(), R_OK) != 0)
        return problem("the file " + printable((home / source).string()) + " cannot be read (chmod +r?)");
    return std::nullopt;
}

std::optional<string> missing_data(const Study& study) {
    const auto path = study.fixed.find("path");
    if (study.script() || path == study.fixed.end() || !std::holds_alternative<string>(path->second)) return {};
    const string& data = std::get<string>(path->second);
    const char* datasets = std::getenv("HPO_DATASETS");
    std::error_code ignored;
    for (const fs::path& folder : {fs::path(), fs::path(datasets ? datasets : ""), fs::path("/usr/share/datasets")})
        if (fs::exists(folder / data, ignored)) {
            if (::access((folder / data).c_str(), R_OK) == 0) return {};
            return "the data " + printable((folder / data).string()) + " cannot be read (chmod +r?)";
        }
    return "there is no data " + printable(data);
}

void refuse_unready_script(const Study& study, const string& file, bool here) {
    if (!study.script()) return;
    const ScriptWorker& script = *study.script();
    const auto refuse = [&](const char* key, const string& message) {
        // A study with a home folder or with templates was rewritten when they were filled in, so that its source no
        // longer matches the file's lines. The file's name is that of a study if its stored file was read.
        const bool as_written = !file.empty() && script.home.empty() && script.files.empty();
        const string text = as_written ? study.source : file.empty() ? "" : content_of(file);
        throw Refusal(error_at(text, file.empty() ? study.name : file, key, message));
    };
    if (const auto problem = here ? missing_program(study) : std::nullopt) refuse(problem->key, problem->message);
    for (const auto& [name, item] : script.files)
        if (const TrialFileUse use = use_of(script, name);
            use.is_named && !use.is_found && (use.other || !use.knows_folder))
            refuse("worker.command",
                   "the script would take " + name + " for a file of the folder in which it runs" +
                       (use.other ? ", " + printable(use.other->string()) + "," : "") +
                       " and not for the one that is written for each trial (worker.files): " + cure_of(name));
    if (script.metrics && script.metrics->file.empty() &&
        !script::captures(script.metrics->patterns, study.objective.metric))
        refuse("worker.metrics.stdout", "no pattern captures the objective, " + printable(study.objective.metric) +
                                            ": add a group of that name, such as (?<" + study.objective.metric +
                                            ">{number})");
}

}  // namespace hpo
