#include "orchestrator/output/key_tables.hpp"

#include <nlohmann/json.hpp>
#include <span>

#include "hpo/options.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_keys.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/study/study_keys.hpp"

namespace hpo {

namespace {

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

}  // namespace

std::vector<KeySection> key_sections() {
    return {study_section(), worker_section(), parts_section("Samplers", "type: ", sampler_vocabulary()),
            parts_section("Stopping rules", "rule: ", rule_vocabulary())};
}

std::string keys_markdown(const std::vector<KeySection>& sections) {
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

std::string keys_json(const std::vector<KeySection>& sections) {
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

}  // namespace hpo
