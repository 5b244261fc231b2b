// What a study's record tells about the rest of it: what its trials cost, where they ended, how they rank at the rungs
// of a rule that pauses them, and which of them are running or queued. Pure.
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

/// Where trials ended before their last epoch, other than by waiting at a rung: the Kaplan-Meier estimate of the share
/// of trials that go on beyond each step.
class Survival {
   public:
    void ended(std::int64_t step) { ++ends_[step]; }
    void got_to(std::int64_t step) { got_to_.push_back(step); }
    void done();

    /// The step at which a trial ends that has taken step `from` (-1: it has not started), for a uniform draw `luck` in
    /// 0 to 1; absent: it does not end before `to`. `frailty` is an exponent of the shares: over 1, more trials end.
    [[nodiscard]] std::optional<std::int64_t> end(std::int64_t from, std::int64_t to, double luck,
                                                  double frailty) const;
    [[nodiscard]] double count() const { return count_; }
    /// Trials that got beyond `step`.
    [[nodiscard]] std::size_t beyond(std::int64_t step) const;

   private:
    std::map<std::int64_t, std::int64_t> ends_;
    std::vector<std::int64_t> got_to_;
    std::vector<std::pair<std::int64_t, double>> left_;  ///< after the ends at a step: the share that goes on
    double count_ = 0;
};

/// A rung, with all that came to it. Losses are the objective's values, turned so that smaller is better.
struct Rung {
    std::int64_t step = 0;
    double share = 1;                 ///< of the trials that reach it, that are promoted
    std::vector<double> losses = {};  ///< of all trials that reached it, best first
    std::vector<double> passed = {};  ///< of those that reached the next rung as well, best first
    struct Waiting {
        double loss = 0;
        double pace = 0;
    };
    std::vector<Waiting> waiting = {};  ///< best first
    std::size_t gone_on = 0;            ///< promoted by their rank
};

/// A trial that runs or is queued.
struct UnderWay {
    double pace = 0;                  ///< seconds a step; 0: not known yet
    std::int64_t steps = 0;           ///< it has taken
    std::size_t rungs = 0;            ///< it has passed
    std::optional<double> loss = {};  ///< at the last of them
    bool running = false;
    bool begun = false;
    bool full = false;  ///< it is trained in full, whatever its rank
};

/// What a new trial may be like: one that came before.
struct Example {
    double pace = 0;
    std::optional<double> loss = {};  ///< at the first rung
};

struct Past {
    Past(const Study& study, const StudyRecord& record, const Moment& moment);

    /// Whether time left can be estimated: a trial has ended or paused, and its cost is known.
    [[nodiscard]] bool tells() const { return decided > 0 && !examples.empty(); }

    std::vector<Rung> rungs;
    std::vector<UnderWay> under_way;
    std::vector<Example> examples;
    Survival survival;
    bool may_end = false;      ///< a rule may end a trial anywhere
    std::int64_t trials = 0;   ///< started
    double full_share = 0;     ///< of all steps, the part of trials that are trained in full whatever their rank
    double least_full = 0;     ///< the least part that the rules give them
    std::int64_t steps = 0;    ///< of all trials
    std::int64_t full = 0;     ///< of the trials that are trained in full, with the steps that they have still to take
    std::int64_t decided = 0;  ///< of them, ended or paused
    std::int64_t tried = 0;    ///< of these, after the best one
    std::size_t places = 1;    ///< trials at once
    double start = 0;          ///< seconds from a free slot to the first step
    double again = 0;          ///< share of the steps before a pause that are taken again after it

   private:
    void cut(const Study& study, const StudyRecord& record);
    void find_full(const Study& study, const StudyRecord& record);
    void add(const TrialRecord& trial, const Objective& objective, std::int64_t epochs, double step);
    void rank(const TrialRecord& trial, const Objective& objective, std::size_t came_to, bool waits, double pace);
    [[nodiscard]] bool at_a_rung(std::int64_t step) const;
    [[nodiscard]] std::size_t rungs_before_again(const TrialRecord& trial) const;

    std::set<std::int64_t> full_trials_;
    double taken_again_ = 0, before_pauses_ = 0;
};

}  // namespace hpo::view
