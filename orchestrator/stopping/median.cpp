// Median: a trial ends whose best value so far is worse than the median of the other trials' running averages at the
// same step (Golovin et al.: "Google Vizier: a service for black-box optimization", KDD 2017). It needs no model of the
// curves; running averages make it slow to trust one good step.

#include <algorithm>
#include <array>
#include <map>

#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array options{
    Option{"min_trials",
           OptionType::integer,
           1,
           1e9,
           {},
           "5",
           "other trials that must have reached a step before it is judged"},
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "no trial ends before it has done so many steps"},
    Option{"metric", OptionType::text, 0, 0, {}, {}, "what to watch; default: the objective's metric"},
    Option{"direction",
           OptionType::text,
           0,
           0,
           "minimize|maximize",
           {},
           "of metric; default: the objective's for its own, else minimize"},
};

class Median final : public StoppingRule {
   public:
    explicit Median(const RuleSetup& setup)
        : metric_(watched_metric(setup.options, setup.objective)),
          min_trials_(static_cast<std::size_t>(number_option(setup.options, options, "min_trials"))),
          grace_(static_cast<std::int64_t>(number_option(setup.options, options, "grace"))) {}

   private:
    Verdict judge(const TrialRecord& trial) override {
        const std::int64_t step = trial.steps();
        if (!metric_(trial.curve.back())) return {};
        double best = 0, sum = 0;
        std::int64_t count = 0;
        for (const Report& report : trial.curve) {
            const auto value = metric_(report);
            if (!value) continue;
            if (count == 0 || metric_.better(*value, best)) best = *value;
            sum += *value;
            ++count;
        }
        std::vector<double>& averages = averages_[step];  // of the other trials: each step is judged once a trial
        const std::size_t others = averages.size();
        double middle = 0;
        if (others > 0)
            middle = others % 2 ? averages[others / 2] : (averages[others / 2 - 1] + averages[others / 2]) / 2;
        const double average = sum / static_cast<double>(count);
        averages.insert(std::upper_bound(averages.begin(), averages.end(), average), average);
        if (step < grace_ || others < min_trials_ || !metric_.better(middle, best)) return {};
        return {to_worker::Action::stop, "median",
                "best " + metric_.name + " " + shown(best) + " after " + counted(step, "step") +
                    " is worse than the median " + shown(middle) + " of " + std::to_string(others) + " trials"};
    }

    WatchedMetric metric_;
    std::size_t min_trials_;
    std::int64_t grace_;
    std::map<std::int64_t, std::vector<double>> averages_;  ///< by step: running averages of the trials, ascending
};

}  // namespace

constinit const RuleRow median_row{
    {"median", "ends trials that are worse than the median of the others at the same step", options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Median>(setup); }};

}  // namespace hpo
