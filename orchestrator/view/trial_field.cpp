#include "orchestrator/view/trial_field.hpp"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {
namespace {

using FieldKind = TrialField::Kind;

constexpr std::array<std::pair<std::string_view, FieldKind>, 12> words{{{"trial", FieldKind::trial},
                                                                        {"state", FieldKind::state},
                                                                        {"step", FieldKind::step},
                                                                        {"value", FieldKind::value},
                                                                        {"it/s", FieldKind::speed},
                                                                        {"speed", FieldKind::speed},
                                                                        {"time", FieldKind::time},
                                                                        {"memory", FieldKind::memory},
                                                                        {"device", FieldKind::device},
                                                                        {"reason", FieldKind::reason},
                                                                        {"why", FieldKind::reason},
                                                                        {"epoch", FieldKind::step}}};

FieldValue number_or_nothing(const std::optional<double>& number) {
    return number ? FieldValue(*number) : FieldValue();
}

FieldValue text_or_nothing(std::string text) { return text.empty() ? FieldValue() : FieldValue(std::move(text)); }

FieldValue parameter_of(const TrialRecord& trial, const std::string& name) {
    const auto found = trial.params.find(name);
    if (found == trial.params.end()) return {};
    if (const auto* integer = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&found->second)) return *real;
    return to_text(found->second);
}

/// Returns the metric at the step that counts for the objective, or at the last step if it is absent there.
FieldValue metric_of(const TrialRecord& trial, const std::string& name) {
    if (const auto value = metric_that_counts(trial, name)) return *value;
    if (trial.curve.empty()) return {};
    const auto found = trial.curve.back().metrics.find(name);
    return found == trial.curve.back().metrics.end() ? FieldValue() : FieldValue(found->second);
}

std::set<std::string> metric_names(const StudyRecord& record) {
    std::set<std::string> names;
    for (const TrialRecord& trial : record.trials)
        if (!trial.curve.empty())
            for (const auto& [name, value] : trial.curve.back().metrics) names.insert(name);
    return names;
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

FieldValue value_of(const TrialRecord& trial, const TrialField& field) {
    switch (field.kind) {
        case FieldKind::value:
            return number_or_nothing(trial.value);
        case FieldKind::trial:
            return static_cast<double>(trial.number);
        case FieldKind::state:
            return std::string(to_text(trial.state));
        case FieldKind::step:
            return static_cast<double>(trial.steps());
        case FieldKind::speed:
            return number_or_nothing(speed_of(trial));
        case FieldKind::time:
            return number_or_nothing(seconds_taken(trial));
        case FieldKind::memory:
            return number_or_nothing(memory_of(trial));
        case FieldKind::device:
            return text_or_nothing(trial.where.empty() ? trial.allocation->device : trial.where);
        case FieldKind::reason:
            return text_or_nothing(trial.state == TrialState::running ? "" : device_or_reason(trial));
        case FieldKind::parameter:
            return parameter_of(trial, field.name);
        case FieldKind::metric:
            return metric_of(trial, field.name);
    }
    return {};
}

std::optional<TrialField> field_named(std::string_view name, const Study& study, const StudyRecord& record) {
    for (const Dimension& dimension : study.space)
        if (dimension.name == name) return TrialField{FieldKind::parameter, dimension.name};
    if (name == study.objective.metric) return TrialField{FieldKind::value};
    for (const std::string& metric : metric_names(record))
        if (metric == name) return TrialField{FieldKind::metric, metric};
    for (const auto& [word, kind] : words)
        if (word == name) return TrialField{kind};
    for (const Dimension& dimension : study.space)
        if (last_part(dimension.name) == name) return TrialField{FieldKind::parameter, dimension.name};
    return std::nullopt;
}

std::vector<std::string> field_names(const Study& study, const StudyRecord& record) {
    std::vector<std::string> names;
    for (const Dimension& dimension : study.space) names.push_back(dimension.name);
    for (const std::string& metric : metric_names(record)) names.push_back(metric);
    for (const auto& [word, kind] : words) names.emplace_back(word);
    return names;
}

std::optional<double> speed_of(const TrialRecord& trial) {
    if (trial.curve.empty()) return std::nullopt;
    const Report& last = trial.curve.back();
    return trial.state == TrialState::running || !last.iterations_per_second_overall
               ? last.iterations_per_second
               : last.iterations_per_second_overall;
}

std::optional<double> memory_of(const TrialRecord& trial) {
    if (trial.curve.empty() || !trial.curve.back().peak_bytes) return std::nullopt;
    return static_cast<double>(*trial.curve.back().peak_bytes);
}

std::optional<double> communication_of(const TrialRecord& trial) {
    double sum = 0, steps = 0;  // all steps have the same number of updates
    for (const Report& report : trial.curve)
        if (report.communication) sum += *report.communication, ++steps;
    return steps > 0 ? std::optional(sum / steps) : std::nullopt;
}

std::string device_or_reason(const TrialRecord& trial) {
    if (trial.state == TrialState::running) return printable(trial.where);
    if (trial.reason.empty() && trial.repeat_of != 0) return "another seed of trial " + std::to_string(trial.repeat_of);
    if (trial.reason.empty() && !trial.seeds.empty()) return seeds_text(trial);
    return (trial.rule.empty() ? "" : printable(trial.rule) + ": ") + printable_line(trial.reason);
}

std::string compact_number(double number) {
    if (!std::isfinite(number)) return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    const double size = std::abs(number);
    if (size >= 1000 && size < 1e6) return with_decimals(number, 0);
    const bool with_exponent = number != 0 && (size < 1e-3 || size >= 1e6);
    const std::string text = with_exponent ? with_decimals(number, 2, std::chars_format::scientific)
                                           : with_decimals(number, 3, std::chars_format::general);
    const auto mark = text.find('e');
    if (mark == std::string::npos) return text;
    // 5.10e-05 becomes 5.1e-5.
    std::string digits = text.substr(0, mark), exponent = text.substr(mark + 1);
    while (digits.ends_with('0')) digits.pop_back();
    if (digits.ends_with('.')) digits.pop_back();
    return digits + "e" + std::to_string(std::stoi(exponent));
}

}  // namespace hpo::view
