// Extrapolation: pauses trials at rungs, as asha does, and promotes those whose curves are predicted to end best. The
// reliability of the predictions is checked within the study.
//
// Rungs are at steps / factor, steps / factor^2, ... Each rung promotes the best floor(n / factor) of the n trials that
// have reached it, by predicted end (curve_model.hpp). Pausing and resuming by extrapolated curves follows Swersky,
// Snoek, Adams: "Freeze-thaw Bayesian optimization", arXiv 1406.3896, 2014. Promotion by rank follows Li et al.: "A
// system for massively parallel hyperparameter tuning", MLSys 2020. Ranks are used instead of the probability of
// beating the best trial, because that probability was poorly calibrated: of the trials with less than 2 %, far more
// did.
//
// A share of all steps is spent on full trainings: trials that are trained to their end regardless of their curve. The
// first trial is one of them, even if others reach the first rung earlier. They are not selected by performance, so
// comparing their predicted and real ends shows how reliable predictions are. The less reliable they are, the larger
// the share, from a tenth to nine tenths.
//
// A trial that repeats an earlier one exactly (repeats.hpp) is paused, and its predicted end is that of the earlier
// one. It may still differ from it later, by a parameter that acts late. Therefore one of the trials that repeat a
// finished one is trained to its end, as soon as that is a small part of all steps, and once no further trials come,
// some of those that repeat the best trial. If one of them ends differently, no trial is taken for a repetition any
// more, and those that are paused as such wait at their rungs like others.
//
// The first step often predicts nothing (a warm-up, or a measurement before training begins). Trials pause there only
// once the study has shown that it is predictive.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "orchestrator/stopping/curve_model.hpp"
#include "orchestrator/stopping/full_trainings.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/objective_so_far.hpp"
#include "orchestrator/stopping/promotion.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/stopping/repeats.hpp"
#include "orchestrator/stopping/rung.hpp"

namespace hpo {

namespace {

constexpr std::array extrapolation_options{
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "steps before a trial may pause"},
    Option{"factor",
           OptionType::integer,
           2,
           1000,
           {},
           "3",
           "reduction factor: the best 1/factor by prediction advance; rungs are factor times apart"},
    within_option,
};

constexpr double growth = 1.03;           ///< growth of all steps after which the model is fitted again
constexpr double first_step_tells = 0.6;  ///< correlation from which trials pause at the first step
constexpr double forecast_tells = 0.4;    ///< correlation from which a sampler may learn from a forecast
constexpr double cheap = 0.2;             ///< share of all steps that the test of a repetition may take

/// The state of a trial.
struct CurveCourse {
    CurvePath path;                    ///< smaller is better
    bool full = false;                 ///< true for a full training
    std::optional<double> foretold;    ///< the end predicted at its first rung
    std::optional<std::size_t> waits;  ///< the rung at which the trial is paused
    std::int64_t tests = 0;            ///< the trial that it has repeated, if it goes on to its end nevertheless
    std::int64_t counted = 0;          ///< the trial's steps that all_steps_ includes
};

class Extrapolation final : public StoppingRule {
   public:
    explicit Extrapolation(const RuleSetup& setup)
        : unit_(setup.unit),
          value_(setup.objective),
          steps_(setup.steps),
          first_(setup.first),
          factor_(static_cast<std::size_t>(number_option(setup.options, extrapolation_options, "factor"))),
          grace_(static_cast<std::int64_t>(number_option(setup.options, extrapolation_options, "grace"))),
          rungs_(rungs_at(rung_steps_from_end(setup.steps, grace_, factor_), factor_)),
          model_(rungs_.size() + 1, possible_values(value_.metric().name, value_.metric().direction)),
          full_(setup.steps) {}

    void expect_trials(bool more) override { more_ = more; }

    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const override {
        std::vector<std::int64_t> promotable;
        for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung) {
            const std::size_t places = more_ ? rung->quota() : std::max<std::size_t>(rung->quota(), 1);
            rung->add_promotable(places, more_ ? rung->free_places() : places, most, promotable);
        }
        for (const std::int64_t trial : unplaced_)
            if (promotable.size() < most) promotable.push_back(trial);
        for (const std::int64_t trial : tests_of_repetitions())
            if (promotable.size() < most) promotable.push_back(trial);
        return promotable;
    }

    [[nodiscard]] bool holds(std::int64_t trial) const override {
        const auto found = courses_.find(trial);
        return found != courses_.end() &&
               (found->second.waits || repeating_.contains(trial) || unplaced_.contains(trial));
    }

    [[nodiscard]] std::vector<Gate> gates() const override {
        std::vector<Gate> gates;
        for (std::size_t i = 0; i < rungs_.size(); ++i)
            gates.push_back({rungs_[i].step, 1 / static_cast<double>(factor_), in_force(i)});
        return gates;
    }
    [[nodiscard]] std::string plan(const std::string& unit) const override {
        std::vector<std::int64_t> steps;
        bool first = false;
        for (const Rung& rung : rungs_) (rung.step > 1 ? steps.push_back(rung.step) : void(first = true));
        std::string text;
        if (!steps.empty())
            text = "one trial in " + std::to_string(factor_) + " continues after " + rungs_text(steps, unit) +
                   ", by predicted ends";
        if (first)
            text += (text.empty() ? "" : "; ") + std::string("after ") + unit +
                    " 1, too, once ranks there predict the ends";
        return text.empty() ? "no rung lies below the budget: every trial runs to its end" : text;
    }
    [[nodiscard]] double least_full_share() const override { return FullTrainings::least; }

    [[nodiscard]] std::optional<Forecast> forecast(std::int64_t trial) const override {
        if (repeating_.contains(trial)) return forecast_of_repeat(*repeats_.original(trial));
        const auto found = courses_.find(trial);
        if (found == courses_.end() || found->second.path.empty() || found->second.path.size() > rungs_.size())
            return std::nullopt;
        const auto end = model_.end(found->second.path);
        return Forecast{value_.oriented(end.value), end.deviation,
                        model_.tells(found->second.path.size() - 1) >= forecast_tells};
    }
    [[nodiscard]] std::int64_t forecasts_made() const override { return fits_; }

    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override {
        if (repeating_.contains(trial)) return repeats_text(*repeats_.original(trial));
        const auto found = courses_.find(trial);
        return found != courses_.end() && found->second.waits ? standing(trial, found->second, true) : std::string();
    }

   private:
    Verdict judge(const TrialRecord& trial) override {
        const auto value = value_.of(trial);
        if (!value) return {};
        CurveCourse& course = courses_[trial.number];
        leave(trial.number, course);
        bool lasting = false;
        if (!differ_) {
            lasting = repeats_.report(trial.number, trial.steps(), *value_.metric()(trial.curve.back()));
            if (const auto original = repeats_.original(trial.number); original && trial.steps() >= grace_) {
                if (!may_test(*original, trial.steps())) {
                    withdraw(trial, course);
                    repeating_.insert(trial.number);
                    return {to_worker::Action::pause, "extrapolation", repeats_text(*original), true};
                }
                test(trial.number, course, *original);
                lasting = true;
            }
        }
        Verdict verdict = judge(trial, course, *value);
        verdict.lasting |= lasting;
        return verdict;
    }

    Verdict judge(const TrialRecord& trial, CurveCourse& course, double value) {
        const std::size_t before = course.path.size();
        while (course.path.size() < rungs_.size() && rungs_[course.path.size()].step <= trial.steps())
            course.path.push_back(value_.oriented(value));
        if (course.path.size() == before) return {};
        count(trial, course);
        if (static_cast<double>(all_steps_) >= growth * static_cast<double>(fitted_at_)) fit();
        for (std::size_t i = before; i < course.path.size(); ++i) {
            rungs_[i].add(entry_at(i, trial.number, course));
        }
        const std::size_t here = course.path.size() - 1;
        // The steps counted here affect the verdicts on other trials, so they are lasting.
        if (course.full || !in_force(here)) return {.lasting = true};
        const bool first = is_first(before);
        if (first) course.foretold = model_.end(course.path).value;
        if (first && (trial.number == first_ || owed_to_full())) {
            course.full = true;
            trial.number == first_ ? full_.begin_first() : full_.begin();
            return {.lasting = true};
        }
        Rung& rung = rungs_[here];
        const Ranked entry = entry_at(here, trial.number, course);
        if (rung.has_place_for(entry)) {
            ++rung.gone_on;
            return {.lasting = true};
        }
        rung.paused.insert(entry);
        course.waits = here;
        return {to_worker::Action::pause, "extrapolation", standing(trial.number, course, false), true};
    }

    /// Takes a trial that repeats another one out of the rungs that it has passed.
    void withdraw(const TrialRecord& trial, CurveCourse& course) {
        count(trial, course);
        if (course.full) full_.cut_short(steps_ - trial.steps());
        for (std::size_t i = 0; i < course.path.size(); ++i) {
            rungs_[i].remove(trial.number);
            if (!course.full && in_force(i) && rungs_[i].gone_on > 0) --rungs_[i].gone_on;
        }
        course.path.clear();
    }

    /// Returns true if a trial that has repeated this one for `steps` steps is to be trained to its end, to see whether
    /// it repeats it to the end.
    [[nodiscard]] bool may_test(std::int64_t original, std::int64_t steps) const {
        if (tested_ || differ_ || !ends_.contains(original)) return false;
        return owed_to_full() || static_cast<double>(steps_ - steps) <= cheap * static_cast<double>(all_steps_);
    }

    /// Returns the paused repetitions that are to be trained to their end now.
    [[nodiscard]] std::vector<std::int64_t> tests_of_repetitions() const {
        std::vector<std::int64_t> trials;
        for (const std::int64_t trial : repeating_) {
            if (tested_ || !trials.empty()) break;
            if (may_test(*repeats_.original(trial), courses_.at(trial).counted)) trials.push_back(trial);
        }
        if (more_ || !best_end_) return trials;
        const std::int64_t best = best_end_->trial, tested = courses_.at(best).tests;
        for (const std::int64_t trial : repeats_.of(tested ? tested : best))
            if (repeating_.contains(trial) && released_ + trials.size() < factor_ &&
                std::find(trials.begin(), trials.end(), trial) == trials.end())
                trials.push_back(trial);
        return trials;
    }

    void test(std::int64_t trial, CurveCourse& course, std::int64_t original) {
        repeats_.release(trial);
        if (!std::exchange(course.full, true)) full_.begin();
        course.tests = original;
        tested_ = true;
    }

    /// Puts a trial that was taken for a repetition of `original` back into the rungs that it has passed.
    void put_back(std::int64_t trial, CurveCourse& course, std::int64_t original) {
        const CurvePath& same = courses_.at(original).path;
        while (course.path.size() < std::min(rungs_.size(), same.size()) &&
               rungs_[course.path.size()].step <= course.counted)
            course.path.push_back(same[course.path.size()]);
        for (std::size_t i = 0; i < course.path.size(); ++i) {
            rungs_[i].add(entry_at(i, trial, course));
        }
    }

    /// A repetition has ended differently from its original: from now on there are none.
    void give_up_repetitions() {
        differ_ = true;
        for (const std::int64_t trial : std::exchange(repeating_, {})) {
            CurveCourse& course = courses_.at(trial);
            const std::int64_t original = *repeats_.original(trial);
            repeats_.release(trial);
            put_back(trial, course, original);
            if (course.path.empty() || !in_force(course.path.size() - 1)) {
                unplaced_.insert(trial);
                continue;
            }
            course.waits = course.path.size() - 1;
            for (std::size_t i = 0; i < *course.waits; ++i)
                if (in_force(i)) ++rungs_[i].gone_on;
        }
        fit();
    }

    /// Returns the forecast for a trial that repeats this one: the value that this one has reached, if it has ended.
    [[nodiscard]] std::optional<Forecast> forecast_of_repeat(std::int64_t original) const {
        const auto found = courses_.find(original);
        const bool ended = found != courses_.end() && found->second.path.size() > rungs_.size();
        auto known = ended ? std::optional(Forecast{value_.oriented(model_.bounded_end(found->second.path.back()))})
                           : forecast(original);
        if (known) known->repeats = true;
        return known;
    }
    [[nodiscard]] static std::string repeats_text(std::int64_t original) {
        return "repeats trial " + std::to_string(original) + ": every value so far is the same";
    }

    void on_end(const TrialRecord& trial) override {
        value_.forget(trial.number);
        if (trial.state == TrialState::failed) repeats_.failed(trial.number);
        if (trial.number == first_) full_.first_ended();
        repeats_.release(trial.number);
        const auto found = courses_.find(trial.number);
        if (found == courses_.end()) return;
        CurveCourse& course = found->second;
        repeating_.erase(trial.number);
        unplaced_.erase(trial.number);
        leave(trial.number, course);
        count(trial, course);
        see_test(trial, course);
        const bool diverged = trial.state == TrialState::diverged;
        if (course.path.empty() || (!diverged && trial.state != TrialState::complete)) return;
        if (trial.steps() == 1) return;  // a trial of one step tells nothing of the order at later ones
        const double end = diverged ? INFINITY : !trial.value ? course.path.back() : value_.oriented(*trial.value);
        course.path.resize(rungs_.size() + 1, end);
        if (course.foretold) full_.ended(*course.foretold, end);
        if (trial.state == TrialState::complete && (!best_end_ || end < best_end_->value))
            best_end_ = {end, trial.number};
        if (std::exchange(refuted_, false)) give_up_repetitions();
    }

    /// Compares the end of a trial with that of the trial that it repeated.
    void see_test(const TrialRecord& trial, const CurveCourse& course) {
        const auto last = trial.curve.empty() ? std::nullopt : value_.metric()(trial.curve.back());
        const bool complete = trial.state == TrialState::complete && last && trial.value;
        if (complete) ends_.insert({trial.number, {*trial.value, *last}});
        if (course.tests == 0) return;
        const auto original = ends_.find(course.tests);
        if (original != ends_.end() && (complete || trial.state == TrialState::diverged))
            refuted_ = !differ_ && (!complete || ends_.at(trial.number) != original->second);
        else
            tested_ = false;  // the test had no result
    }
    void went_back(std::int64_t trial) override { value_.forget(trial); }
    void on_promotion(std::int64_t trial) override {
        unplaced_.erase(trial);
        if (repeating_.erase(trial) > 0) {
            const std::int64_t original = *repeats_.original(trial);
            CurveCourse& course = courses_.at(trial);
            put_back(trial, course, original);
            test(trial, course, original);
            ++released_;
            return;
        }
        const auto found = courses_.find(trial);
        if (found == courses_.end() || !found->second.waits) return;
        ++rungs_[*found->second.waits].gone_on;
        leave(trial, found->second);
    }

    void leave(std::int64_t trial, CurveCourse& course) {
        if (!course.waits) return;
        rungs_[*course.waits].paused.erase(entry_at(*course.waits, trial, course));
        course.waits.reset();
    }

    /// Adds a trial's new steps to the total. Called only at rungs and at the end of a trial, so that other reports do
    /// not affect the rule's state.
    void count(const TrialRecord& trial, CurveCourse& course) {
        all_steps_ += std::max<std::int64_t>(0, trial.steps() - course.counted);
        course.counted = std::max(course.counted, trial.steps());
    }

    /// Returns a trial's rank entry at a rung, with its end as predicted from that rung.
    [[nodiscard]] Ranked entry_at(std::size_t rung, std::int64_t trial, const CurveCourse& course) const {
        const CurvePath there(course.path.begin(), course.path.begin() + static_cast<std::ptrdiff_t>(rung) + 1);
        return {model_.end(there).value, trial};
    }

    void fit() {
        fitted_at_ = all_steps_;
        ++fits_;
        std::vector<const CurvePath*> paths;
        paths.reserve(courses_.size());
        for (const auto& [trial, course] : courses_) paths.push_back(&course.path);
        model_.fit(paths);
        for (std::size_t i = 0; i < rungs_.size(); ++i) {
            Rung& rung = rungs_[i];
            rung.paused.clear();
            for (Ranked& entry : rung.ranking) {
                const CurveCourse& course = courses_.at(entry.trial);
                entry = entry_at(i, entry.trial, course);
                if (course.waits == i) rung.paused.insert(entry);
            }
            std::sort(rung.ranking.begin(), rung.ranking.end());
        }
    }

    /// Returns true if trials pause at this rung. A rung at step 1 is in force once it is predictive. All others always
    /// are.
    [[nodiscard]] bool in_force(std::size_t rung) const {
        return rungs_[rung].step > 1 || model_.tells(rung) >= first_step_tells;
    }
    [[nodiscard]] bool is_first(std::size_t passed) const {
        for (std::size_t i = 0; i < passed; ++i)
            if (in_force(i)) return false;
        return true;
    }

    /// Returns true if the next trial should be a full training.
    [[nodiscard]] bool owed_to_full() const {
        std::size_t first = 0;
        while (first < rungs_.size() && !in_force(first)) ++first;
        return full_.owed(all_steps_, first < rungs_.size() ? full_.share(model_, first) : FullTrainings::least);
    }

    [[nodiscard]] std::string standing(std::int64_t trial, const CurveCourse& course, bool past) const {
        const Rung& rung = rungs_[*course.waits];
        const Ranked entry = entry_at(*course.waits, trial, course);
        const std::size_t number = rung.place(entry) + 1;
        const std::string reached =
            std::to_string(rung.ranking.size()) + " at " + unit_ + " " + std::to_string(rung.step) + "; ";
        const std::string where =
            "predicted to end at " + shown(value_.oriented(entry.value)) + ", " + ordinal(number) + " of " + reached;
        return where + promotion_text(number, rung.quota(), factor_, past);
    }

    std::string unit_;  ///< the name of a step in reasons
    ObjectiveSoFar value_;
    std::int64_t steps_;
    std::int64_t first_;  ///< the trial that is trained to its end before anything is known
    std::size_t factor_;
    std::int64_t grace_;
    std::vector<Rung> rungs_;
    CurveModel model_;
    Repeats repeats_;
    std::set<std::int64_t> repeating_;  ///< trials that are paused as repetitions
    std::size_t released_ = 0;          ///< repetitions that were promoted
    bool tested_ = false;               ///< true if a repetition is or was trained to its end
    bool refuted_ = false;              ///< true if the trial that ends now has differed from the one that it repeated
    bool differ_ = false;               ///< true once one has: no trial is taken for a repetition any more
    std::set<std::int64_t> unplaced_;   ///< paused trials that were taken for repetitions and have passed no rung
    /// The value and the last step's metric of trials that were trained to their end.
    std::unordered_map<std::int64_t, std::pair<double, double>> ends_;
    std::optional<Ranked> best_end_;  ///< of the trials that were trained to their end
    std::unordered_map<std::int64_t, CurveCourse> courses_;
    FullTrainings full_;
    std::int64_t all_steps_ = 0;
    std::int64_t fitted_at_ = 0;
    std::int64_t fits_ = 0;
    bool more_ = true;
};

}  // namespace

constinit const RuleRow extrapolation_row{
    {"extrapolation", "pauses trials at rungs and promotes those that are predicted to end best", extrapolation_options,
     true},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Extrapolation>(setup); }};

}  // namespace hpo
