// Divergence: a trial whose loss is not finite, or has grown far above its first value and stays there, ends.
//
// The first value is the yardstick and not the best one: a good trial's loss may multiply when it is close to zero, but
// a loss above where training began has unlearned all. A loss of zero or below has no scale to multiply; there only
// what is not finite ends the trial. What is not finite needs no grace: it does not come back.
//
// Stateless: each verdict is a function of the curve alone.

#include <array>
#include <cmath>

#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array options{
    Option{
        "factor", OptionType::real, 1, 1e300, {}, "1.5", "a loss above this many times its first value has diverged"},
    Option{"patience", OptionType::integer, 1, 1e9, {}, "2", "reports in a row above it after which a trial ends"},
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "no trial with a finite loss ends before so many steps"},
    Option{"metric", OptionType::text, 0, 0, {}, "loss", "the loss to watch; smaller is better"},
};

class Divergence final : public StoppingRule {
   public:
    explicit Divergence(const RuleSetup& setup)
        : objective_(setup.objective.metric),
          factor_(number_option(setup.options, options, "factor")),
          patience_(static_cast<std::int64_t>(number_option(setup.options, options, "patience"))),
          grace_(static_cast<std::int64_t>(number_option(setup.options, options, "grace"))) {
        if (const auto given = setup.options.find("metric"); given != setup.options.end())
            loss_.name = to_text(given->second);
    }

   private:
    Verdict judge(const TrialRecord& trial) override {
        const std::string at = " at step " + std::to_string(trial.steps());
        for (const std::string& name : {loss_.name, objective_}) {
            const auto found = trial.curve.back().metrics.find(name);
            if (found != trial.curve.back().metrics.end() && !std::isfinite(found->second))
                return {to_worker::Action::stop, "divergence", name + " is not finite" + at};
        }
        if (trial.steps() < grace_ || !loss_(trial.curve.back())) return {};
        std::optional<double> first;
        std::int64_t above = 0;
        for (const Report& report : trial.curve) {
            const auto value = loss_(report);
            if (!value) continue;
            if (!first) first = value;
            above = *first > 0 && *value > factor_ * *first ? above + 1 : 0;
        }
        if (above < patience_) return {};
        return {to_worker::Action::stop, "divergence",
                loss_.name + " is " + shown(*loss_(trial.curve.back())) + at + ", above " + shown(factor_) +
                    " times its first value (" + shown(*first) + ") for " + counted(above, "report")};
    }

    WatchedMetric loss_{"loss", Direction::minimize};
    std::string objective_;
    double factor_;
    std::int64_t patience_;
    std::int64_t grace_;
};

}  // namespace

constinit const RuleRow divergence_row{
    {"divergence", "ends trials whose loss is not finite or stays above where it began", options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Divergence>(setup); }};

}  // namespace hpo
