// Division of rows by group: all rows of a group (a patient, a device, a day) are in the same part, so that validation
// and test measure a model on groups that it has not seen.
//
// The division follows from the sizes of the groups alone, and not from a seed, so that the sizes of the parts are
// known before the data is loaded. Groups are visited in an arbitrary but fixed order. The groups for testing, and
// without folds those for validation, are taken while each brings the number of rows nearer to the wanted one. Folds
// are filled from the largest group on, each into the fold with the fewest rows so far (the greedy rule for balanced
// partitions, Graham 1969).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"

namespace hpo {

struct GroupDivision {
    static constexpr std::int32_t tests = -1, trains = -2;
    std::vector<std::int32_t> parts;  ///< of each group: tests, or the fold in which it validates (0 without folds), or
                                      ///< trains (without folds)
    std::int64_t test = 0;            ///< rows
    SplitSizes sizes;
};

/// `rows` of each group. By config.test, config.validation and config.folds. The error, about data.validation.group or
/// data.validation.folds, says how many groups are needed.
Result<GroupDivision> divide_groups(const DataConfig& config, std::span<const std::int64_t> rows);

/// `groups`: of each row. The fold config.fold validates.
RowSplit split_by_group(const GroupDivision& division, std::span<const std::int32_t> groups, std::int64_t fold);

}  // namespace hpo
