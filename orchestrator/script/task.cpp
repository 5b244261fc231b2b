#include "orchestrator/script/task.hpp"

#include "hpo/wire.hpp"
#include "orchestrator/script/home.hpp"

namespace hpo::script {

std::string task_text(const Study& study) {
    const ScriptWorker& script = *study.script();
    const MetricsSource metrics = script.metrics.value_or(MetricsSource());
    const bool by_shim = !script.shim.empty() && metrics.patterns.empty() && metrics.file.empty();
    std::vector<std::string> own_variables;
    std::map<std::string, std::string> files, environment;
    for (const auto& [name, value] : script.environment.own) {
        own_variables.push_back(name);
        // Any other value may be a secret, which must not be an argument of a process.
        const auto none = [](const std::string&) { return std::optional<std::string>(); };
        if (value && fill(*value, none) != value) environment.emplace(name, *value);
    }
    for (const auto& [name, file] : script.files) files.emplace(name, file.text);
    std::set<std::string> needed;
    for (const Goal& goal : study.objective.further) needed.insert(goal.metric);
    for (const Constraint& constraint : study.objective.constraints) needed.insert(constraint.metric);
    needed.erase(study.objective.metric);
    return wire::Json{{"command", script.command},
                      {"optional", script.optional_arguments},
                      {"home", home_of(script)},
                      {"cwd", script.cwd},
                      {"files", files},
                      {"patterns", metrics.patterns},
                      {"needed", needed},
                      {"file", by_shim ? shim_reports : metrics.file},
                      {"grace", study.resources.grace},
                      {"reports", metrics.reports},
                      {"terminal", metrics.terminal},
                      {"own_variables", own_variables},
                      {"environment", environment},
                      {"processes", study.resources.trial.processes},
                      {"reads_metrics", script.metrics.has_value()}}
        .dump(-1, ' ', false, wire::Json::error_handler_t::replace);
}

Task parse_task(const std::string& text) {
    const wire::Json json = wire::Json::parse(text);
    return {json.at("command"),     json.at("optional"),  json.at("home"),         json.at("cwd"),
            json.at("files"),       json.at("patterns"),  json.at("needed"),       json.at("file"),
            json.at("grace"),       json.at("reports"),   json.at("terminal"),     json.at("own_variables"),
            json.at("environment"), json.at("processes"), json.at("reads_metrics")};
}

}  // namespace hpo::script
