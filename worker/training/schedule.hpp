// The learning rate over a trial's whole budget: a pure function of the iteration, so that a resumed trial needs no
// state. Warm-up rises linearly to the peak (Goyal et al., arXiv:1706.02677); cosine falls to zero over the rest
// (Loshchilov and Hutter, arXiv:1608.03983, without restarts); one-cycle is Smith and Topin's (arXiv:1708.07120) in the
// form that PyTorch made common: cosine from peak/25 up to the peak and down to peak/250,000; momentum is left alone.
// Step is StepLR of PyTorch. WSD (warm-up, stable, decay: Hu et al., arXiv:2404.06395) is constant until the last part
// of the budget, where it falls to 0 as 1 - sqrt does (Hägele et al., arXiv:2405.18392). Plateau warms up in the same
// way; its later rate depends on the losses, see Plateau.
#pragma once

#include <cstdint>

#include "worker/training/configuration.hpp"

namespace hpo {

struct Schedule {
    ScheduleKind kind = ScheduleKind::constant;
    double peak = 0.001;
    std::int64_t iterations = 1;  ///< of the whole budget, > 0
    std::int64_t warmup = 0;      ///< iterations, at most `iterations`; one-cycle: of its rise
    double decay = 0.1;           ///< step: factor
    double every = 1;             ///< step: iterations, > 0; not a whole number if epochs are short
    std::int64_t cooldown = 1;    ///< wsd: iterations, 1 to `iterations`

    /// The learning rate of update `iteration`, counted from 0. Beyond the budget it is the rate at its end.
    [[nodiscard]] double at(std::int64_t iteration) const;
};

/// The part of the learning rate that follows the validation loss: ReduceLROnPlateau of PyTorch, with its threshold of
/// 1e-4. A trial's checkpoint holds its bytes.
struct Plateau {
    double scale = 1;          ///< of the schedule's rate
    double best = 0;           ///< loss
    std::int64_t waited = -1;  ///< steps since the best; -1: there was none yet

    /// After a step.
    void tell(double loss, const TrainingConfig& config);
};

/// A warm-up longer than the budget is cut to it; one-cycle without one rises over 30 % of the budget.
Schedule make_schedule(const TrainingConfig& config, std::int64_t iterations, std::int64_t iterations_per_epoch);

}  // namespace hpo
