// How many trials run at once where that is not measured (device_concurrency.hpp): the study's keys, and the rules
// that `hpo run` and `hpo check` share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hpo/study.hpp"

namespace hpo {

/// Returns true if the number of trials at once is searched by their throughput: the study does not set it, and each
/// trial computes on one device.
inline bool searches_concurrency(const Study& study) {
    const Resources& resources = study.resources;
    return !resources.parallel && resources.parallel_each.empty() && resources.trial.gpus == 1;
}

/// Returns true if the cores do not limit the number of trials at once, since the search finds the use of them by
/// a script's trials. Cores that the study declares do, and a native trial computes with one thread.
inline bool cores_are_searched(const Study& study) {
    return searches_concurrency(study) && study.script() && !study.resources.trial.cores;
}

/// Returns the number of trials of a budget that may run at once so that samplers and rules can learn from the first
/// ones: a quarter of the budget at once makes four rounds of proposals.
inline std::int64_t most_of_budget(const Study& study) { return std::max<std::int64_t>(1, study.budget.trials / 4); }

/// Trials at once: `resources.parallel`. Where that is not given and workers have several slots, most_of_budget().
/// Nothing: as many as fit.
inline std::optional<std::int64_t> most_at_once(const Study& study, std::int64_t workers, std::int64_t slots) {
    const Resources& resources = study.resources;
    if (slots == 1 || resources.parallel || !resources.parallel_each.empty()) return resources.parallel;
    return std::max(workers, most_of_budget(study));
}

/// Where the search for the number of trials side by side in one worker begins. It was chosen without a GPU, and the
/// search goes to fewer or more by the throughput that it measures.
inline constexpr std::int64_t fused_at_first = 32;

/// Returns how many trials a worker with several slots trains side by side before anything is measured: as many as it
/// has slots if the study sets `resources.slots` or the number of trials at once, else at most fused_at_first.
inline std::int64_t slots_at_first(const Study& study, std::int64_t slots) {
    return searches_concurrency(study) && !study.resources.slots ? std::min(slots, fused_at_first) : slots;
}

/// Known trials that may wait before no further one is asked for: those asked for early were proposed with less known.
/// In a worker with free slots one of another shape lets those behind it go first. No more than 500 wait for workers:
/// each decision looks at all of them.
inline std::size_t queue_length(std::size_t workers, std::size_t free_slots) {
    return std::min<std::size_t>(workers, 500) + free_slots / 4;
}

}  // namespace hpo
