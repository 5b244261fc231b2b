// Divides the cores among native trials on the host: each has its own, and those of workers that have no trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hpo {

/// The most cores of a worker: about the number of parts into which operations are cut.
inline constexpr std::size_t most_cores_of_a_worker = 32;

/// Cores of a study's first trial at most, before others begin.
inline constexpr std::int64_t cores_of_first_trial = 4;

struct CoreUser {
    std::span<const int> own;  ///< cores to which the worker is bound
    bool lends = false;        ///< nothing runs on them, and nothing is about to
    bool borrows = false;      ///< trains a trial that can use more
};

/// Returns the cores of each user: its own first, then those that are lent to it. Lent cores are dealt out evenly, and
/// no user has more than most_cores_of_a_worker.
std::vector<std::vector<int>> share_cores(std::span<const CoreUser> users);

}  // namespace hpo
