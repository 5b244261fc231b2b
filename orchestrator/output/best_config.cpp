#include "orchestrator/output/best_config.hpp"

#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "hpo/wire.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/entries.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/posterior.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo {
namespace {

/// Returns every key that the trial ran with: the study's fixed keys, the sampled parameters and, for the native
/// worker, the trial's seed.
Params complete(const Study& study, const TrialRecord& trial) {
    Params all = study.fixed;
    for (const auto& [name, value] : trial.params) all.insert_or_assign(name, value);
    if (study.native() && !all.contains("seed"))
        all["seed"] = static_cast<std::int64_t>(trial_seed(study.seed, static_cast<std::uint64_t>(trial.number)));
    return all;
}

/// Returns true if one of the given keys excludes `key`, as hidden excludes width.
bool is_replaced(const WorkerKey& key, const Params& given) {
    for (const auto& [name, value] : given)
        if (const WorkerKey* other = find_worker_key(name); other && has_choice(other->excludes, key.name)) return true;
    return false;
}

/// Adds the native worker's defaults to complete(), for a program whose own defaults differ, and the number of epochs,
/// from which the learning-rate schedule follows.
Params with_defaults(const Study& study, const TrialRecord& trial) {
    Params all = complete(study, trial);
    if (!study.native()) return all;
    all = fix_parameters(study, all).fixed;  // without the keys of other types of models
    for (const WorkerKey& key : worker_keys) {
        const bool affects_training = key.section == "model" || key.section == "training" || key.name == "validation";
        if (!affects_training || key.fallback.empty() || !applies(key, all)) continue;
        if (!is_replaced(key, all)) all.try_emplace(std::string(key.name), default_value(key));
    }
    all["epochs"] = study.budget.epochs;
    return all;
}

/// Formats the parameters alone. A study without a worker has no study file that hpo could run.
std::string parameters_as_yaml(const TrialRecord& trial) {
    Study script;  // the parameters are formatted as the fixed parameters of a script
    script.worker = ScriptWorker{.command = {"-"}};
    script.fixed = trial.params;
    std::string text;
    for (const study::Group& group : study::groups_of(script))
        if (group.section == "worker" && group.name == "params")
            for (const auto& [name, value] : group.fields) text += study::yaml_text(name) + ": " + value + '\n';
    return text;
}

std::string as_yaml(const Study& study, const TrialRecord& trial, const std::optional<Expected>& expected) {
    std::string head = "# The best of study " + study.name + (expected ? " by a model" : "") + ": trial " +
                       std::to_string(trial.number) + ", " + study.objective.metric + " " + short_number(*trial.value) +
                       (trial.seeds.empty() ? " at " + step_name(study) + " " + std::to_string(trial.best_step)
                                            : ", " + view::seeds_text(trial)) +
                       ".\n";
    if (expected) head += "# A further training is expected to reach " + view::expected_text(*expected) + ".\n";
    if (study.native()) head += "# hpo train best.yaml -o model.safetensors   (if this file is best.yaml)\n";
    if (!study.has_worker()) return head + parameters_as_yaml(trial);
    return head + write_study(fix_parameters(study, study.native() ? complete(study, trial) : trial.params));
}

std::string as_json(const Study& study, const TrialRecord& trial, const std::optional<Expected>& expected) {
    const auto ordered = [](const Params& params) { return nlohmann::ordered_json(wire::from(params)); };
    nlohmann::ordered_json json{{"schema", json_schema},
                                {"study", study.name},
                                {"trial", trial.number},
                                {"metric", study.objective.metric},
                                {"value", wire::from(*trial.value)},
                                {"step", trial.best_step},
                                {"params", ordered(trial.params)},
                                {"worker", ordered(with_defaults(study, trial))}};
    add_seeds(json, trial);
    if (expected)
        json["expected"] = {
            {"value", expected->value}, {"deviation", expected->deviation}, {"chance", expected->chance}};
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

/// Formats a value for the command line: for a script as in its trials' commands, for the native worker with lists as
/// "1,2,3", which is one word in every shell even without quotes.
std::string word_of(const Study& study, const Value& value) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
    if (!list || !study.native()) return to_text(value);
    std::string text;
    for (const std::int64_t number : *list) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
}

/// Returns the sampled parameters for a script, and all keys with their defaults for the native worker.
Params keys_for_shell(const Study& study, const TrialRecord& trial) {
    return study.native() ? with_defaults(study, trial) : trial.params;
}

}  // namespace

std::string best_config(const Study& study, const TrialRecord& trial, const std::string& format,
                        const std::optional<Expected>& expected) {
    if (format == "yaml") return as_yaml(study, trial, expected);
    if (format == "json") return as_json(study, trial, expected);
    std::string text;
    for (const auto& [name, value] : keys_for_shell(study, trial)) {
        if (is_null(value)) continue;  // a trial's command omits it too
        if (format == "args")
            text += (text.empty() ? "" : " ") + shell_word("--" + name + "=" + word_of(study, value));
        else
            text += script::variable_of(name) + "=" + shell_word(word_of(study, value)) + "\n";
    }
    if (format == "args") text += "\n";
    return text;
}

}  // namespace hpo
