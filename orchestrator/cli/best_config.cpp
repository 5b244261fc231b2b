#include "orchestrator/cli/best_config.hpp"

#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "hpo/units.hpp"
#include "hpo/wire.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/export/trial_json.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/entries.hpp"
#include "orchestrator/study/step_name.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {
namespace {

bool is_native(const Study& study) { return study.command.empty() && has_worker(study); }

/// Everything the trial ran with: the study's fixed keys, its own parameters, and for the native worker its seed.
Params complete(const Study& study, const TrialRecord& trial) {
    Params all = study.worker;
    for (const auto& [name, value] : trial.params) all.insert_or_assign(name, value);
    if (is_native(study) && !all.contains("seed"))
        all["seed"] = static_cast<std::int64_t>(trial_seed(study.seed, static_cast<std::uint64_t>(trial.number)));
    return all;
}

/// Whether one of the given keys stands in for `key`, such as hidden for width.
bool is_replaced(const WorkerKey& key, const Params& given) {
    for (const auto& [name, value] : given)
        if (const WorkerKey* other = find_worker_key(name); other && has_choice(other->excludes, key.name)) return true;
    return false;
}

/// And what the native worker takes by default, for a program that has other defaults, and the epochs that the schedule
/// spans.
Params with_defaults(const Study& study, const TrialRecord& trial) {
    Params all = complete(study, trial);
    if (!is_native(study)) return all;
    for (const WorkerKey& key : worker_keys) {
        const bool of_training = key.section == "model" || key.section == "training" || key.name == "validation";
        if (!of_training || key.fallback.empty()) continue;
        if (!is_replaced(key, all)) all.try_emplace(std::string(key.name), default_value(key));
    }
    all["epochs"] = study.budget.epochs;
    return all;
}

/// Of a study that hpo does not train there is nothing to run: its parameters, for whoever trains them.
std::string parameters_as_yaml(const TrialRecord& trial) {
    Study holder;  // writes them as a script's fixed parameters
    holder.command = {"-"};
    holder.worker = trial.params;
    std::string text;
    for (const study::Group& group : study::groups_of(holder))
        if (group.section == "worker" && group.name == "params")
            for (const auto& [name, value] : group.fields) text += study::yaml_text(name) + ": " + value + '\n';
    return text;
}

std::string as_yaml(const Study& study, const TrialRecord& trial) {
    std::string head = "# The best of study " + study.name + ": trial " + std::to_string(trial.number) + ", " +
                       study.objective.metric + " " + short_number(*trial.value) + " at " + step_name(study) + " " +
                       std::to_string(trial.best_step) + ".\n";
    if (is_native(study)) head += "# hpo train best.yaml -o model.safetensors   (if this file is best.yaml)\n";
    if (!has_worker(study)) return head + parameters_as_yaml(trial);
    Study fixed = fix_parameters(study, trial.params);
    if (is_native(study)) fixed.worker = complete(study, trial);
    return head + write_study(fixed);
}

std::string as_json(const Study& study, const TrialRecord& trial) {
    const auto ordered = [](const Params& params) { return nlohmann::ordered_json(wire::from(params)); };
    const nlohmann::ordered_json json{{"schema", json_schema},
                                      {"study", study.name},
                                      {"trial", trial.number},
                                      {"metric", study.objective.metric},
                                      {"value", wire::from(*trial.value)},
                                      {"step", trial.best_step},
                                      {"params", ordered(trial.params)},
                                      {"worker", ordered(with_defaults(study, trial))}};
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

/// A script's as its command has it. Of the native worker a list without brackets and blanks: one word in every shell,
/// quoted or not.
std::string word_of(const Study& study, const Value& value) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    if (!list || !is_native(study)) return to_text(value);
    std::string text;
    for (const std::int64_t number : *list) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
}

/// A script takes what was sampled, the native worker's list is everything.
Params for_programs(const Study& study, const TrialRecord& trial) {
    return is_native(study) ? with_defaults(study, trial) : trial.params;
}

}  // namespace

std::string shell_word(const std::string& text) {
    const bool bare = !text.empty() && text.find_first_not_of(
                                           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789._-+=/:,@%") == std::string::npos;
    if (bare) return text;
    std::string word = "'";
    for (char c : text) c == '\'' ? word += "'\\''" : word += c;
    return word + "'";
}

std::string best_config(const Study& study, const TrialRecord& trial, const std::string& format) {
    if (format == "yaml") return as_yaml(study, trial);
    if (format == "json") return as_json(study, trial);
    std::string text;
    for (const auto& [name, value] : for_programs(study, trial)) {
        if (is_null(value)) continue;  // as in a trial's command
        if (format == "args")
            text += (text.empty() ? "" : " ") + shell_word("--" + name + "=" + word_of(study, value));
        else
            text += script::variable_of(name) + "=" + shell_word(word_of(study, value)) + "\n";
    }
    if (format == "args") text += "\n";
    return text;
}

}  // namespace hpo
