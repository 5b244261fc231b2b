// The source of a table's rows: a file with named columns. CSV and Parquet are read by the same rules: texts are taken
// without blanks around them, and NA and its like (csv_columns.hpp) are missing values. In CSV a field is a number if
// its text is one, in Parquet the type of a column decides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/cell.hpp"

namespace hpo {

struct SourceColumn {
    std::string name;
    bool is_index = false;     ///< the index of a pandas data frame, which numbers the rows: left out unless named
    std::string dates{};       ///< "holds dates, ...": it may divide rows or be a category, but is no number
    std::string unreadable{};  ///< "holds lists, ...": it must be left out
};

/// `place` is the number of the line or row, from 1. An error ends the reading; it does not name the file.
using TableRow = std::function<Result<void>(std::int64_t place, std::span<const Cell> cells)>;

class TableSource {
   public:
    virtual ~TableSource() = default;
    TableSource(const TableSource&) = delete;
    TableSource& operator=(const TableSource&) = delete;

    /// At least one; each has a name of its own.
    [[nodiscard]] const std::vector<SourceColumn>& columns() const { return columns_; }
    [[nodiscard]] std::vector<std::string> names() const;
    /// The word for a row in errors: "line", "row".
    [[nodiscard]] virtual const char* unit() const = 0;
    /// Reads the file from its beginning. Errors name the file and the place.
    virtual Result<void> each_row(std::span<const Wanted> wanted, const TableRow& visit) = 0;
    /// The most memory that each_row() has taken so far, where it depends on the file.
    [[nodiscard]] virtual std::int64_t peak_bytes() const { return 0; }

   protected:
    explicit TableSource(std::vector<SourceColumn> columns) : columns_(std::move(columns)) {}
    std::vector<SourceColumn> columns_;
};

/// Returns true if the file begins as Parquet files do.
bool is_parquet(const std::filesystem::path& file);

/// Reads the names of the columns. Errors name the file.
Result<std::unique_ptr<TableSource>> open_csv(const std::filesystem::path& file);
Result<std::unique_ptr<TableSource>> open_parquet(const std::filesystem::path& file);
/// Opens a table in the format "csv" or "parquet".
Result<std::unique_ptr<TableSource>> open_table(const std::filesystem::path& file, std::string_view format);

}  // namespace hpo
