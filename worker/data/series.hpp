// Windows over a time series: rows of a CSV or Parquet file in the order of time, each column a number.
//
// A sample is `window` consecutive rows, all columns; its targets are the target columns in the `horizon` rows after
// them. With task: classification, its class is the text of the target column in the last of these rows, or with a
// horizon of 0 in the last row of the window; the column is no feature. Samples begin `stride` rows apart, and the last
// one ends with the last row. The parts follow each other in time: the first windows train, later ones validate, the
// last ones test. Between two parts enough windows are left out that no row, as an input or as a target, is in both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/windows.hpp"

namespace hpo {

struct SeriesColumn {
    std::string name;
    std::int64_t missing = 0;  ///< values; the previous one takes their place
    bool constant = false;
};

struct Series {
    std::filesystem::path file;
    std::vector<SeriesColumn> columns;  ///< in the file's order, without those of data.ignore
    std::vector<std::string> ignored;
    std::string disorder;  ///< the first date in `ignored` that is before the one of the row above; or empty
    std::vector<std::size_t> targets;  ///< indices of columns, in the order of data.target
    std::string class_column;          ///< with task: classification, in place of targets
    std::vector<std::string> classes;  ///< numbers in their order, else texts in theirs
    std::vector<std::int32_t> labels;  ///< of each row: indices into classes
    std::int64_t rows = 0;
    std::vector<double> values;      ///< row by row; NaN only before the first value of a column
    std::int64_t reading_bytes = 0;  ///< of memory that reading the file takes, where that depends on it

    [[nodiscard]] double value(std::int64_t row, std::size_t column) const {
        return values[static_cast<std::size_t>(row) * columns.size() + column];
    }
};

/// Reads the file that config.path names, unless the last one read is the same, unchanged: the worker has one thread
/// that asks. Errors name the key, or the file, the line and the column.
Result<const Series*> read_series(const DataConfig& config);

// The format "series" (dataset.hpp).
Result<DataShape> describe_series(const DataConfig& config);
Result<DataFacts> load_series(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_series(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);
Result<std::vector<std::string>> explain_series(const DataConfig& config);
Result<std::unique_ptr<SampleReader>> open_series(const DataConfig& config, std::uint64_t data_seed);

}  // namespace hpo
