// How many trials run at once, and are looked at for it, where workers have several slots: what the engine does and
// `hpo check` foretells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hpo/study.hpp"

namespace hpo {

/// Trials at once: `resources.parallel`. Where that is not given, workers with several slots leave samplers and rules
/// something to learn from: a quarter of the budget at once is four rounds of proposals. Nothing: as many as fit.
inline std::optional<std::int64_t> most_at_once(const Study& study, std::int64_t workers, std::int64_t slots) {
    const Resources& resources = study.resources;
    if (slots == 1 || resources.parallel || !resources.parallel_each.empty()) return resources.parallel;
    return std::max(workers, study.budget.trials / 4);
}

/// Known trials that may wait before no further one is asked for: those asked for early were proposed with less known.
/// In a worker with free slots one of another shape lets those behind it go first.
inline std::size_t queue_length(std::size_t workers, std::size_t free_slots) { return workers + free_slots / 4; }

}  // namespace hpo
