// Plateau: a trial that has stopped learning ends ("early stopping", Prechelt: "Early stopping - but when?", 1998).
//
// The metric must improve by `min_delta` over its reference, the best value that last did so, within `patience` steps;
// small improvements add up. Noise is met from both sides: improvements count in the raw values and in their trailing
// median over `window` steps alike. One lucky value cannot end a trial that still learns, because the median goes on
// improving below it; the median's lag cannot end a trial that has just improved.
//
// Stateless: each verdict is a function of the curve alone.

#include <algorithm>
#include <array>

#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array options{
    Option{"patience", OptionType::integer, 1, 1e9, {}, "3", "steps without improvement after which a trial ends"},
    Option{"min_delta", OptionType::real, 0, 1e300, {}, "0.001", "the least that counts as improvement"},
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "no trial ends before it has done so many steps"},
    Option{"window", OptionType::integer, 1, 101, {}, "3", "steps of the trailing median"},
    Option{"metric", OptionType::text, 0, 0, {}, {}, "what to watch; default: the objective's metric"},
    Option{"direction",
           OptionType::text,
           0,
           0,
           "minimize|maximize",
           {},
           "of metric; default: the objective's for its own, else minimize"},
};

/// Follows one series and remembers when it last improved by the least that counts.
class Progress {
   public:
    Progress(const WatchedMetric& metric, double min_delta) : metric_(metric), min_delta_(min_delta) {}

    void add(std::int64_t step, double value) {
        const double gain = metric_.direction == Direction::maximize ? value - reference_ : reference_ - value;
        // With min_delta 0 a repeated value is no improvement.
        if (at_ != 0 && (gain < min_delta_ || gain <= 0)) return;
        reference_ = value;
        at_ = step;
    }
    [[nodiscard]] std::int64_t at() const { return at_; }

   private:
    const WatchedMetric& metric_;
    double min_delta_;
    double reference_ = 0;
    std::int64_t at_ = 0;
};

/// Of two middle values the worse one: with few values yet, a lucky one must not become the reference.
double median(std::vector<double> values, const WatchedMetric& metric) {
    std::sort(values.begin(), values.end(), [&](double a, double b) { return metric.better(a, b); });
    return values[values.size() / 2];
}

class Plateau final : public StoppingRule {
   public:
    explicit Plateau(const RuleSetup& setup)
        : metric_(watched_metric(setup.options, setup.objective)),
          patience_(static_cast<std::int64_t>(number_option(setup.options, options, "patience"))),
          min_delta_(number_option(setup.options, options, "min_delta")),
          grace_(static_cast<std::int64_t>(number_option(setup.options, options, "grace"))),
          window_(static_cast<std::size_t>(number_option(setup.options, options, "window"))) {}

   private:
    Verdict judge(const TrialRecord& trial) override {
        const std::int64_t now = trial.steps();
        if (now < grace_ || !metric_(trial.curve.back())) return {};
        Progress raw(metric_, min_delta_), smooth(metric_, min_delta_);
        std::vector<double> recent;
        double best = 0;
        std::int64_t best_step = 0;
        for (const Report& report : trial.curve) {
            const auto value = metric_(report);
            if (!value) continue;
            if (recent.size() == window_) recent.erase(recent.begin());
            recent.push_back(*value);
            raw.add(report.step, *value);
            smooth.add(report.step, median(recent, metric_));
            if (best_step != 0 && !metric_.better(*value, best)) continue;
            best = *value;
            best_step = report.step;
        }
        if (now - std::max(raw.at(), smooth.at()) < patience_) return {};
        return {to_worker::Action::stop, "plateau",
                "no improvement of " + metric_.name + " by " + shown(min_delta_) + " in " + counted(patience_, "step") +
                    " (best " + shown(best) + " at step " + std::to_string(best_step) + ")"};
    }

    WatchedMetric metric_;
    std::int64_t patience_;
    double min_delta_;
    std::int64_t grace_;
    std::size_t window_;
};

}  // namespace

constinit const RuleRow plateau_row{
    {"plateau", "ends trials that have stopped learning", options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Plateau>(setup); }};

}  // namespace hpo
