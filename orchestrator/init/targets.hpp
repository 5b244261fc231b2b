// Determines the kind of a table's columns to predict: classes, numbers or labels. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/init/data_facts.hpp"

namespace hpo::init {

inline constexpr std::int64_t most_names = 1000;  ///< different texts of a column of categories
inline constexpr std::size_t shown_names = 12;    ///< in a finding

enum class Task { classification, regression, labels };

/// The columns to predict, at least one. Pointers are into the facts.
struct Targets {
    std::vector<const ColumnFacts*> columns;
    Task task = Task::regression;

    [[nodiscard]] bool several() const { return columns.size() > 1; }
    /// Returns the share of the rows that have the rarest class, or the rarer value of a label; 1 for numbers.
    [[nodiscard]] double rarest(std::int64_t rows) const;
    /// Returns the number of labels of which one value, 0 or 1, is in less than this share of the rows.
    [[nodiscard]] std::int64_t uneven_labels(std::int64_t rows, double share) const;
};

/// Returns the targets of a table, in the order in which they were named. An Error says which column prevents it, and
/// the cure. `as_series`: of numbers alone.
Result<Targets> targets_of(const DataFacts& facts, bool as_series);

/// Returns the finding about them: "target    left: 2 classes: no 300 (60 %), yes 200 (40 %)".
std::string target_line(const DataFacts& facts, const Targets& targets);

}  // namespace hpo::init
