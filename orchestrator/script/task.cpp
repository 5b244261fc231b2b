#include "orchestrator/script/task.hpp"

#include "hpo/wire.hpp"
#include "orchestrator/script/home.hpp"

namespace hpo::script {

std::string task_text(const Study& study) {
    const bool by_shim = !study.shim.empty() && study.metrics->patterns.empty() && study.metrics->file.empty();
    std::vector<std::string> own_variables;
    std::map<std::string, std::string> files, environment;
    for (const auto& [name, value] : study.environment.own) {
        own_variables.push_back(name);
        // Any other value may be a secret, which must not be an argument of a process.
        const auto none = [](const std::string&) { return std::optional<std::string>(); };
        if (value && fill(*value, none) != value) environment.emplace(name, *value);
    }
    for (const auto& [name, file] : study.files) files.emplace(name, file.text);
    return wire::Json{{"command", study.command},
                      {"optional", study.optional_arguments},
                      {"home", home_of(study)},
                      {"cwd", study.cwd},
                      {"files", files},
                      {"patterns", study.metrics->patterns},
                      {"file", by_shim ? shim_reports : study.metrics->file},
                      {"grace", study.resources.grace},
                      {"reports", study.metrics->reports},
                      {"terminal", study.metrics->terminal},
                      {"own_variables", own_variables},
                      {"environment", environment}}
        .dump(-1, ' ', false, wire::Json::error_handler_t::replace);
}

Task parse_task(const std::string& text) {
    const wire::Json json = wire::Json::parse(text);
    return {json.at("command"), json.at("optional"), json.at("home"),          json.at("cwd"),
            json.at("files"),   json.at("patterns"), json.at("file"),          json.at("grace"),
            json.at("reports"), json.at("terminal"), json.at("own_variables"), json.at("environment")};
}

}  // namespace hpo::script
