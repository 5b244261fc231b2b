// Which cores native trials on the host compute on: their own, and those of workers that have no trial.
#pragma once

#include <span>
#include <vector>

namespace hpo {

struct CoreUser {
    std::span<const int> own;  ///< cores to which the worker is bound
    bool lends = false;        ///< nothing runs on them, and nothing is about to
    bool borrows = false;      ///< trains a trial that can use more
};

/// Returns the cores of each user: its own first, then those that are lent to it. What is lent is dealt out evenly, and
/// nobody has more than 32, which is about as many as the parts into which operations are cut.
std::vector<std::vector<int>> share_cores(std::span<const CoreUser> users);

}  // namespace hpo
