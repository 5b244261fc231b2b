// The fields of a trial by which `hpo top` sorts and filters: its number, state and speed, its metrics and parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo::view {

struct TrialField {
    /// `value` is the objective's. `reason` is the reason for the trial's state, with the rule that stopped the trial.
    enum class Kind { value, trial, state, step, speed, time, memory, device, reason, parameter, metric };
    Kind kind = Kind::value;
    std::string name = {};  ///< of the parameter or the metric; otherwise empty
    friend bool operator==(const TrialField&, const TrialField&) = default;
};

/// The value of a field; monostate if the trial has none.
using FieldValue = std::variant<std::monostate, double, std::string>;

/// Speeds are in iterations per second, times in seconds, memory in bytes.
FieldValue value_of(const TrialRecord& trial, const TrialField& field);

/// Returns the field that a user calls `name`: a parameter or a metric by its full name, a word such as "it/s", or a
/// parameter by the last part of its name ("lr" for "training.lr").
std::optional<TrialField> field_named(std::string_view name, const Study& study, const StudyRecord& record);

/// Returns all names that field_named() accepts, parameters first.
std::vector<std::string> field_names(const Study& study, const StudyRecord& record);

/// Returns the iterations per second: of the last window if the trial is running, otherwise of the whole training.
std::optional<double> speed_of(const TrialRecord& trial);
/// Returns the peak of the host memory in bytes, as the trial reported it.
std::optional<double> memory_of(const TrialRecord& trial);
/// Returns the share of a trial's training time that the exchange between its ranks took, 0 to 1, by the steps at hand.
std::optional<double> communication_of(const TrialRecord& trial);
/// Returns the device of a running trial, or the reason for another trial's state. Printable.
std::string device_or_reason(const TrialRecord& trial);

/// Returns a number with three significant digits in at most eight columns: 0.00051, 5.1e-5, 1024.
std::string compact_number(double number);

}  // namespace hpo::view
