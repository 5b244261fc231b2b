#include "orchestrator/analysis/repeat_study.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace hpo {

namespace {

constexpr std::size_t max_name_length = 64;
constexpr double tie_width = 2;  // standard errors

}  // namespace

Study repeat_study(const Study& study) {
    static const std::string suffix = "-repeat";
    Study again = study;
    again.name = study.name.substr(0, max_name_length - suffix.size()) + suffix;
    again.seed = study.seed < 1'000'000 ? study.seed + 1'000'000 : study.seed - 1'000'000;
    again.stopping.clear();
    again.start.clear();
    again.warm_start.clear();
    again.warm_start_auto = false;
    again.sampler = {"random", {}};
    again.repeats = 1;
    again.budget.seconds.reset();
    again.budget.patience.reset();
    return again;
}

std::vector<event::Proposed> missing_repeats(const StudyRecord& record,
                                             const std::vector<const TrialRecord*>& configurations,
                                             std::int64_t repeats) {
    std::vector<event::Proposed> missing;
    auto number = static_cast<std::int64_t>(record.trials.size());
    for (std::int64_t round = 1; round <= repeats; ++round)
        for (const TrialRecord* configuration : configurations) {
            const auto present =
                std::count_if(record.trials.begin(), record.trials.end(),
                              [&](const TrialRecord& trial) { return trial.params == configuration->params; });
            if (present < round) missing.push_back({++number, configuration->point, configuration->params});
        }
    return missing;
}

std::vector<Repeated> rank_repeats(const StudyRecord& record, const std::vector<const TrialRecord*>& configurations,
                                   Direction direction) {
    std::vector<Repeated> all;
    for (const TrialRecord* configuration : configurations) {
        Repeated repeated;
        repeated.first = configuration;
        for (const TrialRecord& trial : record.trials) {
            if (trial.params != configuration->params || !is_final(trial.state)) continue;
            if (trial.state == TrialState::complete && trial.value)
                repeated.values.push_back(*trial.value);
            else
                ++repeated.failed;
        }
        const auto n = static_cast<double>(repeated.values.size());
        for (const double value : repeated.values) repeated.mean += value / n;
        double squares = 0;
        for (const double value : repeated.values) squares += (value - repeated.mean) * (value - repeated.mean);
        if (n > 1) repeated.deviation = std::sqrt(squares / (n - 1));
        all.push_back(std::move(repeated));
    }
    std::stable_sort(all.begin(), all.end(), [&](const Repeated& a, const Repeated& b) {
        if (a.values.empty() || b.values.empty()) return !a.values.empty() && b.values.empty();
        return better(direction, a.mean, b.mean);
    });
    const auto squared_error = [](const Repeated& repeated) {
        return *repeated.deviation * *repeated.deviation / static_cast<double>(repeated.values.size());
    };
    for (std::size_t i = 1; i < all.size() && all.front().deviation; ++i)
        all[i].tied = all[i].deviation && std::abs(all[i].mean - all.front().mean) <=
                                              tie_width * std::sqrt(squared_error(all[i]) + squared_error(all.front()));
    return all;
}

}  // namespace hpo
