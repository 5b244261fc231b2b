#include "orchestrator/lookup/study_source.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "hpo/nearest.hpp"
#include "hpo/regular_file.hpp"
#include "hpo/result.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/sqlite_file.hpp"
#include "orchestrator/init/data_facts.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/study_cube.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/store/study_folder.hpp"
#include "orchestrator/study/edit.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace fs = std::filesystem;

Vocabulary known_parts() { return {sampler_vocabulary(), rule_vocabulary()}; }

namespace {

/// Throws the error of reading a study. Errors in overrides begin with "--set key=value: " and follow those in the
/// file, so that a message which begins with one is wrong usage. Replaces "--set" by the option that the user typed.
[[noreturn]] void refuse(std::string message, const Overrides& overrides) {
    const bool usage = message.starts_with("--set ");
    for (const auto& [assignment, typed] : overrides.typed) {
        const std::string shown = "--set " + assignment + ": ";
        for (std::size_t at = 0; (at = message.find(shown, at)) != std::string::npos; at += typed.size())
            message.replace(at, shown.size(), typed + ": ");
    }
    if (usage) throw Fatal(message, 2);
    throw Refusal(message);
}

/// Gives a study whose file has no key `stopping` its rules. They are the default's for a new study. A study that has
/// run keeps those that it began with, also if its budget, on which the default depends, has changed since: if it began
/// with rules, the stored text names them.
void settle_stopping(Study& study, bool fresh) {
    if (!study.default_stopping) return;
    const auto all = known_parts();
    study.stopping = *study.default_stopping;
    const fs::path stored = study_folder(study.name).yaml();
    std::error_code ignored;
    if (!fresh && fs::is_regular_file(stored, ignored))
        if (auto begun = read_study(stored, {}, all); begun && begun->stopping != study.stopping) {
            const auto automatic = read_study(stored, std::array{std::string("stopping=auto")}, all);
            if (begun->stopping.empty() || (automatic && begun->stopping == automatic->stopping))
                study.stopping = begun->stopping;
        }
    if (study.stopping.empty()) return;
    auto text = edit_study(study.source, study.name, std::array{KeyAndValue{"stopping", "auto"}}, all);
    study.source = text ? *std::move(text) : write_study(study);
}

/// Throws if the conditions of a study allow no configuration. `text` is what `file` has, or empty if keys were set.
void refuse_impossible(const Study& study, std::string_view text, const fs::path& file) {
    const auto cube = cube_of(study);
    if (!cube) return;  // the sampler says why
    if (const auto allowed = Allowed::make(*cube, study.where, study.seed); !allowed)
        throw Refusal(error_at(text, file.string(), study.where.empty() ? "space" : "where", allowed.error().message));
}

/// Returns the study file beside a missing one that was probably meant, or an empty path.
fs::path meant_by(const fs::path& missing) {
    std::error_code failed;
    for (const char* ending : {".yaml", ".yml"})
        if (fs::path with_ending = missing.string() + ending; fs::is_regular_file(with_ending, failed))
            return with_ending;
    std::vector<std::string> names;
    for (fs::directory_iterator entry(missing.has_parent_path() ? missing.parent_path() : ".", failed), end;
         !failed && entry != end; entry.increment(failed))
        if (const fs::path& path = entry->path(); path.extension() == ".yaml" || path.extension() == ".yml")
            names.push_back(path.filename().string());
    std::sort(names.begin(), names.end());
    const std::string missing_name = missing.filename().string();
    const std::string_view name = nearest(missing_name, {names.begin(), names.end()});
    return name.empty() ? fs::path() : missing.parent_path() / name;
}

/// Appends "KEY: BEFORE -> AFTER" to a list.
void append_change(std::string& list, const Difference& change) {
    list += (list.empty() ? "" : ", ") + change.key + ": " + change.before + " -> " + change.after;
}

}  // namespace

/// Returns the file of a study that is given by its file or its name.
static fs::path file_of(const std::string& name) {
    std::error_code ignored;
    const bool is_name = fs::status(name, ignored).type() == fs::file_type::not_found && is_study_name(name);
    if (!is_name) return name;
    const fs::path stored = study_folder(name).yaml();
    if (const auto regular = check_regular(stored); !regular) throw Fatal(regular.error().message);
    return stored;
}

std::string warnings_of(const std::string& name, const Overrides& overrides) {
    const std::string warnings = value_warnings(file_of(name), overrides.set);
    return warnings.empty() ? warnings : warnings + '\n';
}

Study load_study(const std::string& name, const Overrides& overrides, WithoutWorker without_worker) {
    const fs::path file = file_of(name);
    std::error_code ignored;
    if (file != name && !fs::exists(file, ignored)) no_such_study(name, "no file and no study");
    if (is_sqlite_file(file))
        throw Fatal(file.string() + ": this is no study file but a database; hpo import " + shell_word(file.string()) +
                    " stores the trials of a study of Optuna");
    const bool is_folder = fs::is_directory(file, ignored);
    if (file == name && fs::exists(file, ignored) && !init::format_of(name, is_folder).empty())
        throw Fatal(name + ": this is " + (is_folder ? "a folder" : "no study but data or a script") + "; hpo init " +
                    shell_word(name) + " writes a study for it");
    auto study = read_study(file, overrides.set, known_parts());
    if (!study) {
        const bool missing = fs::status(file, ignored).type() == fs::file_type::not_found;
        const fs::path meant = missing ? meant_by(file) : fs::path();
        refuse(study.error().message + (meant.empty() ? "" : "; did you mean " + meant.string() + "?"), overrides);
    }
    refuse_impossible(*study, overrides.set.empty() ? study->source : "", file);
    settle_stopping(*study, overrides.fresh);
    if (!study->has_worker() && without_worker == WithoutWorker::refused)
        throw Refusal(
            error_at(study->source, file.string(), "study",
                     "'worker' is missing: describe the training of a trial (task, data, model and training, or a "
                     "command), or use hpo ask-tell, whose trials another program trains"));
    return std::move(*study);
}

std::string learning_from(const Study& study) {
    return " Under another name, warm_start: [" + study.name + "] lets it learn from these trials.";
}

Result<Continuation> may_go_on(const Study& study, const std::string& before, const std::function<bool()>& valued,
                               const std::string& cure) {
    const auto stored = parse_stored_study(before, "the stored study", known_parts());
    if (!stored) return Error{"the stored study cannot be read:\n" + stored.error().message};
    const std::vector<Difference> differences = compare(*stored, study);
    const std::string refused = refusal(differences);
    if (!refused.empty() && (!refusal(compare(*stored, study, false)).empty() || valued()))
        return Error{"study " + study.name + " has run with other settings, and its trials would not be comparable:\n" +
                     refused + cure};
    std::string wider;
    for (const Difference& difference : differences)
        if (difference.key.starts_with("space.") && difference.refusal.empty()) append_change(wider, difference);
    Continuation changes;
    if (!wider.empty() && valued())
        changes.wider = "study " + study.name + " goes on in a wider space than that of its trials so far: " + wider;
    for (const Difference& back : compare(study, *stored))
        if (!back.refusal.empty()) append_change(changes.lasting, {back.key, back.after, back.before, {}});
    return changes;
}

}  // namespace hpo
