// A first study for data: facts become the text of a commented study, with a space and a budget for this amount of
// data. Pure.
#pragma once

#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/init/data_facts.hpp"

namespace hpo::init {

struct FirstStudy {
    std::string text;                   ///< YAML
    std::vector<std::string> found;     ///< findings about the data, in lines for people
    std::vector<std::string> warnings;  ///< properties of the data that probably spoil the result
};

/// Returns the study. `as_series`: the rows of a table are in the order of time, and the next is predicted from those
/// before it. An Error says which column prevents it, and the cure.
Result<FirstStudy> study_for_data(const DataFacts& facts, bool as_series);

/// Returns a study's name for a path: its last part without its ending, in the letters of names.
std::string study_name(const std::string& path);

/// Returns the lines as comments.
std::string comments(const std::vector<std::string>& lines);

}  // namespace hpo::init
