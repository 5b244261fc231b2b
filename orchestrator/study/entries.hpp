// Lists a study's keys with their values as YAML, for write_study() and compare().
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/study.hpp"

namespace hpo::study {

/// One map of the file. `section` is "", objective, space, worker, ...; `name` is that of a map within it ("lr",
/// "training", a rule's name) or empty.
struct Group {
    std::string section;
    std::string name;
    std::vector<std::pair<std::string, std::string>> fields;
};

/// Returns the groups in the order of the file. Keys that are absent by default (time, patience) are left out.
std::vector<Group> groups_of(const Study& study);

/// Returns a text as YAML in flow style, quoted where necessary.
std::string yaml_text(std::string_view text);

}  // namespace hpo::study
