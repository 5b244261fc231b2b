#include <CLI/App.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/options.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_keys.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/study/study_keys.hpp"
#include "orchestrator/view/table.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {
namespace {

struct KeyRow {
    std::string key;
    std::string values;    ///< type and range, or the allowed choices
    std::string fallback;  ///< empty: none
    std::string meaning;
};

struct KeySection {
    std::string_view title;
    std::vector<KeyRow> rows;
};

/// Describes the values that a key may have, as "integer, 1 to 65536" or "relu, gelu, silu".
template <class Row>
std::string values_of(const Row& row) {
    if (!row.choices.empty()) return choices_text(row.choices);
    if (row.type == OptionType::flag) return "true, false";
    if (row.type == OptionType::text) return "text";
    const std::string type = row.type == OptionType::integer ? "integer"
                             : row.type == OptionType::list  ? "list of integers"
                                                             : "number";
    constexpr double unbounded = 1e9;  // a limit this high only keeps the number finite
    if (row.high >= unbounded) return type + ", at least " + exact_number(row.low);
    return type + ", " + exact_number(row.low) + " to " + exact_number(row.high);
}

KeySection study_section() {
    KeySection section{"Study file", {}};
    for (const auto& key : study::study_keys)
        section.rows.push_back({std::string(key.path), {}, std::string(key.fallback), std::string(key.meaning)});
    return section;
}

KeySection worker_section() {
    KeySection section{"Native worker", {}};
    for (const WorkerKey& key : worker_keys)
        section.rows.push_back(
            {"worker." + (key.section.empty() ? "" : std::string(key.section) + ".") + std::string(key.name),
             values_of(key), std::string(key.fallback), std::string(key.meaning)});
    return section;
}

/// Lists each part, and below it its options. `prefix` precedes the part's name, as in "type: tpe".
KeySection parts_section(std::string_view title, const std::string& prefix, std::span<const PartOptions> parts) {
    KeySection section{title, {}};
    for (const PartOptions& part : parts) {
        section.rows.push_back({prefix + std::string(part.name), {}, {}, std::string(part.meaning)});
        for (const Option& option : part.options)
            section.rows.push_back({std::string(part.name) + "." + std::string(option.name), values_of(option),
                                    std::string(option.fallback), std::string(option.meaning)});
    }
    return section;
}

std::vector<KeySection> all_sections() {
    return {study_section(), worker_section(), parts_section("Samplers", "type: ", sampler_vocabulary()),
            parts_section("Stopping rules", "rule: ", rule_vocabulary())};
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

/// Removes the rows whose key and meaning do not contain `word`, in any case, and the sections that become empty.
void keep_matching(std::vector<KeySection>& sections, std::string_view word) {
    const std::string wanted = lower(word);
    for (KeySection& section : sections)
        std::erase_if(section.rows, [&](const KeyRow& row) {
            return lower(row.key).find(wanted) == std::string::npos &&
                   lower(row.meaning).find(wanted) == std::string::npos;
        });
    std::erase_if(sections, [](const KeySection& section) { return section.rows.empty(); });
}

std::string as_tables(const std::vector<KeySection>& sections) {
    std::string text;
    for (const KeySection& section : sections) {
        view::Table table({{"KEY"}, {"DEFAULT"}, {"VALUES"}, {"MEANING"}});
        for (const KeyRow& row : section.rows) table.add({row.key, row.fallback, row.values, row.meaning});
        // The table is never cut to the terminal's width, since its meanings must be readable. The terminal wraps them.
        view::Screen screen = view::screen_of_stdout();
        screen.width = std::numeric_limits<int>::max();
        text += (text.empty() ? "" : "\n") + std::string(section.title) + "\n" + table.draw(screen);
    }
    return text;
}

/// Formats one table per section, between the comment lines that mark it in a page of docs/.
std::string as_markdown(const std::vector<KeySection>& sections) {
    const auto cell = [](std::string text) {
        for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
        return text;
    };
    std::string text;
    for (const KeySection& section : sections) {
        text += "<!-- hpo keys: " + std::string(section.title) + " -->\n";
        text += "| key | default | values | meaning |\n|---|---|---|---|\n";
        for (const KeyRow& row : section.rows)
            text += "| `" + row.key + "` | " + (row.fallback.empty() ? "" : "`" + row.fallback + "`") + " | " +
                    cell(row.values) + " | " + cell(row.meaning) + " |\n";
        text += "<!-- end -->\n";
    }
    return text;
}

std::string as_json(const std::vector<KeySection>& sections) {
    nlohmann::ordered_json keys = nlohmann::ordered_json::array();
    const auto or_null = [](const std::string& text) {
        return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
    };
    for (const KeySection& section : sections)
        for (const KeyRow& row : section.rows)
            keys.push_back({{"section", section.title},
                            {"key", row.key},
                            {"default", or_null(row.fallback)},
                            {"values", or_null(row.values)},
                            {"meaning", row.meaning}});
    return nlohmann::ordered_json{{"schema", json_schema}, {"keys", std::move(keys)}}.dump(2) + "\n";
}

struct KeysArguments {
    std::string word;
    bool json = false, markdown = false;
};

int print_keys(const KeysArguments& arguments) {
    auto sections = all_sections();
    keep_matching(sections, arguments.word);
    if (sections.empty())
        throw Fatal("no key or meaning contains '" + printable(arguments.word) + "'; hpo keys lists all of them");
    print(arguments.json ? as_json(sections) : arguments.markdown ? as_markdown(sections) : as_tables(sections));
    return 0;
}

}  // namespace

CommandAction keys(CLI::App& app) {
    const auto arguments = std::make_shared<KeysArguments>();
    app.add_option("WORD", arguments->word, "Only keys whose name or meaning contains this word");
    auto* json = app.add_flag("--json", arguments->json, "One JSON object for programs");
    app.add_flag("--markdown", arguments->markdown, "Tables in Markdown")->excludes(json);
    return [arguments] { return print_keys(*arguments); };
}

}  // namespace hpo::commands
