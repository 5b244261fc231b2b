// Checks of a study that need its space and its worker together.
#include <algorithm>
#include <cmath>
#include <map>

#include "hpo/batch_size.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/script/syntax/rank_prefix.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/batch_sizes.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

/// Returns integers that represent a parameter's values: all choices, or a range's first, second and last value.
std::vector<std::int64_t> samples_of(const ReadSpace& space, const ReadWorker& worker, string_view name) {
    const auto number = [](double value) { return static_cast<std::int64_t>(value); };
    for (const Dimension& dimension : space.space) {
        if (dimension.name != name) continue;
        std::vector<std::int64_t> numbers;
        for (const Value& choice : dimension.choices) numbers.push_back(number(number_or(choice, 1)));
        if (dimension.kind == Kind::categorical) return numbers;
        const double second = std::min(dimension.low + dimension.step.value_or(1), dimension.high);
        return {number(dimension.low), number(second), number(dimension.high)};
    }
    const auto fixed = worker.params.find(string(name));
    if (fixed != worker.params.end()) return {number(number_or(fixed->second, 1))};
    if (name == "batch_size") return {largest_auto_batch};  // at most
    return {number(default_number(name))};
}

/// Checks that a micro-batch has at least one sample.
void check_accumulation(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker) {
    for (const std::int64_t parts : samples_of(space, worker, "accumulation"))
        for (const std::int64_t size : samples_of(space, worker, "batch_size")) {
            if (parts <= size) continue;
            diagnostics.error(location_of(space, worker, "accumulation"), "'accumulation' of " + std::to_string(parts) +
                                                                              " is more than a 'batch_size' of " +
                                                                              std::to_string(size));
            return;
        }
}

/// Returns 'resources.trial.processes'.
const Node* processes_in(const Node* resources) {
    const Node* const trial = resources ? find(*resources, "trial") : nullptr;
    return trial ? find(*trial, "processes") : nullptr;
}

/// Checks that each of several processes of a native trial has a micro-batch.
void check_native_processes(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker,
                            std::int64_t processes, const Node* resources) {
    const auto grows_trees = [](const Value& type) { return type == Value(string("trees")); };
    const auto fixed = worker.params.find("type");
    if (fixed != worker.params.end() && grows_trees(fixed->second))
        diagnostics.error(worker.locations.at("type"), "trees grow in one process: remove 'resources.trial.processes'");
    for (std::size_t i = 0; i < space.space.size(); ++i)
        if (space.space[i].name == "type" && std::ranges::any_of(space.space[i].choices, grows_trees))
            diagnostics.error(space.locations[i],
                              "'trees' grow in one process: remove this choice or "
                              "'resources.trial.processes'");
    for (const std::int64_t size : samples_of(space, worker, "batch_size")) {
        const std::int64_t micro_batch = (size + processes - 1) / processes;
        if (micro_batch > 0 && (size + micro_batch - 1) / micro_batch >= processes) continue;
        if (const Node* place = processes_in(resources);
            place && !has(space, "batch_size") && worker.locations.count("batch_size") == 0) {
            diagnostics.error(place->location, "batches of up to " + std::to_string(size) +
                                                   " samples, which hpo chooses, cannot be "
                                                   "divided among " +
                                                   std::to_string(processes) +
                                                   " processes: set 'worker.training.batch_size' "
                                                   "to a multiple of " +
                                                   std::to_string(processes) + ", such as " +
                                                   std::to_string(size / processes * processes));
            return;
        }
        diagnostics.error(
            location_of(space, worker, "batch_size"),
            "a 'batch_size' of " + std::to_string(size) + " cannot be divided among the " + std::to_string(processes) +
                " processes of 'resources.trial.processes': use a multiple of " + std::to_string(processes));
        return;
    }
}

void check_native(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker) {
    const auto given = [&](string_view name) { return worker.locations.count(string(name)) != 0 || has(space, name); };
    const auto location = [&](string_view name) { return location_of(space, worker, name); };
    for (const WorkerKey& key : worker_keys)
        each_choice(key.excludes, [&](string_view other) {
            if (!given(key.name) || !given(other)) return;
            // Beside a key of `data.validation`, `validation` is given as the key `fraction`.
            const string written = key.section == "data." + string(other) ? "fraction" : string(other);
            diagnostics.error(location(key.name), "'" + string(key.name) + "' and '" + written +
                                                      "' exclude each other: " + string(key.meaning));
            diagnostics.note(location(other), "'" + written + "' is here");
        });
    check_accumulation(diagnostics, space, worker);
    const auto task = worker.params.find("task"), ranks = worker.params.find("class_metrics");
    if (task != worker.params.end() && task->second == Value(string("regression")) && ranks != worker.params.end() &&
        ranks->second == Value(true))
        diagnostics.error(location("class_metrics"),
                          "'class_metrics' are for classes and labels, and the task is regression");
    for (const WorkerKey& key : worker_keys) {
        const string condition(condition_of(key));
        // A key of another optimizer is harmless; one of other data or of another model is a mistake.
        if ((condition != "format" && condition != "type") || has(space, condition)) continue;
        const auto found = worker.params.find(condition);
        if (found == worker.params.end() && given(condition)) continue;  // its value is an error of its own
        const string used =
            found == worker.params.end() ? string(find_worker_key(condition)->fallback) : to_text(found->second);
        const string name = "'worker." + string(key.section) + "." + string(key.name) + "'";
        if (!applies_with(key, condition, used)) {
            if (given(key.name))
                diagnostics.error(location(key.name),
                                  name + " is for " + condition + ": " +
                                      hpo::choices_text(key.applies_when.substr(condition.size() + 1), " or "));
        } else if (key.required && !given(key.name)) {
            diagnostics.error(worker.location, name + " is missing: " + string(key.meaning));
        }
    }
}

/// Reports batches below policy.min_batch_size. Small batches use the hardware less well, so a study must allow them
/// explicitly. The sizes that `auto` allows the native worker depend on its data (refused_batch_size in
/// batch_sizes.hpp). A study without a worker has a program of its own, and no minimum unless it states one.
void check_batch_size(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker,
                      const Policy& policy) {
    const bool is_script = worker.script() != nullptr;
    const std::int64_t minimum = policy.min_batch_size.value_or(is_script ? largest_auto_batch : 0);
    const auto least = static_cast<double>(minimum);
    const auto refuse = [&](Location location, const string& subject, double size) {
        diagnostics.error(location, small_batch_text(subject, minimum, static_cast<std::int64_t>(size)));
    };
    bool searched = false;
    for (std::size_t i = 0; i < space.space.size(); ++i) {
        const Dimension& dimension = space.space[i];
        if (dimension.role != Role::batch_size) continue;
        if (searched)
            diagnostics.error(space.locations[i],
                              "a second parameter with role: batch_size; give one of them role: none");
        searched = true;
        double smallest = dimension.low;
        if (dimension.kind == Kind::categorical) {
            smallest = HUGE_VAL;
            for (const Value& choice : dimension.choices) smallest = std::min(smallest, number_or(choice, HUGE_VAL));
        }
        if (smallest < least)
            refuse(space.locations[i], "'" + dimension.name + "' of " + exact_number(smallest), smallest);
    }
    if (searched) return;
    const auto fixed = worker.params.find("batch_size");
    if (fixed != worker.params.end()) {
        const double size = number_or(fixed->second, HUGE_VAL);
        if (size < least) refuse(worker.locations.at("batch_size"), "'batch_size' of " + exact_number(size), size);
    } else if (worker.native() && worker.locations.count("batch_size") == 0 && !is_trees(worker.params)) {
        const auto size = static_cast<double>(largest_auto_batch);
        if (size < least) refuse(worker.location, "the default 'batch_size' of at most " + exact_number(size), size);
    }
}

/// Reports parameters that a script would find in the same variable of its environment.
void check_variables(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker) {
    std::map<string, string> names;  // by the variable
    const auto add = [&](const string& name) {
        const string variable = script::variable_of(name);
        const auto [first, is_new] = names.emplace(variable, name);
        if (is_new || first->second == name) return;
        diagnostics.error(location_of(space, worker, name),
                          "'" + first->second + "' and '" + name + "' would be one variable of the script's " +
                              "environment, " + variable + ": rename one of them, such as '" + name + "_2'");
        diagnostics.note(location_of(space, worker, first->second), "'" + first->second + "' is here");
    };
    for (const Dimension& dimension : space.space) add(dimension.name);
    for (const auto& [name, value] : worker.params) add(name);
}

/// Reports keys that the processes which train a trial together cannot have.
void check_processes(Diagnostics& diagnostics, const ReadWorker& worker) {
    const ScriptWorker& script = *worker.script();
    if (!script.preload.empty())
        diagnostics.error(worker.location,
                          "'worker.preload' and 'resources.trial.processes' exclude each other: a preloaded "
                          "interpreter is forked once for a trial; remove one of them");
    for (const std::string_view name : script::rank_variable_names)
        if (const auto own = worker.environment_locations.find(string(name)); own != worker.environment_locations.end())
            diagnostics.error(own->second, "hpo sets " + string(name) +
                                               " for each of the processes (resources.trial.processes): remove it "
                                               "from 'worker.environment'");
}

}  // namespace

bool has(const ReadSpace& space, string_view name) {
    return std::any_of(space.space.begin(), space.space.end(),
                       [&](const Dimension& dimension) { return dimension.name == name; });
}

Location location_of(const ReadSpace& space, const ReadWorker& worker, string_view name) {
    for (std::size_t i = 0; i < space.space.size(); ++i)
        if (space.space[i].name == name) return space.locations[i];
    const auto found = worker.locations.find(string(name));
    return found == worker.locations.end() ? worker.location : found->second;
}

void check_together(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker, const Policy& policy,
                    const Resources& resources, const Node* written_resources) {
    for (std::size_t i = 0; i < space.space.size(); ++i) {
        const auto fixed = worker.locations.find(space.space[i].name);
        if (fixed == worker.locations.end()) continue;
        diagnostics.error(space.locations[i],
                          "'" + space.space[i].name + "' is set in 'space' and in 'worker': keep one");
        diagnostics.note(fixed->second, "it is fixed here");
    }
    if (worker.script()) check_placeholders(diagnostics, space, worker, resources);
    if (worker.script() && resources.trial.processes > 1) check_processes(diagnostics, worker);
    if (const ScriptWorker* script = worker.script(); script && (script->metrics || resources.trial.processes > 1) &&
                                                      script->shim.empty() && !diagnostics.accepts_earlier())
        check_variables(diagnostics, space, worker);
    if (worker.native()) check_native(diagnostics, space, worker);
    if (worker.native() && resources.trial.processes > 1)
        check_native_processes(diagnostics, space, worker, resources.trial.processes, written_resources);
    check_batch_size(diagnostics, space, worker, policy);
    check_message_size(diagnostics, space, worker);
}

}  // namespace hpo::study
