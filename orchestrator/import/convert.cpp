#include "orchestrator/import/convert.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "orchestrator/import/reading.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::importing {

namespace {

using study::Node;

/// Returns the file's name without folders and extension. A generic name such as config.yml or search_space.json is
/// replaced by the name of its folder.
std::string stem_of(const std::string& file_name) {
    const auto slash = file_name.find_last_of('/');
    const std::string name = file_name.substr(slash + 1);
    const auto dot = name.rfind('.');
    const std::string stem = name.substr(0, dot == 0 || dot == std::string::npos ? name.size() : dot);
    constexpr std::string_view kinds[] = {"config", "search_space", "searchspace", "sweep", "experiment"};
    const bool is_generic = std::any_of(std::begin(kinds), std::end(kinds), [&](std::string_view kind) {
        return stem == kind || stem.starts_with(std::string(kind) + "_") || stem.starts_with(std::string(kind) + "-");
    });
    if (!is_generic || slash == std::string::npos) return stem;
    const std::string folders = file_name.substr(0, slash);
    const std::string folder = as_study_name(folders.substr(folders.find_last_of('/') + 1));
    return folder.empty() ? stem : folder;
}

std::string joined(const std::vector<const Format*>& formats, const char* between, std::string (*text)(const Format&)) {
    std::string all;
    for (const Format* format : formats) all += (all.empty() ? "" : between) + text(*format);
    return all;
}

std::string not_recognized(const std::vector<const Format*>& candidates, std::string_view tool) {
    return (tool == any_tool ? "none of the formats that can be converted: "
                             : "no file of " + std::string(tool) + ": ") +
           joined(candidates, "; ",
                  [](const Format& format) { return std::string(format.title) + " has " + std::string(format.signs); });
}

std::string ambiguous(const std::vector<const Format*>& matching) {
    const auto title = [](const Format& format) { return std::string(format.title); };
    const auto option = [](const Format& format) { return "--from " + std::string(format.tool); };
    const bool decidable = matching.front()->tool != matching.back()->tool;
    return "could be " + joined(matching, " or ", title) +
           (decidable ? ": " + joined(matching, " or ", option) + " decides" : "");
}

}  // namespace

Result<Conversion> convert(std::string_view text, const std::string& file_name, std::string_view tool,
                           const Vocabulary& known, const ReadOther& read_other) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const std::string spaced = without_tabs(text);
    study::Diagnostics diagnostics(file_name, spaced);
    const auto root = study::parse_yaml(spaced, 0, diagnostics, study::Tags::core);
    if (!root) return Error{diagnostics.text()};
    std::vector<const Format*> candidates, matching;
    for (const Format* format : formats())
        if (tool == any_tool || tool == format->tool) candidates.push_back(format);
    for (const Format* format : candidates)
        if (format->matches(*root)) matching.push_back(format);
    if (matching.size() != 1) {
        diagnostics.error({}, matching.empty() ? not_recognized(candidates, tool) : ambiguous(matching));
        return Error{diagnostics.text()};
    }
    const Format& format = *matching.front();
    StudyBuilder builder(file_name);
    builder.title = format.title;
    format.read({diagnostics, builder, known, read_other}, *root);
    if (!diagnostics.ok()) return Error{diagnostics.text()};
    if (builder.study.name.empty()) builder.study.name = as_study_name(stem_of(file_name));

    Conversion conversion;
    conversion.tool = format.tool;
    conversion.yaml = builder.text();
    conversion.remarks = builder.remarks();
    if (const auto study = parse_study(conversion.yaml, "the converted study", {}, known); !study)
        return Error{file_name + ": cannot be written as a study:\n" + study.error().message};
    return conversion;
}

}  // namespace hpo::importing
