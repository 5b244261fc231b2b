// Extracts from a study's record the data for the simulation of its rest: the cost of trials, the steps at which they
// ended, their ranks at rungs, and the trials that are running or queued. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hpo/event.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// A Kaplan-Meier estimate of the share of trials that continue beyond each step. Pauses at rungs do not count as ends.
class Survival {
   public:
    void add_end(std::int64_t step) { ++ends_[step]; }
    void add_reached(std::int64_t step) { reached_.push_back(step); }
    /// Computes the estimate. Must be called once, after all trials have been added.
    void estimate();

    /// Returns the step at which a trial ends that has reached step `from` (-1 if it has not started), for `uniform`
    /// drawn from [0, 1]. Returns nothing if it does not end before `to`. `frailty` is an exponent of the shares; above
    /// 1 more trials end.
    [[nodiscard]] std::optional<std::int64_t> end(std::int64_t from, std::int64_t to, double uniform,
                                                  double frailty) const;
    /// Returns the number of trials that ended early.
    [[nodiscard]] double count() const { return count_; }
    /// Returns the number of trials that went beyond `step`.
    [[nodiscard]] std::size_t beyond(std::int64_t step) const;

   private:
    std::map<std::int64_t, std::int64_t> ends_;
    std::vector<std::int64_t> reached_;
    std::vector<std::pair<std::int64_t, double>> left_;  ///< step, and share of trials that continue beyond it
    double count_ = 0;
};

/// A rung and the trials that reached it. A loss is the objective's value, negated if larger is better.
struct PastRung {
    std::int64_t step = 0;
    double share = 1;                 ///< share of the trials that are promoted
    std::vector<double> losses = {};  ///< of all trials that reached it, best first
    std::vector<double> passed = {};  ///< of those that also reached the next rung, best first
    struct Waiting {
        double loss = 0;
        double pace = 0;
    };
    std::vector<Waiting> waiting = {};  ///< best first
    std::size_t gone_on = 0;            ///< number of trials promoted by their rank
};

/// A trial that is running or queued.
struct UnderWay {
    double pace = 0;                  ///< seconds per step; 0 if not known yet
    std::int64_t steps = 0;           ///< number of steps that it has taken
    std::size_t rungs = 0;            ///< number of rungs that it has passed
    std::optional<double> loss = {};  ///< at the last of these rungs
    bool running = false;
    bool started = false;
    bool full = false;  ///< true for a full training
};

/// An earlier trial, from which the simulation draws the cost of a new one.
struct PastTrial {
    double pace = 0;
    std::optional<double> loss = {};  ///< at the first rung
};

struct Past {
    /// `held_seconds`: for which the study has run, in all sessions.
    Past(const Study& study, const StudyRecord& record, double held_seconds);

    /// Returns true if the time left can be estimated: a trial has ended or paused, and its cost is known.
    [[nodiscard]] bool can_estimate() const { return decided > 0 && !examples.empty(); }

    std::vector<PastRung> rungs;
    std::vector<UnderWay> under_way;
    std::vector<PastTrial> examples;
    Survival survival;
    bool may_end = false;      ///< true if a rule may end a trial at any step
    std::int64_t trials = 0;   ///< number of trials that have started
    double full_share = 0;     ///< share of all steps that full trainings take
    double least_full = 0;     ///< minimum of that share by the rules
    std::int64_t steps = 0;    ///< of all trials
    std::int64_t full = 0;     ///< steps of full trainings, including those that are still to come
    std::int64_t decided = 0;  ///< number of trials that have ended or paused
    std::int64_t tried = 0;    ///< number of these that came after the best trial
    std::size_t parallel = 1;  ///< trials at once
    double start = 0;          ///< seconds from a free worker to the first step
    double again = 0;          ///< share of the steps before a pause that are repeated after it
    bool spares = false;       ///< true if trials are not paused whose restart takes longer than their remaining steps

   private:
    void find_rungs(const Study& study, const StudyRecord& record);
    void find_full(const Study& study, const StudyRecord& record);
    void add(const TrialRecord& trial, const Objective& objective, std::int64_t epochs, double seconds_per_step);
    void rank(const TrialRecord& trial, const Objective& objective, std::size_t reached, bool waits, double pace);
    [[nodiscard]] bool is_rung(std::int64_t step) const;
    [[nodiscard]] std::size_t rungs_before_again(const TrialRecord& trial) const;

    std::set<std::int64_t> full_trials_;
    double repeated_steps_ = 0, steps_before_pauses_ = 0;
};

}  // namespace hpo
