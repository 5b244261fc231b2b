#include <algorithm>
#include <charconv>
#include <cmath>

#include "hpo/open_trials.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_keys.hpp"
#include "orchestrator/script/syntax/configuration_file.hpp"
#include "orchestrator/study/entries.hpp"
#include "orchestrator/study/sections.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace study {

namespace {

using std::string;
using std::string_view;
using Pairs = std::vector<std::pair<string, string>>;

string yaml(const Value& value) {
    if (const auto* text = std::get_if<string>(&value)) return yaml_text(*text);
    if (const auto* number = std::get_if<double>(&value)) return script::yaml_number(*number);
    return to_text(value);
}

template <class Items, class Write>
string list_text(const Items& items, Write&& write) {
    string text = "[";
    for (const auto& item : items) text += (text.size() > 1 ? ", " : "") + write(item);
    return text + "]";
}

string yaml_duration(double seconds) {
    for (const auto& [unit, length] : {std::pair{"h", 3600.0}, std::pair{"m", 60.0}})
        if (seconds >= length && seconds / length == std::floor(seconds / length))
            return exact_number(seconds / length) + unit;
    char buffer[1200];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, seconds, std::chars_format::fixed).ptr;
    return string(buffer, end) + "s";
}

string yaml_size(std::int64_t bytes) {
    for (const auto& [unit, length] : {std::pair{"GiB", std::int64_t{1} << 30}, std::pair{"MiB", std::int64_t{1} << 20},
                                       std::pair{"KiB", std::int64_t{1} << 10}})
        if (bytes % length == 0) return std::to_string(bytes / length) + unit;
    return std::to_string(bytes) + "B";
}

constexpr std::string_view kind_text(Kind kind) {
    return kind == Kind::real ? "float" : kind == Kind::integer ? "int" : "categorical";
}

constexpr std::string_view role_text(Role role) {
    switch (role) {
        case Role::batch_size:
            return "batch_size";
        case Role::learning_rate:
            return "learning_rate";
        case Role::regularizer:
            return "regularizer";
        case Role::none:
            break;
    }
    return "none";
}

Pairs fields_of(const Dimension& dimension) {
    Pairs fields{{"type", string(kind_text(dimension.kind))}};
    if (dimension.kind == Kind::categorical) {
        fields.emplace_back("choices", list_text(dimension.choices, yaml));
    } else {
        const auto number = [&](double value) {
            return dimension.kind == Kind::integer ? exact_number(value) : script::yaml_number(value);
        };
        fields.emplace_back("low", dimension.low_of.empty() ? number(dimension.low) : yaml_text(dimension.low_of));
        fields.emplace_back("high", dimension.high_of.empty() ? number(dimension.high) : yaml_text(dimension.high_of));
        if (dimension.step) fields.emplace_back("step", number(*dimension.step));
        if (dimension.log) fields.emplace_back("log", "true");
    }
    if (dimension.role != recognised_role(dimension.name, dimension.kind))
        fields.emplace_back("role", role_text(dimension.role));
    if (dimension.prior) fields.emplace_back("prior", yaml(*dimension.prior));
    if (dimension.spread) fields.emplace_back("spread", script::yaml_number(*dimension.spread));
    if (!dimension.when.empty()) {
        string text = "{";
        for (const Condition& condition : dimension.when)
            text += (text.size() > 1 ? ", " : "") + yaml_text(condition.parameter) + ": " +
                    list_text(condition.any_of, yaml);
        fields.emplace_back("when", text + "}");
    }
    return fields;
}

/// Formats the command, with arguments that are optional together in brackets of their own.
string command_text(const ScriptWorker& script) {
    string text = "[";
    for (std::size_t i = 0; i < script.command.size(); ++i) {
        if (i > 0) text += ", ";
        for (const auto& [first, last] : script.optional_arguments) text += first == i ? "[" : "";
        text += yaml_text(script.command[i]);
        for (const auto& [first, last] : script.optional_arguments) text += last == i + 1 ? "]" : "";
    }
    return text + "]";
}

void add_worker(std::vector<Group>& groups, const Study& study) {
    if (!study.has_worker()) return;
    if (const ScriptWorker* script = study.script()) {
        groups.push_back({"worker", "", {{"command", command_text(*script)}}});
        if (!script->home.empty()) groups.back().fields.emplace_back("home", yaml_text(script->home));
        if (!script->cwd.empty()) groups.back().fields.emplace_back("cwd", yaml_text(script->cwd));
        if (script->metrics) {
            const MetricsSource& source = *script->metrics;
            string text = "{";
            if (!source.patterns.empty()) text += "stdout: " + list_text(source.patterns, yaml_text);
            if (!source.file.empty()) text += "file: " + yaml_text(source.file);
            groups.back().fields.emplace_back("metrics", text + "}");
            if (source.reports != 1) groups.back().fields.emplace_back("step", std::to_string(source.reports));
            if (source.terminal != TerminalUse::automatic)
                groups.back().fields.emplace_back("terminal", source.terminal == TerminalUse::on ? "on" : "off");
        }
        if (!script->preload.empty())
            groups.back().fields.emplace_back("preload", list_text(script->preload, yaml_text));
        if (!script->shim.empty()) groups.back().fields.emplace_back("shim", yaml_text(script->shim));
        if (!script->environment.tuned) groups.back().fields.emplace_back("environment", "off");
        Group environment{"worker", "environment", {}};
        for (const auto& [name, value] : script->environment.own)
            environment.fields.emplace_back(name, value ? yaml_text(*value) : "null");
        if (!environment.fields.empty()) groups.push_back(std::move(environment));
        Group files{"worker", "files", {}};
        for (const auto& [name, file] : script->files)
            files.fields.emplace_back(name, file.text.empty()     ? yaml_text(file.source)
                                            : file.source.empty() ? "{text: " + yaml_text(file.text) + "}"
                                                                  : "{template: " + yaml_text(file.source) +
                                                                        ", text: " + yaml_text(file.text) + "}");
        if (!files.fields.empty()) groups.push_back(std::move(files));
        Group params{"worker", "params", {}};
        for (const auto& [name, value] : study.fixed) params.fields.emplace_back(name, yaml(value));
        if (!params.fields.empty()) groups.push_back(std::move(params));
        return;
    }
    string validation;  // a map, where it has more keys than a fraction
    for (const WorkerKey& key : worker_keys)
        if (key.section == "data.validation")
            if (const auto found = study.fixed.find(string(key.name)); found != study.fixed.end())
                validation += (validation.empty() ? "" : ", ") + string(key.name) + ": " + yaml(found->second);
    const bool is_map = !validation.empty();
    if (const auto fraction = study.fixed.find("validation"); is_map && fraction != study.fixed.end())
        validation += ", fraction: " + yaml(fraction->second);
    validation = "{" + validation + "}";
    for (const string_view section : {"", "data", "model", "training"}) {
        Group group{"worker", string(section), {}};
        for (const WorkerKey& key : worker_keys)
            if (key.section == section && !(key.name == "validation" && is_map))
                if (const auto found = study.fixed.find(string(key.name)); found != study.fixed.end())
                    group.fields.emplace_back(key.name, yaml(found->second));
        if (section == "data" && is_map) group.fields.emplace_back("validation", validation);
        if (!group.fields.empty()) groups.push_back(std::move(group));
    }
    if (groups.back().section != "worker") groups.push_back({"worker", "", {}});
}

Group part(string section, string name, string key, const PartSpec& spec) {
    Group group{std::move(section), std::move(name), {{std::move(key), yaml_text(spec.type)}}};
    for (const auto& [option, value] : spec.options) group.fields.emplace_back(option, yaml(value));
    return group;
}

/// Formats a device number without quotes, as users write it, and a UUID as a text.
string device_text(const string& device) {
    const bool number = std::all_of(device.begin(), device.end(), [](char c) { return c >= '0' && c <= '9'; });
    return number ? device : yaml_text(device);
}

string slurm_text(const SlurmJob& job) {
    const SlurmJob usual;
    string keys;
    const auto declare = [&](string_view key, const string& text) {
        keys += (keys.empty() ? "{" : ", ") + string(key) + ": " + text;
    };
    const auto name = [&](string_view key, const string& text) {
        if (!text.empty()) declare(key, yaml_text(text));
    };
    name("partition", job.partition);
    if (job.nodes != usual.nodes) declare("nodes", std::to_string(job.nodes));
    if (job.time) declare("time", yaml_duration(*job.time));
    name("account", job.account);
    name("qos", job.qos);
    if (job.gpus) declare("gpus", std::to_string(*job.gpus));
    if (job.cpus) declare("cpus", std::to_string(*job.cpus));
    if (job.memory) declare("memory", yaml_size(*job.memory));
    if (!job.extra.empty()) declare("extra", list_text(job.extra, yaml_text));
    return keys.empty() ? keys : keys + "}";
}

Pairs fields_of(const Resources& resources) {
    const auto count = [](std::int64_t number) { return std::to_string(number); };
    Pairs fields;
    fields.emplace_back("parallel", !resources.parallel_each.empty() ? list_text(resources.parallel_each, count)
                                    : resources.parallel             ? count(*resources.parallel)
                                                                     : "auto");
    fields.emplace_back("backend", yaml_text(resources.backend));
    if (!resources.devices.empty()) fields.emplace_back("devices", list_text(resources.devices, device_text));
    if (!resources.hosts.empty()) fields.emplace_back("hosts", list_text(resources.hosts, yaml_text));
    if (const string slurm = slurm_text(resources.slurm); !slurm.empty()) fields.emplace_back("slurm", slurm);
    fields.emplace_back("memory", resources.memory ? yaml_size(*resources.memory) : "auto");
    if (resources.gpu_memory.size() == 1)
        fields.emplace_back("gpu_memory", yaml_size(resources.gpu_memory.front()));
    else if (!resources.gpu_memory.empty())
        fields.emplace_back("gpu_memory", list_text(resources.gpu_memory, yaml_size));
    if (resources.slots) fields.emplace_back("slots", count(*resources.slots));
    fields.emplace_back("gpu_reserve", script::yaml_number(resources.gpu_reserve));
    string trial;
    const auto declare = [&](string_view key, const string& text) {
        trial += (trial.empty() ? "{" : ", ") + string(key) + ": " + text;
    };
    if (resources.trial.host_bytes) declare("memory", yaml_size(*resources.trial.host_bytes));
    if (resources.trial.device_bytes) declare("gpu_memory", yaml_size(*resources.trial.device_bytes));
    if (resources.trial.cores) declare("cores", script::yaml_number(*resources.trial.cores));
    if (resources.trial.gpus) declare("gpus", count(*resources.trial.gpus));
    if (resources.trial.processes != 1) declare("processes", count(resources.trial.processes));
    if (!trial.empty()) fields.emplace_back("trial", trial + "}");
    fields.emplace_back("progress_timeout", yaml_duration(resources.progress_timeout));
    fields.emplace_back("grace", yaml_duration(resources.grace));
    fields.emplace_back("retries", count(resources.retries));
    return fields;
}

}  // namespace

string yaml_text(string_view text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '/' || c == '-' || c == '+';
    };
    string lower;
    for (const char c : text.substr(0, 8)) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    // Some YAML readers take these for another type than a text.
    const auto words = {"true", "false", "yes", "no", "on", "off", "y", "n", "null", "inf", "nan", "infinity"};
    const bool bare = !text.empty() && text[0] != '.' && text[0] != '-' && text[0] != '+' &&
                      std::all_of(text.begin(), text.end(), plain) && !looks_like_other(text) &&
                      std::find(words.begin(), words.end(), lower) == words.end();
    if (bare) return string(text);
    string out = "\"";
    for (const char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                out += c;
        }
    }
    return out + '"';
}

/// One objective is a map, several are a list of maps with their metrics' names.
static void add_objectives(std::vector<Group>& groups, const Objective& objective) {
    const auto fields = [](const std::string& metric, Direction direction) {
        return decltype(Group::fields){{"metric", yaml_text(metric)},
                                       {"direction", direction == Direction::minimize ? "minimize" : "maximize"}};
    };
    groups.push_back({"objective", objective.further.empty() ? "" : objective.metric,
                      fields(objective.metric, objective.direction)});
    groups.back().fields.emplace_back("at", objective.at == Objective::At::best ? "best" : "last");
    for (const Goal& goal : objective.further)
        groups.push_back({"objective", goal.metric, fields(goal.metric, goal.direction)});
    for (const Constraint& constraint : objective.constraints) {
        groups.push_back({"constraints", constraint.metric, {{"metric", yaml_text(constraint.metric)}}});
        if (constraint.min) groups.back().fields.emplace_back("min", yaml(*constraint.min));
        if (constraint.max) groups.back().fields.emplace_back("max", yaml(*constraint.max));
    }
}

std::vector<Group> groups_of(const Study& study) {
    std::vector<Group> groups;
    groups.push_back({"", "", {{"study", yaml_text(study.name)}, {"seed", std::to_string(study.seed)}}});
    if (study.repeats > 1) groups.back().fields.emplace_back("repeats", std::to_string(study.repeats));
    add_objectives(groups, study.objective);
    for (const Dimension& dimension : study.space) groups.push_back({"space", dimension.name, fields_of(dimension)});
    if (!study.where.empty()) groups.push_back({"", "", {{"where", list_text(study.where, yaml_text)}}});
    add_worker(groups, study);

    Group budget{"budget", "", {}};
    if (!is_open_ended(study.budget)) budget.fields.emplace_back("trials", std::to_string(study.budget.trials));
    if (!study.budget.open) budget.fields.emplace_back("epochs", std::to_string(study.budget.epochs));
    if (study.budget.seconds) budget.fields.emplace_back("time", yaml_duration(*study.budget.seconds));
    if (study.budget.patience) budget.fields.emplace_back("patience", std::to_string(*study.budget.patience));
    groups.push_back(std::move(budget));

    for (std::size_t i = 0; i < study.start.size(); ++i) {
        groups.push_back({"start", std::to_string(i + 1), {}});
        for (const auto& [name, value] : study.start[i]) groups.back().fields.emplace_back(name, yaml(value));
    }
    if (study.warm_start_auto) groups.push_back({"", "", {{"warm_start", "auto"}}});
    if (!study.warm_start.empty()) groups.push_back({"", "", {{"warm_start", list_text(study.warm_start, yaml_text)}}});
    groups.push_back(part("sampler", "", "type", study.sampler));
    for (const PartSpec& rule : study.stopping) groups.push_back(part("stopping", rule.type, "rule", rule));
    groups.push_back(
        {"policy",
         "",
         {{"min_batch_size", study.policy.min_batch_size ? std::to_string(*study.policy.min_batch_size) : "auto"},
          {"regularization", study.policy.scaled ? "scaled" : "off"}}});
    groups.push_back({"resources", "", fields_of(study.resources)});
    groups.push_back(
        {"keep", "", {{"checkpoints", keep_text(study.keep.checkpoints)}, {"folders", keep_text(study.keep.folders)}}});
    return groups;
}

}  // namespace study

std::string write_study(const Study& study) {
    std::string out;
    std::string section;
    for (const study::Group& group : study::groups_of(study)) {
        std::string flow = "{";
        for (const auto& [key, text] : group.fields)
            flow += (flow.size() > 1 ? ", " : "") + study::yaml_text(key) + ": " + text;
        flow += "}\n";
        const bool list = group.section == "stopping" || group.section == "start" || group.section == "constraints" ||
                          (group.section == "objective" && !group.name.empty());
        const bool nested = list || group.section == "space" || group.section == "worker";
        if (nested && group.section != section) {
            out += group.section + ":";
            out += group.fields.empty() ? " {}\n" : "\n";
        }
        section = group.section;
        if (list) {
            out += "  - " + flow;
        } else if (!nested && !group.section.empty()) {
            out += group.section + ": " + flow;
        } else if (!group.name.empty()) {
            out += "  " + study::yaml_text(group.name) + ": " + flow;
        } else {
            for (const auto& [key, text] : group.fields)
                out += (nested ? "  " : "") + study::yaml_text(key) + ": " + text + "\n";
        }
    }
    // Without the key a study of several trials may have rules by default.
    if (study.stopping.empty() && study.budget.trials > 1) out += "stopping: []\n";
    return out;
}

/// Returns the parameters without the native worker's keys of models other than the chosen one, which a search over
/// `type` has fixed as well.
static Params of_chosen_model(const Params& params) {
    const auto type = params.find("type");
    if (type == params.end()) return params;
    const std::string chosen = to_text(type->second);
    Params kept;
    for (const auto& [name, value] : params)
        if (const WorkerKey* key = find_worker_key(name); key == nullptr || applies_with(*key, "type", chosen))
            kept.emplace(name, value);
    return kept;
}

Study fix_parameters(const Study& study, const Params& params) {
    Study fixed = study;
    fixed.name = study.name.substr(0, 59) + "-best";
    for (const auto& [name, value] : params) fixed.fixed.insert_or_assign(name, value);
    if (study.native()) fixed.fixed = of_chosen_model(fixed.fixed);
    fixed.space.clear();
    fixed.where.clear();
    fixed.start.clear();
    fixed.warm_start.clear();
    fixed.warm_start_auto = false;
    fixed.stopping.clear();
    fixed.sampler = {"auto", {}};
    fixed.repeats = 1;
    fixed.budget.trials = 1;
    fixed.budget.seconds.reset();
    fixed.budget.patience.reset();
    fixed.source = write_study(fixed);
    return fixed;
}

}  // namespace hpo
