// Reads from a study's record what the simulation of the rest needs: what trials cost, where they ended, how they rank
// at the rungs of a rule that pauses them, and which ones are running or queued. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {

/// The steps at which trials ended early, other than by a pause at a rung, as a Kaplan-Meier estimate of the share of
/// trials that go on beyond each step.
class Survival {
   public:
    void add_end(std::int64_t step) { ++ends_[step]; }
    void add_reached(std::int64_t step) { reached_.push_back(step); }
    /// Computes the estimate. To be called once, after all trials were added.
    void estimate();

    /// Returns the step at which a trial ends that has taken step `from` (-1 if it has not started), for a `uniform`
    /// draw from 0 to 1; nothing if it does not end before `to`. `frailty` is an exponent of the shares: with more than
    /// 1 more trials end.
    [[nodiscard]] std::optional<std::int64_t> end(std::int64_t from, std::int64_t to, double uniform,
                                                  double frailty) const;
    /// Returns how many trials ended early.
    [[nodiscard]] double count() const { return count_; }
    /// Returns how many trials went beyond `step`.
    [[nodiscard]] std::size_t beyond(std::int64_t step) const;

   private:
    std::map<std::int64_t, std::int64_t> ends_;
    std::vector<std::int64_t> reached_;
    std::vector<std::pair<std::int64_t, double>> left_;  ///< step, and share that goes on beyond it
    double count_ = 0;
};

/// A rung and the trials that reached it. A loss is the objective's value, negated if larger is better.
struct Rung {
    std::int64_t step = 0;
    double share = 1;                 ///< share of the trials that are promoted
    std::vector<double> losses = {};  ///< of all trials that reached it, best first
    std::vector<double> passed = {};  ///< of those that also reached the next rung, best first
    struct Waiting {
        double loss = 0;
        double pace = 0;
    };
    std::vector<Waiting> waiting = {};  ///< best first
    std::size_t gone_on = 0;            ///< promoted by their rank
};

/// A trial that is running or queued.
struct UnderWay {
    double pace = 0;                  ///< seconds per step; 0 if not known yet
    std::int64_t steps = 0;           ///< that it has taken
    std::size_t rungs = 0;            ///< that it has passed
    std::optional<double> loss = {};  ///< at the last rung that it has passed
    bool running = false;
    bool started = false;
    bool full = false;  ///< trained in full whatever its rank
};

/// An earlier trial, as an example of what a new one may be like.
struct Example {
    double pace = 0;
    std::optional<double> loss = {};  ///< at the first rung
};

struct Past {
    Past(const Study& study, const StudyRecord& record, const Moment& moment);

    /// Whether time left can be estimated: a trial has ended or paused, and its cost is known.
    [[nodiscard]] bool can_estimate() const { return decided > 0 && !examples.empty(); }

    std::vector<Rung> rungs;
    std::vector<UnderWay> under_way;
    std::vector<Example> examples;
    Survival survival;
    bool may_end = false;      ///< whether a rule may end a trial at any step
    std::int64_t trials = 0;   ///< started
    double full_share = 0;     ///< share of all steps that goes to trials that are trained in full whatever their rank
    double least_full = 0;     ///< least share that the rules give them
    std::int64_t steps = 0;    ///< of all trials
    std::int64_t full = 0;     ///< steps of trials that are trained in full, including those still to come
    std::int64_t decided = 0;  ///< trials that have ended or paused
    std::int64_t tried = 0;    ///< of these, trials after the best one
    std::size_t parallel = 1;  ///< trials at once
    double start = 0;          ///< seconds from a free worker to the first step
    double again = 0;          ///< share of the steps before a pause that are repeated after it

   private:
    void find_rungs(const Study& study, const StudyRecord& record);
    void find_full(const Study& study, const StudyRecord& record);
    void add(const TrialRecord& trial, const Objective& objective, std::int64_t epochs, double step);
    void rank(const TrialRecord& trial, const Objective& objective, std::size_t came_to, bool waits, double pace);
    [[nodiscard]] bool at_a_rung(std::int64_t step) const;
    [[nodiscard]] std::size_t rungs_before_again(const TrialRecord& trial) const;

    std::set<std::int64_t> full_trials_;
    double taken_again_ = 0, before_pauses_ = 0;
};

}  // namespace hpo::view
