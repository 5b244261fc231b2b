// The seam of all stopping rules. Pure: no I/O, no clock; a rule's state is a function of the calls made to it, so that
// replaying a study's events rebuilds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/trial.hpp"

namespace hpo {

struct Verdict {
    to_worker::Action action = to_worker::Action::go_on;
    std::string rule;    ///< its name in the study file
    std::string reason;  ///< in words, with the numbers
};

class StoppingRule {
   public:
    virtual ~StoppingRule() = default;

    /// A step was stored: `trial.curve.back()`. A step may be reported again (a resumed attempt repeats the steps after
    /// its checkpoint): the answer for a step already judged must not depend on how often it came.
    virtual Verdict report(const TrialRecord& trial) = 0;

    /// A trial ended for good (any final state).
    virtual void ended(const TrialRecord& trial) { (void)trial; }

    /// Paused trials that may go on now, the most promising first. Asked whenever a worker is free.
    [[nodiscard]] virtual std::vector<std::int64_t> promotions() const { return {}; }

    /// A paused trial was queued again.
    virtual void promoted(std::int64_t trial) { (void)trial; }

    /// A paused trial will not go on any more (the study ended): why, in words.
    [[nodiscard]] virtual std::string verdict_on_paused(std::int64_t trial) const {
        (void)trial;
        return {};
    }
};

}  // namespace hpo
