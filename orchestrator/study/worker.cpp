#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

#include "hpo/batch_size.hpp"
#include "hpo/tasks.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/script/syntax/interpreter.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/rank_prefix.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/batch_sizes.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

constexpr std::array<string_view, 3> sections{"data", "model", "training"};

/// Returns a list of scalars as one scalar, a line of CSV; any other node as it is.
Node as_line(const Node& node) {
    const auto is_scalar = [](const Node& item) { return item.kind == Node::Kind::scalar; };
    if (node.kind != Node::Kind::list || !std::all_of(node.items.begin(), node.items.end(), is_scalar)) return node;
    Node line{.kind = Node::Kind::scalar, .location = node.location, .plain = false};
    for (std::size_t i = 0; i < node.items.size(); ++i) {
        const string& item = node.items[i].text;
        if (i > 0) line.text += ',';
        if (item.find_first_of(",\" ") == string::npos) {
            line.text += item;
            continue;
        }
        line.text += '"';
        for (const char c : item) line.text += c == '"' ? string("\"\"") : string(1, c);
        line.text += '"';
    }
    return line;
}

void read_native(Diagnostics& diagnostics, Fields& worker, ReadWorker& result) {
    const auto take_as = [&](Fields& fields, string_view name, const WorkerKey& key) {
        const Node* node = fields.take(name);
        if (node == nullptr) return;
        result.locations.emplace(key.name, node->location);
        Node line = key.listed ? as_line(*node) : *node;
        if (key.name == "task") line.text = present_task(line.text);
        if (auto value = option_value(diagnostics, line, option_of(key)))
            result.params.emplace(std::string(key.name), std::move(*value));
    };
    const auto take = [&](Fields& fields, const WorkerKey& key) { take_as(fields, key.name, key); };
    // The fraction that validates is the key itself where nothing else is said.
    const auto read_validation = [&](const Node& map) {
        Fields fields(diagnostics, &map, "worker.data.validation");
        take_as(fields, "fraction", *find_worker_key("validation"));
        for (const WorkerKey& key : worker_keys)
            if (key.section == "data.validation") take(fields, key);
        fields.finish();
    };
    for (const WorkerKey& key : worker_keys)
        if (key.section.empty()) take(worker, key);
    for (const string_view section : sections) {
        const Node* node = worker.take(section);
        if (node == nullptr || node->kind == Node::Kind::null) continue;
        Fields fields(diagnostics, node, "worker." + string(section));
        const Node* validation = section == "data" ? find(*node, "validation") : nullptr;
        const bool is_map = validation != nullptr && validation->kind == Node::Kind::map;
        for (const WorkerKey& key : worker_keys)
            if (key.section == section && !(is_map && key.name == "validation")) take(fields, key);
        if (is_map) {
            fields.take("validation");
            read_validation(*validation);
        }
        fields.finish();
    }
}

void read_metrics(Diagnostics& diagnostics, const Node* node, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    // hpo itself starts a command with a placeholder and reads its output.
    for (const string& argument : script.command)
        if (!script::placeholders(argument).empty()) script.metrics.emplace();
    if (!script::placeholders(script.cwd).empty() || !script.files.empty()) script.metrics.emplace();
    for (const auto& [name, value] : script.environment.own)
        if (value && !script::placeholders(*value).empty()) script.metrics.emplace();
    if (node == nullptr || node->kind == Node::Kind::null) return;
    script.metrics.emplace();
    Fields fields(diagnostics, node, "worker.metrics", "file: metrics.csv");
    const Node* patterns = fields.take("stdout");
    const Node* file = fields.take("file");
    fields.finish();
    const auto add = [&](const Node& item) {
        const auto pattern = text(diagnostics, item, "worker.metrics.stdout");
        if (!pattern) return;
        if (const string problem = script::problem_of_pattern(*pattern); !problem.empty())
            diagnostics.error(item.location, "the pattern '" + printable(*pattern) + "' " + problem);
        script.metrics->patterns.push_back(*pattern);
    };
    if (patterns != nullptr && patterns->kind == Node::Kind::list)
        for (const Node& item : patterns->items) add(item);
    else if (patterns != nullptr && patterns->kind != Node::Kind::null)
        add(*patterns);
    if (file == nullptr || file->kind == Node::Kind::null) return;
    result.file_location = file->location;
    if (const auto path = text(diagnostics, *file, "worker.metrics.file")) script.metrics->file = *path;
    if (!script.metrics->patterns.empty())
        diagnostics.error(file->location, "'worker.metrics' is read from 'stdout' or from 'file': keep one");
}

/// Reads `step` and `terminal`, which apply to scripts whose output hpo reads.
void read_output_keys(Diagnostics& diagnostics, Fields& worker, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    const Node* step = worker.take("step");
    const Node* terminal = worker.take("terminal");
    for (const auto& [node, name] : {std::pair{step, "step"}, std::pair{terminal, "terminal"}})
        if (node != nullptr && !script.metrics)
            diagnostics.error(node->location, "'worker." + string(name) +
                                                  "' is for programs whose output hpo reads: give the command a "
                                                  "placeholder, such as \"--lr={lr}\", or add 'metrics: {}'");
    if (!script.metrics) return;
    if (step != nullptr)
        if (const auto reports = whole(diagnostics, *step, "worker.step", 1, 1e6)) script.metrics->reports = *reports;
    if (terminal == nullptr) return;
    if (const auto use = word(diagnostics, *terminal, "worker.terminal", {"auto", "on", "off"}))
        script.metrics->terminal = static_cast<TerminalUse>(*use);
    if (script.metrics->terminal == TerminalUse::on && !script.preload.empty())
        diagnostics.error(terminal->location,
                          "'worker.terminal: on' and 'worker.preload' exclude each other: a preloaded interpreter has "
                          "already opened its output, which is not buffered");
}

bool is_module(string_view name) {
    const auto is_letter = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    bool begins = true;
    for (const char c : name) {
        if (c == '.' ? begins : !is_letter(c) || (begins && std::isdigit(static_cast<unsigned char>(c)) != 0))
            return false;
        begins = c == '.';
    }
    return !begins;
}

void read_preload(Diagnostics& diagnostics, const Node* node, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    if (node == nullptr || node->kind == Node::Kind::null) return;
    const auto add = [&](const Node& item) {
        const auto name = text(diagnostics, item, "worker.preload");
        if (!name) return;
        if (is_module(*name))
            script.preload.push_back(*name);
        else
            diagnostics.error(
                item.location,
                "'" + printable(*name) + "' is not the name of a Python module, such as torch or mypackage.data");
    };
    if (node->kind == Node::Kind::list)
        for (const Node& item : node->items) add(item);
    else
        add(*node);
    if (!script.preload.empty() && !script::interpreter_arguments(script.command))
        diagnostics.error(node->location,
                          "'worker.preload' imports before the script begins: 'worker.command' must name a Python "
                          "interpreter and a script that is the same for all trials, such as [python3, train.py]");
}

/// Reads `shim`. A stand-in then reports for the script, so hpo must start the script and read its metrics.
void read_shim(Diagnostics& diagnostics, const Node* node, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    if (node == nullptr || node->kind == Node::Kind::null) return;
    const auto name = text(diagnostics, *node, "worker.shim");
    if (!name) return;
    if (std::find(shims.begin(), shims.end(), *name) == shims.end())
        return diagnostics.error(node->location,
                                 "'worker.shim' is wandb or nni, the package whose place a stand-in takes, "
                                 "found '" +
                                     printable(*name) + "'");
    script.shim = *name;
    if (!script.metrics) script.metrics.emplace();
}

/// Reads `environment`: `off`, or variables, each with a text or with null for the value that hpo was started with.
void read_environment(Diagnostics& diagnostics, const Node* node, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    WorkerEnvironment& environment = script.environment;
    if (node == nullptr || node->kind == Node::Kind::null) return;
    if (node->kind == Node::Kind::scalar && node->text == "off") {
        environment.tuned = false;
        return;
    }
    const Fields fields(diagnostics, node, "worker.environment", "OMP_NUM_THREADS: 2");
    if (fields.node() == nullptr) return;
    for (const Entry& entry : node->entries) {
        const bool is_variable = !entry.key.empty() && entry.key.find_first_of(string_view("=\0", 2)) == string::npos;
        if (!is_variable || entry.key.starts_with("HPO_") || entry.key == "CUDA_VISIBLE_DEVICES") {
            diagnostics.error(entry.location,
                              "'" + printable(entry.key) + "' cannot be set in 'worker.environment'" +
                                  (is_variable ? ": hpo sets it to identify the trial and its GPU" : ""));
            continue;
        }
        if (entry.value.kind == Node::Kind::null) {
            environment.own.emplace(entry.key, std::nullopt);
        } else if (entry.value.kind == Node::Kind::scalar && entry.value.text.find('\0') == string::npos) {
            environment.own.emplace(entry.key, entry.value.text);
            result.environment_locations.emplace(entry.key, entry.value.location);
        } else {
            diagnostics.error(entry.value.location, "'worker.environment." + printable(entry.key) +
                                                        "' must be a text, or null for the value that hpo has");
        }
    }
}

/// Reads folders, and files that are written for each trial.
void read_folders(Diagnostics& diagnostics, Fields& worker, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    const auto same_for_all = [&](const Node& node, string_view key, const string& path, string_view cure) {
        if (!script::placeholders(path).empty())
            diagnostics.error(
                node.location,
                "'worker." + string(key) + "' is the same for all trials and has no placeholders: " + string(cure));
    };
    const auto folder = [&](string_view key, string& into, Location& location) {
        const Node* node = worker.take(key);
        if (node == nullptr || node->kind == Node::Kind::null) return;
        location = node->location;
        if (const auto path = text(diagnostics, *node, "worker." + string(key))) into = *path;
    };
    folder("home", script.home, result.home_location);
    if (!script.home.empty())
        same_for_all(*find(*worker.node(), "home"), "home", script.home, "a trial's own folder is cwd: \"{folder}\"");
    folder("cwd", script.cwd, result.cwd_location);
    const Node* files = worker.take("files");
    if (files == nullptr || files->kind == Node::Kind::null) return;
    const Fields fields(diagnostics, files, "worker.files", "config.yaml: template.yaml");
    if (fields.node() == nullptr) return;
    for (const Entry& entry : files->entries) {
        if (!script::is_file_name(entry.key) || entry.key == "params.json") {
            diagnostics.error(entry.location,
                              "'" + printable(entry.key) +
                                  "' is not a valid name for a file in a trial's folder: letters, digits, '_', '-' "
                                  "and '.', not params.json");
            continue;
        }
        TrialFile file;
        Location location = entry.value.location;
        if (entry.value.kind == Node::Kind::map) {
            Fields parts(diagnostics, &entry.value, fields.path_of(entry.key));
            const Node* source = parts.take("template");
            const Node* content = parts.require("text", "the template itself");
            parts.finish();
            if (source != nullptr) file.source = text(diagnostics, *source, parts.path_of("template")).value_or("");
            if (content == nullptr) continue;
            file.text = text(diagnostics, *content, parts.path_of("text")).value_or("");
            location = content->location;
        } else {
            file.source = text(diagnostics, entry.value, fields.path_of(entry.key)).value_or("");
            same_for_all(entry.value, "files." + entry.key, file.source, "write them in the template");
        }
        script.files.emplace(entry.key, std::move(file));
        result.file_locations.emplace(entry.key, location);
    }
}

void read_arguments(Diagnostics& diagnostics, const Node& list, ReadWorker& result) {
    ScriptWorker& script = *result.script();
    for (const Node& item : list.items) {
        const bool is_program = script.command.empty();
        const bool is_group = item.kind == Node::Kind::list && !item.items.empty() && !is_program;
        if (item.kind == Node::Kind::scalar && !(is_program && item.text.empty())) {
            script.command.push_back(item.text), result.command_locations.push_back(item.location);
        } else if (is_group && std::all_of(item.items.begin(), item.items.end(),
                                           [](const Node& word) { return word.kind == Node::Kind::scalar; })) {
            const std::size_t first = script.command.size();
            read_arguments(diagnostics, item, result);
            script.optional_arguments.emplace_back(first, script.command.size());
            const bool has_placeholder = std::any_of(item.items.begin(), item.items.end(), [](const Node& word) {
                return !script::placeholders(word.text).empty();
            });
            if (!has_placeholder)
                diagnostics.error(item.location,
                                  "a list within 'worker.command' is left out if one of its placeholders has no "
                                  "value, such as [--momentum, \"{momentum}\"]; this list has no placeholder: write "
                                  "its arguments without brackets");
        } else {
            diagnostics.error(
                item.location,
                "'worker.command' must be a list of texts, the program, then its arguments; or of "
                "lists of texts where arguments belong together" +
                    string(item.kind == Node::Kind::map ? "; put a placeholder in quotes: \"{lr}\"" : ""));
        }
    }
}

void read_command(Diagnostics& diagnostics, Fields& worker, const Node& node, ReadWorker& result) {
    result.worker = ScriptWorker{};
    if (node.kind != Node::Kind::list || node.items.empty())
        diagnostics.error(node.location,
                          "'worker.command' must be a list: the program and its arguments, such as "
                          "[python3, train.py]");
    read_arguments(diagnostics, node, result);
    read_folders(diagnostics, worker, result);
    read_environment(diagnostics, worker.take("environment"), result);
    read_metrics(diagnostics, worker.take("metrics"), result);
    read_preload(diagnostics, worker.take("preload"), result);
    read_shim(diagnostics, worker.take("shim"), result);
    read_output_keys(diagnostics, worker, result);
    const Node* params = worker.take("params");
    if (params == nullptr || params->kind == Node::Kind::null) return;
    const Fields fields(diagnostics, params, "worker.params");
    if (fields.node() == nullptr) return;
    for (const Entry& entry : params->entries) {
        if (!is_name(entry.key)) {
            diagnostics.error(entry.location, not_a_name(entry.key));
            continue;
        }
        result.locations.emplace(entry.key, entry.location);
        if (auto value = natural_value(diagnostics, entry.value, fields.path_of(entry.key)))
            result.params.emplace(entry.key, std::move(*value));
    }
}

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

/// Returns an entry whose key looks like a misspelt `command`. Without `command` all keys would be read as those of the
/// native worker, with misleading errors.
const Entry* misspelt_command(const Node& worker) {
    if (find(worker, "command") != nullptr) return nullptr;
    for (const Entry& entry : worker.entries)
        if (entry.value.kind == Node::Kind::list && find_worker_key(entry.key) == nullptr &&
            !meant_by(entry.key, {"command"}).empty())
            return &entry;
    return nullptr;
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

ReadWorker read_worker(Diagnostics& diagnostics, const Node* node) {
    ReadWorker result;
    result.known = node != nullptr && node->kind == Node::Kind::map;
    if (node == nullptr) return result;
    result.location = node->location;
    Fields worker(diagnostics, node, "worker");
    if (worker.node() == nullptr) return result;
    if (const Entry* misspelt = misspelt_command(*node)) {
        diagnostics.error(misspelt->location,
                          "unknown key '" + printable(misspelt->key) + "' in 'worker'; did you mean 'command'?");
        result.known = false;
        return result;
    }
    if (const Node* command = find(*node, "command")) {
        worker.take("command");
        read_command(diagnostics, worker, *command, result);
        worker.finish();
        return result;
    }
    result.worker = NativeWorker{};
    read_native(diagnostics, worker, result);
    worker.take("command");
    worker.finish();
    return result;
}

/// Reports parameters that a script would find in the same variable of its environment.
static void check_variables(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker) {
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
static void check_processes(Diagnostics& diagnostics, const ReadWorker& worker) {
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
