// JSON Schema of study files, for the editors that check and complete YAML.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "hpo/options.hpp"

namespace hpo::study {

/// Returns the schema (draft 7) of every key in study_keys.hpp, worker_keys.hpp and `vocabulary`. It accepts every
/// study that parse_study() accepts. It checks one key at a time; errors between keys are left to parse_study().
nlohmann::ordered_json study_schema(const Vocabulary& vocabulary);

/// Returns the schema of values of a form, which is one of these, or several with '|' between them:
/// a word, which stands for itself; [FORM], a list; <text>, <flag>, <value> (anything), <map>, <null>, <name> (of a
/// study), <duration>, <size>, <percent>, <best> (best N), <integer LOW HIGH> and <number LOW HIGH>, whose limits may
/// be absent, and <constraint>.
nlohmann::ordered_json form_schema(std::string_view form);

}  // namespace hpo::study
