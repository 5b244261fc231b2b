// Sets the number of trials at once where it is not measured (device_concurrency.hpp): the study's keys, and the rules
// that `hpo run` and `hpo check` share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hpo/footprint.hpp"
#include "hpo/open_trials.hpp"
#include "hpo/study.hpp"

namespace hpo {

/// Returns true if the number of trials at once is searched by their throughput: the study does not set it, and each
/// trial computes in one process on one device.
inline bool searches_concurrency(const Study& study) {
    const Resources& resources = study.resources;
    return !resources.parallel && resources.parallel_each.empty() && resources.trial.devices() == 1 &&
           resources.trial.processes == 1;
}

/// Returns true if the cores do not limit the number of trials at once, since the search measures the cores that a
/// script's trials use. Cores that the study declares are a limit, and a native trial computes with one thread.
inline bool cores_are_searched(const Study& study) {
    return searches_concurrency(study) && study.script() && !study.resources.trial.cores;
}

/// Gives the footprint that a native worker has answered the cores that the study declares for each of its processes.
inline void declare_cores(const Study& study, Footprint& footprint) {
    if (study.native() && study.resources.trial.cores) footprint.cores = study.resources.trial.all_cores();
}

/// Returns the number of trials of a budget that may run at once so that samplers and rules can learn from the first
/// ones: a quarter of the budget at once makes four rounds of proposals.
inline std::int64_t most_of_budget(const Study& study) {
    return std::max<std::int64_t>(1, planned_trials(study.budget) / 4);
}

/// Returns the maximum number of trials at once: `resources.parallel`; if absent and workers have several slots,
/// most_of_budget(). Nothing: as many as fit.
inline std::optional<std::int64_t> most_at_once(const Study& study, std::int64_t workers, std::int64_t slots) {
    const Resources& resources = study.resources;
    if (slots == 1 || resources.parallel || !resources.parallel_each.empty()) return resources.parallel;
    return std::max(workers, most_of_budget(study));
}

/// The number of trials side by side in one worker with which the search begins. It was chosen without a GPU, and the
/// search moves to fewer or more by the throughput that it measures.
inline constexpr std::int64_t fused_at_first = 32;

/// Returns the number of trials that a worker with several slots trains side by side before any measurement: all its
/// slots if the study sets `resources.slots` or the number of trials at once, else at most fused_at_first.
inline std::int64_t slots_at_first(const Study& study, std::int64_t slots) {
    return searches_concurrency(study) && !study.resources.slots ? std::min(slots, fused_at_first) : slots;
}

/// Returns the number of known trials that may wait before no further one is proposed: an early proposal is made with
/// less knowledge. With free slots in workers, a trial of another fusion key is passed over by the trials behind it. At
/// most 500 trials wait for workers: each decision looks at all of them.
inline std::size_t queue_length(std::size_t workers, std::size_t free_slots) {
    return std::min<std::size_t>(workers, 500) + free_slots / 4;
}

}  // namespace hpo
