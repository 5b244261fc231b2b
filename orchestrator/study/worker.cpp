#include <algorithm>
#include <array>
#include <cctype>

#include "hpo/tasks.hpp"
#include "hpo/text.hpp"
#include "orchestrator/script/syntax/interpreter.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/template.hpp"
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

}  // namespace hpo::study
