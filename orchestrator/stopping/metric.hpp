// The metric that a rule watches, and helpers that the rules share.
#pragma once

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/options.hpp"
#include "hpo/study.hpp"
#include "hpo/text.hpp"
#include "hpo/trial.hpp"

namespace hpo {

struct WatchedMetric {
    std::string name;
    Direction direction = Direction::minimize;

    /// Returns the metric's value in a report, or nothing if it is missing or not finite.
    [[nodiscard]] std::optional<double> operator()(const Report& report) const {
        const auto found = report.metrics.find(name);
        if (found == report.metrics.end() || !std::isfinite(found->second)) return std::nullopt;
        return found->second;
    }
    [[nodiscard]] bool better(double a, double b) const { return hpo::better(direction, a, b); }
};

/// Returns the metric that a rule's options `metric` and `direction` select. By default it is the objective's metric
/// with the objective's direction. Any other metric is minimized unless `direction` is set.
inline WatchedMetric watched_metric(const Params& options, const Objective& objective) {
    const auto text = [&](const char* name) {
        const auto found = options.find(name);
        const auto* value = found == options.end() ? nullptr : std::get_if<std::string>(&found->second);
        return value ? *value : std::string();
    };
    WatchedMetric metric{objective.metric, objective.direction};
    if (const std::string name = text("metric"); !name.empty() && name != objective.metric)
        metric = {name, Direction::minimize};
    if (const std::string direction = text("direction"); !direction.empty())
        metric.direction = direction == "maximize" ? Direction::maximize : Direction::minimize;
    return metric;
}

/// The best value of a curve so far, as a state for Followed.
struct BestValue {
    WatchedMetric metric;
    std::optional<double> value;

    void add(const Report& report) {
        if (const auto found = metric(report); found && (!value || metric.better(*found, *value))) value = found;
    }
};

// Options that several rules share.

/// rules.hpp reads it, and the rules themselves do not.
inline constexpr Option within_option{"within",
                                      OptionType::text,
                                      0,
                                      0,
                                      {},
                                      {},
                                      "compare trials of the same value of this categorical parameter; default: type"};

inline constexpr Option min_trials_option{"min_trials",
                                          OptionType::integer,
                                          1,
                                          1e9,
                                          {},
                                          "5",
                                          "other trials that must have reached a step before it is judged"};
inline constexpr Option grace_option{"grace", OptionType::integer, 1, 1e9, {}, "1", "steps before a trial may end"};
inline constexpr Option metric_option{
    "metric", OptionType::text, 0, 0, {}, {}, "metric to watch; default: the objective's metric"};
inline constexpr Option direction_option{"direction",
                                         OptionType::text,
                                         0,
                                         0,
                                         "minimize|maximize",
                                         {},
                                         "of metric; default: the objective's for its own, else minimize"};

/// Formats a number with four significant digits, for reasons.
inline std::string shown(double number) { return with_digits(number, 4); }

/// Formats two numbers with four significant digits, or more if they would look equal, so that no reason says that
/// 1.434 is worse than 1.434.
inline std::pair<std::string, std::string> shown_apart(double a, double b) {
    int digits = 4;
    while (a != b && with_digits(a, digits) == with_digits(b, digits) && digits < 17) ++digits;
    return {with_digits(a, digits), with_digits(b, digits)};
}

/// Returns the ordinal of a number: "1st", "2nd", "11th".
inline std::string ordinal(std::size_t number) {
    const std::size_t last = number % 10, tens = number % 100 / 10;
    const char* const ending = tens == 1 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
    return std::to_string(number) + ending;
}

}  // namespace hpo
