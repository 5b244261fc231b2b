// The fields of the structures that are sent as JSON (wire.hpp) and stored as
// bytes (orchestrator/store/packed.hpp), one line each. Both forms, in both
// directions, follow from this description.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

#include "hpo/trial.hpp"

namespace hpo {

enum class Presence {
    if_set,   ///< written unless empty or zero
    always,   ///< always written; absent in studies of earlier versions
    required  ///< always written; JSON without it is refused
};

/// A field's key in JSON and its number in bytes. A number keeps its meaning
/// forever, since stored studies have it.
struct Field {
    const char* key;
    int number;
    Presence presence = Presence::if_set;
};

/// `Self` is `Described` or const, so that one description serves to read and
/// to write.
template <class Self, class Described>
concept Is = std::same_as<std::remove_const_t<Self>, Described>;

template <Is<Report> Self, class Visit>
void visit_fields(Self& report, Visit&& visit) {
    visit({"step", 1, Presence::required}, report.step);
    visit({"metrics", 2, Presence::required}, report.metrics);
    visit({"seconds", 4}, report.seconds);
    visit({"it_s", 5}, report.iterations_per_second);
    visit({"it_s_overall", 6}, report.iterations_per_second_overall);
    visit({"samples_s", 7}, report.samples_per_second);
    visit({"samples_s_overall", 8}, report.samples_per_second_overall);
    visit({"grad_norm", 9}, report.gradient_norm);
    visit({"lr", 10}, report.learning_rate);
    visit({"loss_deviation", 11}, report.loss_deviation);
    visit({"loss_trend", 12}, report.loss_trend);
    visit({"communication", 17}, report.communication);
    visit({"iteration", 3}, report.iteration);
    visit({"micro_batch", 13}, report.micro_batch);
    visit({"peak_bytes", 14}, report.peak_bytes);
    visit({"peak_device_bytes", 15}, report.peak_device_bytes);
    visit({"warning", 16}, report.warning);
}

template <Is<StepForecast> Self, class Visit>
void visit_fields(Self& forecast, Visit&& visit) {
    visit({"device", 1, Presence::required}, forecast.device);
    visit({"uncorrected", 2, Presence::required}, forecast.uncorrected);
    visit({"factor", 3, Presence::required}, forecast.factor);
    visit({"trials", 4, Presence::required}, forecast.trials);
    visit({"done", 5, Presence::required}, forecast.done);
    visit({"trained", 6, Presence::required}, forecast.trained);
    visit({"why", 7, Presence::required}, forecast.why);
}

template <Is<Allocation> Self, class Visit>
void visit_fields(Self& allocation, Visit&& visit) {
    visit({"device_bytes", 1, Presence::always}, allocation.footprint.device_bytes);
    visit({"host_bytes", 2, Presence::always}, allocation.footprint.host_bytes);
    visit({"cores", 3, Presence::always}, allocation.footprint.cores);
    visit({"device", 4}, allocation.device);
    visit({"alone", 5}, allocation.alone);
    visit({"micro_batches", 6}, allocation.micro_batches);
    visit({"environment", 7}, allocation.environment);
    visit({"forecast", 8}, allocation.forecast);
    visit({"start", 9}, allocation.start);
    visit({"host", 10}, allocation.host);
}

inline bool is_set(const StepForecast& forecast) { return !forecast.device.empty(); }
inline bool is_set(const StartUps& starts) { return starts.number > 0; }
template <class T>
bool is_set(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
        return value != 0;
    else if constexpr (requires { value.has_value(); })
        return value.has_value();
    else if constexpr (requires { value.empty(); })
        return !value.empty();
    else
        return true;
}

/// Returns true if a field with this value is written.
template <class T>
bool is_written(const Field& field, const T& value) {
    return field.presence != Presence::if_set || is_set(value);
}

}  // namespace hpo
