// Hyperband: several brackets of successive halving. Each bracket starts at a later rung than the previous one, so the
// study depends less on how predictive early ranks are (Li, Jamieson, DeSalvo, Rostamizadeh, Talwalkar: "Hyperband: a
// novel bandit-based approach to hyperparameter optimization", JMLR 18, 2018).
//
// Bracket s has the rungs from grace * factor^s on. The last bracket has no rungs and trains its trials to their end.
// As in the paper, the brackets get trials in the ratio ceil((s_max + 1) / (s' + 1) * factor^s'), where s' counts from
// the last bracket, so that they cost about the same. Each bracket is asynchronous like asha (halving.hpp), as in
// section 3.2 of the ASHA paper. A trial's bracket depends only on its number. Each trial goes to the bracket that is
// furthest behind its share.

#include <algorithm>
#include <array>
#include <cmath>

#include "orchestrator/stopping/halving.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array hyperband_options{
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "steps to the first rung of the first bracket"},
    Option{"factor",
           OptionType::integer,
           2,
           1000,
           {},
           "3",
           "reduction factor: the best 1/factor advance; rungs and brackets are factor times apart"},
    within_option,
};

class Hyperband final : public StoppingRule {
   public:
    explicit Hyperband(const RuleSetup& setup)
        : factor_(static_cast<std::size_t>(number_option(setup.options, hyperband_options, "factor"))) {
        const auto grace = static_cast<std::int64_t>(number_option(setup.options, hyperband_options, "grace"));
        steps_ = rung_steps(grace, static_cast<std::int64_t>(factor_), setup.steps);
        const std::size_t brackets = steps_.size() + 1;
        for (std::size_t first = 0; first < brackets; ++first) {
            const std::vector<std::int64_t> own(steps_.begin() + static_cast<std::ptrdiff_t>(first), steps_.end());
            brackets_.emplace_back("hyperband", setup.objective, own, factor_, setup.unit);
            const auto left = static_cast<double>(brackets - first);  // s' + 1
            sizes_.push_back(static_cast<std::size_t>(std::ceil(
                static_cast<double>(brackets) / left * std::pow(static_cast<double>(factor_), left - 1) - 1e-9)));
            trials_ += sizes_.back();
        }
        take_turns();
    }

    void expect_trials(bool more) override {
        for (Halving& bracket : brackets_) bracket.expect_trials(more);
    }

    /// Returns the trials of the last brackets first, since these have the highest rungs.
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const override {
        std::vector<std::int64_t> all;
        for (auto bracket = brackets_.rbegin(); bracket != brackets_.rend(); ++bracket)
            for (const std::int64_t trial : bracket->promotions(most - all.size())) all.push_back(trial);
        return all;
    }

    [[nodiscard]] bool holds(std::int64_t trial) const override { return of(trial).holds(trial); }

    /// Returns the gates over all brackets. A gate's share is that of all trials which reach its step in any bracket.
    [[nodiscard]] std::vector<Gate> gates() const override {
        std::vector<double> alive;
        for (const std::size_t size : sizes_) alive.push_back(static_cast<double>(size));
        std::vector<Gate> gates;
        for (std::size_t rung = 0; rung < steps_.size(); ++rung) {
            double before = 0, after = 0;
            for (std::size_t bracket = 0; bracket < alive.size(); ++bracket) {
                before += alive[bracket];
                if (bracket <= rung) alive[bracket] /= static_cast<double>(factor_);
                after += alive[bracket];
            }
            gates.push_back({steps_[rung], after / before});
        }
        return gates;
    }

    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override {
        return named(trial, of(trial).verdict_on_paused(trial));
    }

    [[nodiscard]] std::string plan(const std::string& unit) const override {
        std::string text = "of " + std::to_string(trials_) + " trials ";
        for (std::size_t i = 0; i < sizes_.size(); ++i) {
            const std::vector<std::int64_t> own(steps_.begin() + static_cast<std::ptrdiff_t>(i), steps_.end());
            text += (i == 0 ? "" : "; ") + std::to_string(sizes_[i]) +
                    (own.empty() ? " run to their end" : " pause after " + rungs_text(own, unit));
        }
        return text + "; one in " + std::to_string(factor_) + " continues";
    }

   private:
    Verdict judge(const TrialRecord& trial) override {
        Verdict verdict = of(trial.number).report(trial);
        verdict.reason = named(trial.number, std::move(verdict.reason));
        return verdict;
    }
    void went_back(std::int64_t trial) override { of(trial).went_back(trial); }
    void on_end(const TrialRecord& trial) override { of(trial.number).ended(trial); }
    void on_promotion(std::int64_t trial) override { of(trial).promoted(trial); }

    /// Assigns a bracket to each of `trials_` consecutive trials.
    void take_turns() {
        std::vector<double> taken(sizes_.size(), 0.0);
        for (std::size_t trial = 1; trial <= trials_; ++trial) {
            std::size_t next = 0;
            double furthest = -INFINITY;
            for (std::size_t i = 0; i < sizes_.size(); ++i) {
                const double due = static_cast<double>(trial * sizes_[i]) / static_cast<double>(trials_) - taken[i];
                if (due > furthest + 1e-12) furthest = due, next = i;
            }
            ++taken[next];
            turns_.push_back(next);
        }
    }

    [[nodiscard]] std::size_t bracket_of(std::int64_t trial) const {
        return turns_[static_cast<std::size_t>(std::max<std::int64_t>(trial, 1) - 1) % turns_.size()];
    }
    [[nodiscard]] const Halving& of(std::int64_t trial) const { return brackets_[bracket_of(trial)]; }
    [[nodiscard]] Halving& of(std::int64_t trial) { return brackets_[bracket_of(trial)]; }

    /// Adds the bracket to a reason: "bracket 2 of 4: 3rd of 9 at rung 1 (3 steps); the best 3 are promoted".
    [[nodiscard]] std::string named(std::int64_t trial, std::string reason) const {
        if (reason.empty()) return reason;
        return "bracket " + std::to_string(bracket_of(trial) + 1) + " of " + std::to_string(brackets_.size()) + ": " +
               reason;
    }

    std::size_t factor_;
    std::vector<std::int64_t> steps_;  ///< the steps of the first bracket's rungs
    std::vector<Halving> brackets_;
    std::vector<std::size_t> sizes_;  ///< the number of trials in each bracket, of `trials_`
    std::size_t trials_ = 0;
    std::vector<std::size_t> turns_;
};

}  // namespace

constinit const RuleRow hyperband_row{
    {"hyperband", "as asha, in several brackets with ever later first rungs; the last one stops no trial",
     hyperband_options, true},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Hyperband>(setup); }};

}  // namespace hpo
