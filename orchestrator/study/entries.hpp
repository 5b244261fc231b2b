// A study as keys and YAML texts: what write_study() lays out and compare() compares.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/study.hpp"

namespace hpo::study {

/// One map of the file. `section`: "", objective, space, worker, ...; `name`: of a map within it ("lr", "training",
/// a rule's name) or empty.
struct Group {
    std::string section;
    std::string name;
    std::vector<std::pair<std::string, std::string>> fields;
};

/// In the order of the file. What has its default because it is absent (time, patience) is left out.
std::vector<Group> groups_of(const Study& study);

/// A text as YAML holds it in flow style, quoted where it must be.
std::string yaml_text(std::string_view text);

}  // namespace hpo::study
