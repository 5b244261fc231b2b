#include <algorithm>
#include <cmath>
#include <set>

#include "orchestrator/script/syntax/configuration_file.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

/// Returns why a text that resembles a placeholder cannot be meant as it stands, with the cure. `known` is true if its
/// name is a parameter's. Returns an empty text if it may be meant.
string problem_of_lookalike(const script::Lookalike& lookalike, bool known) {
    const string name(lookalike.name), shown(lookalike.text);
    const bool own = std::find(script::own_names.begin(), script::own_names.end(), name) != script::own_names.end();
    if (shown.starts_with('$')) {
        if (!known && !own) return {};  // reported as an unknown placeholder
        return shown + " would be a '$' and the value: write {" + name + "}" +
               (known ? ", or in a shell's script ${{" + script::variable_of(name) + "}}" : "") + " (as text: ${{" +
               name + "}})";
    }
    if (lookalike.rest.starts_with('-'))
        return shown + " is no placeholder: for a flag write {flag:" + name + ":" + string(lookalike.rest) + "}";
    if (known || own)
        return shown + " is no placeholder: write {" + name + "}" +
               (lookalike.rest.empty() ? "" : ", which has no format (a brace as text: {" + shown + "})");
    // {a:1} may be a map, and {word} within blanks a text.
    if (lookalike.rest.empty() || looks_like_other(lookalike.rest) || shown.find('!') != string::npos) return {};
    return shown + " is no placeholder: those with a ':' are {flag:NAME:--on} and {params:FILE.yaml}; a file that is " +
           "written for each trial is a key of script.files and here {folder}/FILE (a brace as text: {" + shown + "})";
}

}  // namespace

void check_placeholders(Diagnostics& diagnostics, const ReadSpace& space, const ReadWorker& worker,
                        const Resources& resources) {
    const ScriptWorker& script = *worker.script();
    std::set<string> reported;
    const auto known = [&](string_view name) { return has(space, name) || worker.params.contains(string(name)); };
    const auto check_filled = [&](const string& text, Location location) {
        for (const string_view braced : script::placeholders(text)) {
            const string parameter = parameter_of(braced);
            if (std::find(space.broken.begin(), space.broken.end(), parameter) != space.broken.end() ||
                (worker.locations.contains(parameter) && !worker.params.contains(parameter)))
                continue;  // the parameter's declaration has been reported
            if (const string problem = problem_of_placeholder(braced, space.space, worker.params); !problem.empty()) {
                diagnostics.error(location, problem);
                continue;
            }
            const string name(braced);
            const bool is_declared = has(space, name) || worker.locations.contains(name);
            if (!is_declared || !script::hides(name) || !reported.insert(name).second) continue;
            diagnostics.error(location_of(space, worker, name),
                              "the parameter '" + name + "' cannot be used as {" + name +
                                  "}, which hpo defines: rename the parameter, such as '" + name + "_'");
            diagnostics.note(location, "{" + name + "} is here");
        }
    };
    // Braces have many other meanings in the files of other programs, but hardly any in a command.
    const auto check = [&](const string& text, Location location) {
        for (const script::Lookalike& lookalike : script::lookalikes(text)) {
            if (diagnostics.accepts_earlier()) break;
            const bool is_known = known(lookalike.name);
            if (!script.metrics && !is_known) continue;  // nothing is filled in, and no braces are doubled
            if (const string problem = problem_of_lookalike(lookalike, is_known); !problem.empty())
                diagnostics.error(location, problem);
        }
        check_filled(text, location);
    };
    for (std::size_t i = 0; i < script.command.size(); ++i) check(script.command[i], worker.command_locations[i]);
    check(script.cwd, worker.cwd_location);
    for (const auto& [name, value] : script.environment.own)
        if (value && !diagnostics.accepts_earlier()) check(*value, worker.environment_locations.at(name));
    for (const auto& [name, file] : script.files) check_filled(file.text, worker.file_locations.at(name));
    if (!script.metrics) return;
    const string& file = script.metrics->file;
    check(file, worker.file_location);
    const bool in_own_folder = !script::placeholders(script.cwd).empty() && !file.starts_with('/');
    const bool is_exclusive = resources.parallel == 1 || in_own_folder;
    if (!file.empty() && script::placeholders(file).empty() && !is_exclusive)
        diagnostics.error(worker.file_location,
                          "trials that run at once would write the same file: put it in the trial's folder, such as "
                          "\"{folder}/metrics.csv\", or run one at a time: resources: {parallel: 1}");
}

string parameter_of(string_view braced) {
    const script::Placeholder placeholder = script::take_apart(braced);
    return placeholder.kind == script::Placeholder::Kind::params ? "" : placeholder.name;
}

string problem_of_placeholder(string_view braced, const Space& space, const Params& fixed) {
    const script::Placeholder placeholder = script::take_apart(braced);
    const string shown = "{" + string(braced) + "}";
    if (!placeholder.problem.empty()) return shown + " " + placeholder.problem;
    if (placeholder.kind == script::Placeholder::Kind::params) {
        Params all = fixed;
        for (const Dimension& dimension : space) all.emplace(dimension.name, 0.0);
        const string clash = script::clash_of_names(all);
        if (clash.empty()) return {};
        return shown + ": names are nested at their dots, and '" + clash +
               "' cannot be a value and hold others; rename it";
    }
    std::vector<string_view> names;
    if (placeholder.kind == script::Placeholder::Kind::value)
        names.assign(script::own_names.begin(), script::own_names.end());
    for (const Dimension& dimension : space) names.push_back(dimension.name);
    for (const auto& [name, value] : fixed) names.push_back(name);
    if (std::find(names.begin(), names.end(), placeholder.name) == names.end())
        return "no parameter '" + placeholder.name + "' for " + shown + suggestion(placeholder.name, names) +
               " (a brace as text: {" + shown + "})";
    if (placeholder.kind == script::Placeholder::Kind::value) return {};
    const auto fits = [](const Value& value) { return std::holds_alternative<bool>(value) || is_null(value); };
    bool all_fit = true;
    for (const Dimension& dimension : space)
        if (dimension.name == placeholder.name)
            all_fit = dimension.kind == Kind::categorical &&
                      std::all_of(dimension.choices.begin(), dimension.choices.end(), fits);
    if (const auto found = fixed.find(placeholder.name); found != fixed.end()) all_fit = fits(found->second);
    if (all_fit) return {};
    return shown + " needs a parameter that is true or false, {type: categorical, choices: [true, false]}; '" +
           placeholder.name + "' has other values";
}

}  // namespace hpo::study
