// Divergence: stops a trial whose loss is not finite, or has grown far above its first value and stays there.
//
// The reference is the first value and not the best one, because the loss of a good trial may multiply when it is close
// to zero. A factor is meaningless for a first loss of zero or below, so there only a loss that is not finite stops the
// trial. The grace period does not apply to such losses, since training does not recover from them.

#include <array>
#include <cmath>

#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array divergence_options{
    Option{
        "factor", OptionType::real, 1, 1e300, {}, "1.5", "a loss above this many times its first value has diverged"},
    Option{"patience", OptionType::integer, 1, 1e9, {}, "2", "reports in a row above it after which a trial ends"},
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "steps before a trial with a finite loss may end"},
    Option{"metric", OptionType::text, 0, 0, {}, "loss", "the loss to watch; smaller is better"},
};

/// The state of a trial's curve.
struct Course {
    WatchedMetric loss;
    double factor = 0;
    std::optional<double> first;
    std::int64_t above = 0;  ///< number of latest consecutive reports above the bound

    void add(const Report& report) {
        const auto value = loss(report);
        if (!value) return;
        if (!first) first = value;
        above = *first > 0 && *value > factor * *first ? above + 1 : 0;
    }
};

class Divergence final : public StoppingRule {
   public:
    explicit Divergence(const RuleSetup& setup)
        : unit_(setup.unit),
          objective_(setup.objective.metric),
          factor_(number_option(setup.options, divergence_options, "factor")),
          patience_(static_cast<std::int64_t>(number_option(setup.options, divergence_options, "patience"))),
          grace_(static_cast<std::int64_t>(number_option(setup.options, divergence_options, "grace"))) {
        if (const auto option = setup.options.find("metric"); option != setup.options.end())
            loss_.name = to_text(option->second);
        courses_ = Followed<Course>({.loss = loss_, .factor = factor_});
    }

   private:
    Verdict judge(const TrialRecord& trial) override {
        const Course& course = courses_.at(trial);
        const std::string at = " at " + unit_ + " " + std::to_string(trial.steps());
        for (const std::string& name : {loss_.name, objective_}) {
            const auto found = trial.curve.back().metrics.find(name);
            if (found != trial.curve.back().metrics.end() && !std::isfinite(found->second))
                return {to_worker::Action::stop, "divergence", name + " is not finite" + at};
        }
        if (trial.steps() < grace_ || !loss_(trial.curve.back())) return {};
        if (course.above < patience_) return {};
        return {to_worker::Action::stop, "divergence",
                loss_.name + " is " + shown(*loss_(trial.curve.back())) + at + ", above " + shown(factor_) +
                    " times its first value (" + shown(*course.first) + ") for " + counted(course.above, "report")};
    }
    void went_back(std::int64_t trial) override { courses_.forget(trial); }
    void on_end(const TrialRecord& trial) override { courses_.forget(trial.number); }

    WatchedMetric loss_{"loss", Direction::minimize};
    std::string unit_;  ///< the name of a step in reasons
    std::string objective_;
    double factor_;
    std::int64_t patience_;
    std::int64_t grace_;
    Followed<Course> courses_;
};

}  // namespace

constinit const RuleRow divergence_row{
    {"divergence", "ends trials whose loss is not finite or stays above where it began", divergence_options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Divergence>(setup); },
    true};

}  // namespace hpo
