// Resolves a script's relative paths and templates, which depend on the folder of the study file.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "hpo/wire.hpp"
#include "orchestrator/script/syntax/configuration_file.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/sections.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::study {

namespace {

namespace fs = std::filesystem;
using std::string;
using std::string_view;

bool has_placeholder(string_view text) { return !script::placeholders(text).empty(); }

/// Returns the relative paths in a study: those in the command, of templates, and of the working folder.
std::vector<string> paths_in(const ScriptWorker& script) {
    std::vector<string> paths;
    const auto add = [&](const string& path) {
        if (!path.empty() && path[0] != '-' && path[0] != '/' && !has_placeholder(path)) paths.push_back(path);
    };
    for (std::size_t i = 0; i < script.command.size(); ++i)
        if (i > 0 || script.command[i].find('/') != string::npos) add(script.command[i]);
    for (const auto& [name, file] : script.files)
        if (file.text.empty()) add(file.source);
    add(script.cwd);
    return paths;
}

bool contains_any(const fs::path& folder, const std::vector<string>& paths) {
    std::error_code ignored;
    return std::any_of(paths.begin(), paths.end(),
                       [&](const string& path) { return path != "." && fs::exists(folder / path, ignored); });
}

Result<string> text_of(const fs::path& file) {
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) return Error{file.string() + ": is a folder, not a template"};
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    string text(max_bytes + 1, '\0');
    if (stream) stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream && !stream.eof()) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > max_bytes) return Error{file.string() + ": is larger than 256 KiB"};
    if (text.empty()) return Error{file.string() + ": is empty"};
    return text;
}

/// Returns a value that the placeholder may have in some trial: the low end of a range, or the first choice.
std::optional<Value> example_of(const Study& study, const string& braced) {
    const script::Placeholder placeholder = script::take_apart(braced);
    if (placeholder.kind == script::Placeholder::Kind::flag) return placeholder.if_true;
    for (const Dimension& dimension : study.space) {
        if (dimension.name != placeholder.name) continue;
        if (dimension.kind == Kind::categorical) return dimension.choices.front();
        if (dimension.kind == Kind::integer) return static_cast<std::int64_t>(dimension.low);
        return dimension.low;
    }
    if (const auto fixed = study.fixed.find(placeholder.name); fixed != study.fixed.end()) return fixed->second;
    if (placeholder.name == "folder" || placeholder.name == "home" || placeholder.name == "params_file")
        return "/" + placeholder.name;
    return std::int64_t{1};
}

/// Returns why a template is not valid YAML or JSON once it is filled. The file's name determines the format. Returns
/// an empty text if it is valid.
string problem_of_filled(const Study& study, const string& name, const string& text) {
    const script::Format format = script::format_of(name);
    const string filled =
        script::fill_file(text, format, [&](const string& placeholder) { return example_of(study, placeholder); });
    if (format == script::Format::yaml) return problem_of_yaml(filled);
    if (format != script::Format::json) return {};
    try {
        const wire::Json parsed = wire::Json::parse(filled);
    } catch (const wire::Json::exception& error) {
        const string message = error.what();
        return message.substr(message.find("] ") == string::npos ? 0 : message.find("] ") + 2);
    }
    return {};
}

void check_template(Diagnostics& diagnostics, const Study& study, const string& name, const string& text) {
    bool is_valid = true;
    for (const string_view braced : script::placeholders(text)) {
        const string problem = problem_of_placeholder(braced, study.space, study.fixed);
        if (problem.empty()) continue;
        const auto at = static_cast<std::size_t>(braced.data() - text.data()) - 1;
        const auto line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
        const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        diagnostics.error(
            {0, static_cast<int>(line) + 1, static_cast<int>(at - line_begin) + 1, static_cast<int>(braced.size()) + 2},
            problem);
        is_valid = false;
    }
    if (!is_valid) return;
    if (const string problem = problem_of_filled(study, name, text); !problem.empty())
        diagnostics.error({}, "filled with a trial's values, it is not valid " +
                                  string(name.ends_with(".json") ? "JSON" : "YAML") + " (" + name + "): " + problem);
}

}  // namespace

bool plans_steps(const ScriptWorker& script) {
    const auto names_steps = [](string_view text) {
        const auto names = script::placeholders(text);
        return std::find(names.begin(), names.end(), "steps") != names.end();
    };
    return std::any_of(script.command.begin(), script.command.end(), names_steps) || names_steps(script.cwd) ||
           (script.metrics && names_steps(script.metrics->file)) ||
           std::any_of(script.files.begin(), script.files.end(),
                       [&](const auto& file) { return names_steps(file.second.text); });
}

void resolve_data(Study& study, const fs::path& file) {
    const auto path = study.fixed.find("path");
    if (path == study.fixed.end()) return;
    const fs::path named = to_text(path->second);
    std::error_code failed;
    const fs::path beside = (fs::absolute(file, failed).parent_path() / named).lexically_normal();
    if (named.is_absolute() || fs::exists(named, failed) || !fs::exists(beside, failed)) return;
    path->second = Value(beside.string());
    study.source = write_study(study);
}

Result<void> resolve_folders(Study& study, string_view text, const fs::path& file) {
    ScriptWorker& script = *study.script();
    std::error_code failed;
    const fs::path folder = fs::absolute(file, failed).parent_path().lexically_normal();
    const fs::path current = fs::current_path(failed);
    bool changed = false;
    const auto wrong = [&](string_view key, const string& message) {
        return Error{error_at(text, file.string(), key, message)};
    };
    if (!script.home.empty()) {
        const fs::path home = (folder / script.home).lexically_normal();
        if (!fs::is_directory(home, failed))
            return wrong("worker.home", "'worker.home' is not a folder: " + printable(home.string(), 200));
        script.home = home.string();
    } else if (const auto paths = paths_in(script); !contains_any(current, paths) && contains_any(folder, paths)) {
        script.home = folder.string();
        changed = true;
    }
    if (!script.cwd.empty() && !has_placeholder(script.cwd) &&
        !fs::is_directory(fs::path(script.home) / script.cwd, failed))
        return wrong("worker.cwd",
                     "'worker.cwd' is not a folder: " + printable((fs::path(script.home) / script.cwd).string(), 200) +
                         " (\"{folder}\" is the trial's own folder; a path that contains {trial} is created)");
    string problems;
    const auto add = [&](const string& problem) { problems += (problems.empty() ? "" : "\n") + problem; };
    for (auto& [name, item] : script.files) {
        if (!item.text.empty()) continue;
        const fs::path source = fs::path(script.home) / item.source;
        auto read = text_of(source);
        if (!read) {
            add(error_at(text, file.string(), "worker.files." + name,
                         "the template cannot be read: " + read.error().message));
            continue;
        }
        item.text = std::move(*read);
        changed = true;
        Diagnostics diagnostics(source.string(), item.text);
        check_template(diagnostics, study, name, item.text);
        if (!diagnostics.ok()) add(diagnostics.text());
    }
    if (!problems.empty()) return Error{problems};
    // A template that was read only now may name the steps.
    if (study.budget.open && plans_steps(script)) study.budget.open = false, study.budget.epochs = Budget().epochs;
    if (changed) study.source = write_study(study);
    return {};
}

}  // namespace hpo::study
