// Which samples train and which validate, and in which order an epoch visits them. All of it follows from seeds, so
// that nothing about the data's order is stored in a checkpoint.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hpo/random.hpp"
#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

struct SplitSizes {
    std::int64_t train = 0;
    std::int64_t validation = 0;
};

/// Of `samples` training samples (the subset first, then the split). At least one on each side, or an error.
Result<SplitSizes> split_sizes(const DataConfig& config, std::int64_t samples);

/// Rows of the training file.
struct Split {
    std::vector<std::int32_t> train;
    std::vector<std::int32_t> validation;
};

/// Of `samples`, by the study's data seed: the same for every trial of a study.
Split make_split(const SplitSizes& sizes, std::int64_t samples, std::uint64_t data_seed);

/// Shuffles in place (Fisher and Yates); which permutation depends on (seed, purpose, iteration) and the size alone.
void shuffle(std::uint64_t seed, Purpose purpose, std::uint64_t iteration, std::span<std::int32_t> items);

}  // namespace hpo
