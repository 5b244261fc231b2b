#include "orchestrator/script/home.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

std::string home_of(const ScriptWorker& script) {
    return script.home.empty() ? std::filesystem::current_path().string() : script.home;
}

std::vector<std::string> with_absolute_paths(std::vector<std::string> command, const std::string& home,
                                             const std::function<bool(const std::string& argument)>& is_trial_file) {
    std::error_code ignored;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const bool on_path = i == 0 && command[i].find('/') == std::string::npos;
        if (on_path || !placeholders(command[i]).empty() || is_trial_file(command[i])) continue;
        const auto path = std::filesystem::path(home) / command[i];
        if (std::filesystem::is_regular_file(path, ignored)) command[i] = path.string();
    }
    return command;
}

namespace {

constexpr std::size_t max_script_bytes = 1024 * 1024;

std::string read_beginning(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string text(max_script_bytes, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
    return text;
}

}  // namespace

std::vector<std::string> unused_parameters(const Study& study) {
    if (!study.script()) return {};
    const ScriptWorker& script = *study.script();
    if (!script.metrics || !script.shim.empty()) return {};  // a stand-in reads all parameters
    std::vector<std::string> texts = script.command;
    texts.push_back(script.cwd);
    texts.push_back(script.metrics->file);
    for (const auto& [name, file] : script.files) texts.push_back(file.text);
    for (const auto& [name, value] : script.environment.own) texts.push_back(value.value_or(""));
    std::set<std::string> used;
    for (const std::string& text : texts)
        for (const std::string_view braced : placeholders(text)) {
            const Placeholder placeholder = take_apart(braced);
            if (placeholder.kind == Placeholder::Kind::params || placeholder.name == "params_file") return {};
            used.insert(placeholder.name);
        }
    std::error_code ignored;
    for (const std::string& argument : script.command)
        if (const auto path = std::filesystem::path(home_of(script)) / argument;
            placeholders(argument).empty() && std::filesystem::is_regular_file(path, ignored))
            texts.push_back(read_beginning(path));
    const auto read_by_name = [&](const std::string& name) {
        return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
            // A script that computes the variable's name, or reads all variables, may use any parameter.
            return text.find(variable_of(name)) != std::string::npos ||
                   text.find("HPO_PARAM_\"") != std::string::npos || text.find("HPO_PARAM_'") != std::string::npos;
        });
    };
    // A parameter named seed becomes the trial's seed, which the script receives in another way.
    std::vector<std::string> unused;
    for (const Dimension& dimension : study.space)
        if (dimension.name != "seed" && !used.contains(dimension.name) && !read_by_name(dimension.name))
            unused.push_back(dimension.name);
    return unused;
}

}  // namespace hpo::script
