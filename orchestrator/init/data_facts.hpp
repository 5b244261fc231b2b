// Facts about data that no study describes yet, as `hpo-worker --describe` prints them (docs/protocol.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::init {

struct ColumnFacts {
    std::string name;
    std::string kind;  ///< number, text, mixed (both), formatted ("1,234"), dates, empty, unreadable or index
    std::int64_t missing = 0;
    std::int64_t distinct = 0;  ///< values, at most 1001
    std::string example;        ///< a text of the column
    bool whole = false;         ///< all numbers are integers
    bool counts_up = false;     ///< each number is the previous one plus 1
    std::optional<double> auc;  ///< area under the ROC curve of this column alone for two classes, from 0.5 to 1
    std::vector<std::pair<std::string, std::int64_t>> values;  ///< of a target, with their counts
};

struct DataFacts {
    std::string format;  ///< of worker.data.format
    std::string path;    ///< as the user wrote it
    std::int64_t rows = 0;
    std::int64_t test = 0;  ///< further samples, which the data keeps for testing
    // Facts of tables:
    std::vector<ColumnFacts> columns;
    std::vector<std::string> targets;  ///< names of the columns to predict
    bool target_was_guessed = false;   ///< by likely_target()
    bool trees = false;                ///< the worker can grow boosted trees
    // Facts of arrays, images and texts:
    std::string inputs;  ///< name of the array of features, if the study must name it
    std::string sample;  ///< description for users, such as "images of 28 x 28"
    std::int64_t outputs = 0;
    bool image = false;
    bool classes = false;

    [[nodiscard]] bool is_target(const ColumnFacts& column) const {
        return std::find(targets.begin(), targets.end(), column.name) != targets.end();
    }
};

/// Reads the JSON object that the worker has printed. An Error has the worker's own message.
Result<DataFacts> read_facts(std::string_view json, const std::string& path);

/// Returns the worker's format of a file or folder by its name, such as "csv"; empty if the name does not tell.
std::string format_of(const std::string& path, bool is_folder);

/// Returns the column that is probably to be predicted: one that is called target, label or the like, else the last.
std::string likely_target(const DataFacts& facts);

}  // namespace hpo::init
