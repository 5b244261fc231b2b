// A study of Optuna with its trials, as a storage of Optuna holds it, and the study of hpo that it becomes. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"

namespace hpo::importing {

struct OptunaParameter {
    std::string name;
    double value = 0;          ///< of a categorical parameter: the index of its choice
    std::string distribution;  ///< JSON
};

struct OptunaTrial {
    std::int64_t number = 0;               ///< from 0
    std::string state;                     ///< COMPLETE, PRUNED, FAIL, RUNNING or WAITING
    std::optional<double> seconds = {};    ///< from its start to its end
    std::vector<double> values = {};       ///< by objective; may be infinite
    std::map<std::int64_t, double> steps;  ///< intermediate values, which may be any number or none
    std::vector<OptunaParameter> params = {};
    std::map<std::string, double> constraints = {};  ///< by name; kept where none is above 0
    std::string failure = {};                        ///< why it failed, if Optuna knows
};

struct OptunaStudy {
    std::string name;
    std::vector<Direction> directions;      ///< by objective
    std::vector<std::string> metrics = {};  ///< names of the objectives; empty: the user has given none
    std::vector<OptunaTrial> trials = {};   ///< by number
    std::int64_t user_attributes = 0;       ///< of the study and of all trials
    double seconds = 0;                     ///< from the start of the first trial to the end of the last one
};

/// Takes in an attribute that Optuna itself has given to a trial, such as its constraints. `value` is JSON.
void take_system_attribute(OptunaTrial& trial, const std::string& key, std::string_view value);

/// Returns the names of objectives from the attribute in which Optuna keeps them; empty if `value`, JSON, is none.
std::vector<std::string> metric_names(std::string_view value);

/// Returns the index of the study with this name, or of the only one if the name is empty. The error lists the names.
Result<std::size_t> choose_optuna_study(const std::vector<std::string>& names, const std::string& name,
                                        const std::string& source);

/// Returns the seconds since the epoch of "2026-11-29 19:00:20.234567", also with a T and a zone, as if it were UTC.
std::optional<double> seconds_of_datetime(std::string_view text);

/// A study of trials that have ended elsewhere.
struct ImportedStudy {
    Study study;                       ///< without a worker
    std::vector<Event> events;         ///< of its trials, in the order of their numbers, without points of the cube
    double seconds = 0;                ///< duration of the study
    std::vector<std::string> remarks;  ///< what was left out or changed, each a sentence without its end
};

/// Makes the study `name` of the trials that have ended. Trial n of Optuna becomes trial n + 1 where none before it was
/// left out. Ranges and choices are those of all trials together. A parameter that only some trials have exists by a
/// condition (`when`) if another parameter explains that in all of them. Fails, with the place in `source` and the
/// cure, for what no study of hpo can say.
Result<ImportedStudy> import_optuna(const OptunaStudy& optuna, const std::string& name, const std::string& source);

}  // namespace hpo::importing
