// Resolves what depends on a study file's folder: a script's relative paths and its templates.
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

bool is_open(string_view text) { return !script::placeholders(text).empty(); }

/// Returns the relative paths in a study: those of files, and of a working folder.
std::vector<string> paths_in(const Study& study) {
    std::vector<string> paths;
    const auto add = [&](const string& path) {
        if (!path.empty() && path[0] != '-' && path[0] != '/' && !is_open(path)) paths.push_back(path);
    };
    for (std::size_t i = 0; i < study.command.size(); ++i)
        if (i > 0 || study.command[i].find('/') != string::npos) add(study.command[i]);
    for (const auto& [name, file] : study.files)
        if (file.text.empty()) add(file.source);
    add(study.cwd);
    return paths;
}

bool holds_any(const fs::path& folder, const std::vector<string>& paths) {
    std::error_code ignored;
    return std::any_of(paths.begin(), paths.end(),
                       [&](const string& path) { return path != "." && fs::exists(folder / path, ignored); });
}

Result<string> text_of(const fs::path& file) {
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) return Error{file.string() + ": a folder, not a template"};
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    string text(max_bytes + 1, '\0');
    if (stream) stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream && !stream.eof()) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > max_bytes) return Error{file.string() + ": larger than 256 KiB"};
    if (text.empty()) return Error{file.string() + ": empty"};
    return text;
}

/// Returns values as in some trial: numbers at their low ends, first choices.
std::optional<Value> example_of(const Study& study, const string& placeholder) {
    const script::Placeholder asked = script::take_apart(placeholder);
    if (asked.kind == script::Placeholder::Kind::flag) return asked.if_true;
    for (const Dimension& dimension : study.space) {
        if (dimension.name != asked.name) continue;
        if (dimension.kind == Kind::categorical) return dimension.choices.front();
        if (dimension.kind == Kind::integer) return static_cast<std::int64_t>(dimension.low);
        return dimension.low;
    }
    if (const auto fixed = study.worker.find(asked.name); fixed != study.worker.end()) return fixed->second;
    if (asked.name == "folder" || asked.name == "home" || asked.name == "params_file") return "/" + asked.name;
    return std::int64_t{1};
}

/// Returns why a filled template is not valid in the format of its name; empty if it is.
string problem_of_filled(const Study& study, const string& name, const string& text) {
    const script::Format format = script::format_of(name);
    const string filled =
        script::fill_file(text, format, [&](const string& placeholder) { return example_of(study, placeholder); });
    if (format == script::Format::yaml) return problem_of_yaml(filled);
    if (format != script::Format::json) return {};
    try {
        const wire::Json parsed = wire::Json::parse(filled);
    } catch (const wire::Json::exception& error) {
        const string what = error.what();
        return what.substr(what.find("] ") == string::npos ? 0 : what.find("] ") + 2);
    }
    return {};
}

void check_template(Diagnostics& diagnostics, const Study& study, const string& name, const string& text) {
    bool sound = true;
    for (const string_view braced : script::placeholders(text)) {
        const string problem = problem_of_placeholder(braced, study.space, study.worker);
        if (problem.empty()) continue;
        const auto at = static_cast<std::size_t>(braced.data() - text.data()) - 1;
        const auto line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
        const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        diagnostics.error(
            {0, static_cast<int>(line) + 1, static_cast<int>(at - line_begin) + 1, static_cast<int>(braced.size()) + 2},
            problem);
        sound = false;
    }
    if (!sound) return;
    if (const string problem = problem_of_filled(study, name, text); !problem.empty())
        diagnostics.error({}, "filled with a trial's values it is no valid " +
                                  string(name.ends_with(".json") ? "JSON" : "YAML") + " (" + name + "): " + problem);
}

}  // namespace

Result<void> resolve_folders(Study& study, string_view text, const fs::path& file) {
    std::error_code failed;
    const fs::path folder = fs::absolute(file, failed).parent_path().lexically_normal();
    const fs::path current = fs::current_path(failed);
    bool changed = false;
    const auto wrong = [&](string_view key, const string& message) {
        return Error{error_at(text, file.string(), key, message)};
    };
    if (!study.home.empty()) {
        const fs::path home = (folder / study.home).lexically_normal();
        if (!fs::is_directory(home, failed))
            return wrong("worker.home", "'worker.home' is no folder: " + printable(home.string(), 200));
        study.home = home.string();
    } else if (const auto paths = paths_in(study); !holds_any(current, paths) && holds_any(folder, paths)) {
        study.home = folder.string();
        changed = true;
    }
    if (!study.cwd.empty() && !is_open(study.cwd) && !fs::is_directory(fs::path(study.home) / study.cwd, failed))
        return wrong("worker.cwd",
                     "'worker.cwd' is no folder: " + printable((fs::path(study.home) / study.cwd).string(), 200) +
                         " (\"{folder}\" is a trial's own, and any path with {trial} in it is made)");
    string problems;
    const auto add = [&](const string& problem) { problems += (problems.empty() ? "" : "\n") + problem; };
    for (auto& [name, item] : study.files) {
        if (!item.text.empty()) continue;
        const fs::path source = fs::path(study.home) / item.source;
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
    if (changed) study.source = write_study(study);
    return {};
}

}  // namespace hpo::study
