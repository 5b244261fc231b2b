// The figures of studies for Prometheus (its text format, version 0.0.4). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hpo::serve {

struct Figures {
    std::string study, metric;
    bool running = false;
    std::array<std::int64_t, 7> trials{};  ///< by state, as trial_state_names
    std::optional<std::int64_t> budget;    ///< trials; nothing: its time alone ends the study
    std::int64_t steps = 0;                ///< trained by all attempts
    std::optional<double> best;
};

/// Returns the page that Prometheus scrapes.
std::string metrics_text(std::span<const Figures> studies);

}  // namespace hpo::serve
