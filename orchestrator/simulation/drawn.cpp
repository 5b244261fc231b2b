#include "orchestrator/simulation/drawn.hpp"

#include <cmath>

#include "hpo/random.hpp"

namespace hpo {

double DrawnWorkload::draw(const TrialRecord& trial, std::uint64_t element) const {
    return draw_unit(seed_, Purpose::synthetic, static_cast<std::uint64_t>(trial.number), element);
}

TrialCost DrawnWorkload::cost(const TrialRecord& trial) const {
    TrialCost cost{.start = trials_.start.at(draw(trial, 0)), .end = trials_.end.at(draw(trial, 2))};
    cost.footprint = {static_cast<std::int64_t>(trials_.device_bytes.at(draw(trial, 3))),
                      static_cast<std::int64_t>(trials_.host_bytes.at(draw(trial, 4))), trials_.cores};
    return cost;
}

double DrawnWorkload::step_seconds(const TrialRecord& trial, std::int64_t) const {
    return trials_.step.at(draw(trial, 1));
}

Metrics DrawnWorkload::metrics(const TrialRecord& trial, std::int64_t step) const {
    const double first = trials_.first.at(draw(trial, 5)), last = trials_.last.at(draw(trial, 6)),
                 pace = trials_.pace.at(draw(trial, 7));
    const double noise = trials_.noise * (2 * draw(trial, 8 + static_cast<std::uint64_t>(step)) - 1);
    Metrics metrics{
        {study_.objective.metric, last + (first - last) * std::exp(-static_cast<double>(step) / pace) + noise}};
    for (const Goal& goal : study_.objective.further) metrics[goal.metric] = last;
    for (const Constraint& constraint : study_.objective.constraints)
        metrics[constraint.metric] = constraint.min.value_or(constraint.max.value_or(0));
    return metrics;
}

}  // namespace hpo
