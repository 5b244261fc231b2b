// Percentile: stops a trial whose best value so far is not within a given top percentage of the other trials at the
// same step (Optuna's PercentilePruner; Akiba, Sano, Yanase, Ohta, Koyama: "Optuna: a next-generation hyperparameter
// optimization framework", KDD 2019). Optuna compares it with the other trials' values at that step, and only with
// completed trials. This rule compares it with the other trials' best values so far, and with all trials that have
// reached the step, so that stopped trials do not lower the bar.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array percentile_options{
    Option{"best", OptionType::real, 1, 99, {}, "25", "percent of the trials that go on, the best ones"},
    min_trials_option,
    grace_option,
    metric_option,
    direction_option,
    within_option,
};

class Percentile final : public StoppingRule {
   public:
    explicit Percentile(const RuleSetup& setup)
        : metric_(watched_metric(setup.options, setup.objective)),
          unit_(setup.unit),
          share_(number_option(setup.options, percentile_options, "best") / 100),
          min_trials_(static_cast<std::size_t>(number_option(setup.options, percentile_options, "min_trials"))),
          grace_(static_cast<std::int64_t>(number_option(setup.options, percentile_options, "grace"))),
          best_({.metric = metric_, .value = {}}) {}

   private:
    Verdict judge(const TrialRecord& trial) override {
        const auto best = best_.at(trial).value;
        const std::int64_t step = trial.steps();
        if (!best || !metric_(trial.curve.back())) return {.lasting = true};  // A repetition counts as judged.
        std::vector<double>& others = by_step_[step];                         // Each step is judged once per trial.
        const std::size_t count = others.size();
        // Interpolate linearly between ranks, as numpy.percentile does, which Optuna uses.
        const double rank = share_ * static_cast<double>(count == 0 ? 0 : count - 1);
        const auto below = static_cast<std::size_t>(rank);
        const double bar = count == 0 ? 0
                                      : others[below] + (rank - static_cast<double>(below)) *
                                                            (others[std::min(below + 1, count - 1)] - others[below]);
        const double loss = metric_.direction == Direction::minimize ? *best : -*best;
        others.insert(std::upper_bound(others.begin(), others.end(), loss), loss);
        if (step < grace_ || count < min_trials_ || loss <= bar) return {.lasting = true};
        const auto [own, bound] = shown_apart(*best, metric_.direction == Direction::minimize ? bar : -bar);
        return {to_worker::Action::stop, "percentile",
                "best " + metric_.name + " " + own + " after " + counted(step, unit_) + " is worse than " + bound +
                    ", the bound of the best " + shown(100 * share_) + " % of " + std::to_string(count) + " trials",
                true};
    }
    void went_back(std::int64_t trial) override { best_.forget(trial); }
    void on_end(const TrialRecord& trial) override { best_.forget(trial.number); }

    WatchedMetric metric_;
    std::string unit_;  ///< the name of a step in reasons
    double share_;
    std::size_t min_trials_;
    std::int64_t grace_;
    Followed<BestValue> best_;
    std::map<std::int64_t, std::vector<double>> by_step_;  ///< best values so far of all trials, by step, best first
};

}  // namespace

constinit const RuleRow percentile_row{
    {"percentile", "ends trials outside the best `best` percent at the same step", percentile_options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Percentile>(setup); }};

}  // namespace hpo
