// Plateau: stops a trial that has stopped learning ("early stopping", Prechelt: "Early stopping - but when?", 1998).
//
// The metric must improve on a reference by at least `min_delta` within `patience` steps. The reference is the value of
// the last such improvement, so small improvements add up. To be robust to noise, the rule counts improvements both of
// the raw values and of their trailing median over `window` steps. A single lucky value does not stop a trial that
// still learns, because the median continues to improve. The lag of the median does not stop a trial that has just
// improved.

#include <array>
#include <utility>
#include <vector>

#include "hpo/median.hpp"
#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array plateau_options{
    Option{"patience", OptionType::integer, 1, 1e9, {}, "3", "steps without improvement after which a trial ends"},
    Option{"min_delta", OptionType::real, 0, 1e300, {}, "0.001", "least change that counts as an improvement"},
    grace_option,
    Option{"window", OptionType::integer, 1, 101, {}, "3", "steps of the trailing median that smooths the metric"},
    metric_option,
    direction_option,
};

/// Tracks when a series last improved by at least `min_delta`.
class Progress {
   public:
    void add(std::int64_t step, double value, Direction direction, double min_delta) {
        const double gain = direction == Direction::maximize ? value - reference_ : reference_ - value;
        // A repeated value is not an improvement, even if min_delta is 0.
        if (at_ != 0 && (gain < min_delta || gain <= 0)) return;
        reference_ = value;
        at_ = step;
    }
    [[nodiscard]] std::int64_t at() const { return at_; }

   private:
    double reference_ = 0;
    std::int64_t at_ = 0;
};

/// Returns the median. If there are two middle values, returns the worse one, so that with few values a lucky one does
/// not become the reference.
double worse_median(std::vector<double> values, Direction direction) {
    if (direction == Direction::minimize) return upper_median(std::move(values));
    for (double& value : values) value = -value;
    return -upper_median(std::move(values));
}

/// The state of a trial's curve.
struct PlateauCourse {
    WatchedMetric metric;
    double min_delta = 0;
    std::size_t window = 1;
    Progress raw, smooth;
    std::vector<double> recent;
    double best = 0;
    std::int64_t best_step = 0;

    void add(const Report& report) {
        const auto value = metric(report);
        if (!value) return;
        if (recent.size() == window) recent.erase(recent.begin());
        recent.push_back(*value);
        raw.add(report.step, *value, metric.direction, min_delta);
        smooth.add(report.step, worse_median(recent, metric.direction), metric.direction, min_delta);
        if (best_step != 0 && !metric.better(*value, best)) return;
        best = *value;
        best_step = report.step;
    }
};

class Plateau final : public StoppingRule {
   public:
    explicit Plateau(const RuleSetup& setup)
        : metric_(watched_metric(setup.options, setup.objective)),
          unit_(setup.unit),
          patience_(static_cast<std::int64_t>(number_option(setup.options, plateau_options, "patience"))),
          min_delta_(number_option(setup.options, plateau_options, "min_delta")),
          grace_(static_cast<std::int64_t>(number_option(setup.options, plateau_options, "grace"))),
          courses_({.metric = metric_,
                    .min_delta = min_delta_,
                    .window = static_cast<std::size_t>(number_option(setup.options, plateau_options, "window"))}) {}

   private:
    Verdict judge(const TrialRecord& trial) override {
        const PlateauCourse& course = courses_.at(trial);
        const std::int64_t now = trial.steps();
        if (now < grace_ || !metric_(trial.curve.back())) return {};
        if (now - std::max(course.raw.at(), course.smooth.at()) < patience_) return {};
        return {to_worker::Action::stop, "plateau",
                "no improvement of " + metric_.name + " by " + shown(min_delta_) + " in " + counted(patience_, unit_) +
                    " (best " + shown(course.best) + " at " + unit_ + " " + std::to_string(course.best_step) + ")"};
    }
    void went_back(std::int64_t trial) override { courses_.forget(trial); }
    void on_end(const TrialRecord& trial) override { courses_.forget(trial.number); }

    WatchedMetric metric_;
    std::string unit_;  ///< the name of a step in reasons
    std::int64_t patience_;
    double min_delta_;
    std::int64_t grace_;
    Followed<PlateauCourse> courses_;
};

}  // namespace

constinit const RuleRow plateau_row{
    {"plateau", "ends trials that have stopped learning", plateau_options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Plateau>(setup); },
    true};

}  // namespace hpo
