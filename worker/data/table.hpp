// The contents of a table's columns, and how they become features: found by reading the whole file, before anything
// is trained.
//
// A column whose values are all numbers is numeric: it becomes one feature, standardised by the mean and the deviation
// of the training split; where values are missing, the median of the training split takes their place, and a second
// feature is 1. Any other column is categorical: each of its levels (values that are frequent enough) becomes a feature
// that is 1 or 0, and one more, "other", stands for the rest. A missing category is a level like others. The levels
// follow from the training split alone. The number of features of a column must be known before there is a split, and
// is counted over all rows: where the training split has fewer levels, the last features are 0 in all rows. A value is
// missing where the text is empty or one of NA, N/A, NaN, nan, null, NULL, None and ?, and in Parquet where the value
// is absent or NaN.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/groups.hpp"
#include "worker/data/split.hpp"

namespace hpo {

inline constexpr std::size_t most_levels = 64;       // of a categorical column, the most frequent values
inline constexpr std::int64_t least_level_rows = 5;  // rows that have the value of a level

enum class ColumnKind : std::uint8_t { number, category, target, group, ignored };

struct TableColumn {
    std::string name;
    ColumnKind kind = ColumnKind::number;
    std::int64_t missing = 0;
    std::vector<std::string> values;  ///< categorical: values that may be levels, as enough rows have them
    std::int64_t rare = 0;            ///< categorical: rows whose value is no level, if all rows train
    bool is_index = false;            ///< left out, since it is the index of pandas
    bool constant = false;
    bool equals_target = false;  ///< in every row
    bool tells_target = false;   ///< each of its few values comes with one target alone, or the target is a + b * it

    /// Returns the largest number of levels that a categorical column may have.
    [[nodiscard]] std::size_t levels() const { return std::min(values.size(), most_levels); }
    /// Returns the number of features that the column becomes.
    [[nodiscard]] std::int64_t features() const {
        if (kind == ColumnKind::number) return missing > 0 ? 2 : 1;
        return kind == ColumnKind::category ? static_cast<std::int64_t>(levels()) + 1 : 0;
    }
};

/// A column to predict.
struct TargetColumn {
    std::size_t column = 0;    ///< its index
    double low = 0, high = 0;  ///< of its numbers
    std::int64_t ones = 0;     ///< rows that have a 1
};

struct Table {
    std::filesystem::path file;
    std::string format;                 ///< csv or parquet
    std::vector<TableColumn> columns;   ///< in the file's order
    std::vector<TargetColumn> targets;  ///< in the order of data.target; of classes one
    std::int64_t rows = 0;
    Task task = Task::classification;
    SplitKind split = SplitKind::random;   ///< never automatic
    std::vector<ClassCount> classes;       ///< by number if their names are numbers, else by name
    std::vector<std::int32_t> labels;      ///< of each row: indices into classes
    std::vector<std::int64_t> group_rows;  ///< rows of each group, where a column divides them
    std::vector<std::int32_t> groups;      ///< of each row
    std::int64_t reading_bytes = 0;        ///< of memory that reading the file takes, where that depends on it

    [[nodiscard]] std::int64_t features() const;
    [[nodiscard]] std::vector<CategoryShape> categories() const;
    /// The first column to predict, of classes the only one.
    [[nodiscard]] const TableColumn& target() const { return columns[targets.front().column]; }
};

/// Reads the file that config.path names, unless the last one read is the same, unchanged: the worker has one thread
/// that asks. Errors name the key, or the file, the line and the column.
Result<const Table*> survey_table(const DataConfig& config);

/// The number of test rows, and the division of the others.
struct TableParts {
    std::int64_t test = 0;
    SplitSizes sizes;
    std::optional<GroupDivision> by_group;
};
Result<TableParts> parts_of_table(const Table& table, const DataConfig& config);
RowSplit split_table(const Table& table, const DataConfig& config, const TableParts& parts, std::uint64_t data_seed);

// The formats "csv" and "parquet" (dataset.hpp).
Result<DataShape> describe_table(const DataConfig& config);
Result<DataFacts> load_table(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_table(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);
Result<std::vector<std::string>> explain_table(const DataConfig& config);

}  // namespace hpo
