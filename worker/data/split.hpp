// Which samples train and which validate. It follows from the data's seed alone.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace hpo
