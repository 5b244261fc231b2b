// The progress of a native trial, in steps and within its objective.
#pragma once

#include <cstdint>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "worker/training/health.hpp"
#include "worker/training/schedule.hpp"

namespace hpo {

/// Trivially copyable: last.ckpt holds the bytes of this structure.
struct TrialProgress {
    std::int64_t step = 0;       ///< steps done
    std::int64_t iteration = 0;  ///< updates done, or rounds of trees
    std::int64_t best_step = 0;  ///< by the objective (at: last: the last step with a finite value); 0: none
    double best_value = 0;
    double seconds = 0;  ///< of training, over all attempts
    Plateau plateau;     ///< with that schedule
    LossWindow window;   ///< with folds, of the first one

    /// Counts a step of `iterations`, each over `samples`, which took `step_seconds`. Returns a report with the step's
    /// number, times and rates. If the step took no time, the report has no rates.
    Report add_step(std::int64_t iterations, double step_seconds, double samples);

    /// Takes the step of the report as the best one if it is, by the objective. Returns true if so. A value that is
    /// missing or not finite is never the best.
    bool keep_if_best(const Report& report, const Objective& objective);
};

/// Fails for a checkpoint of a step after that of `run.done`, as after a loss of power that kept the checkpoint and
/// lost the step's report: the curve would have a gap, and the value of that step would be missing. Fails for the
/// checkpoint of the run's last step, too, since training would go on past it.
Result<void> check_goes_on(const to_worker::Run& run, std::int64_t step);

}  // namespace hpo
