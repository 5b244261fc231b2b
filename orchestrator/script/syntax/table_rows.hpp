// Reads metrics from the rows of a table: CSV with any delimiter, a header, comments and quotes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/csv_reader.hpp"
#include "hpo/trial.hpp"

namespace hpo::script {

/// A table whose first lines are known.
struct TableFormat {
    char delimiter = ',';                     ///< as in CsvDialect
    std::optional<std::size_t> comment = {};  ///< position of the '#' in the text, if a comment names the columns
};

/// Returns the format of the table that `text` begins with, or nothing if it is none. `text` consists of whole lines,
/// and includes the first row.
std::optional<TableFormat> table_format(std::string_view text);

/// Returns the number in a cell: 0.25, 25%, and 0,25 where that comma can be nothing else than a decimal point.
std::optional<double> number_in_cell(std::string_view cell, char delimiter);

class TableRows {
   public:
    using Row = std::function<void(const Metrics&)>;

    TableRows(std::string objective, char delimiter);
    TableRows(const TableRows&) = delete;
    TableRows& operator=(const TableRows&) = delete;

    /// Takes the text in pieces of any size, without the '#' of a comment that names the columns. Calls `row` for each
    /// row that has numbers. A row that names the columns is a new header. A row whose number of cells does not fit the
    /// header is left out.
    void feed(std::string_view text, const Row& row);
    void finish(const Row& row);
    /// Returns why the first row that was left out was, or why reading has ended. May be empty.
    [[nodiscard]] const std::string& problem() const { return problem_; }

   private:
    using Cells = std::span<const std::string_view>;
    void take(std::int64_t line, Cells cells);
    void name_columns(Cells cells);
    [[nodiscard]] bool names_columns(Cells cells) const;
    void note(const std::string& problem);

    std::string objective_;
    char delimiter_;
    CsvReader reader_;
    const Row* row_ = nullptr;  ///< of the call that is running
    std::vector<std::string> columns_;
    std::optional<std::size_t> unnamed_;  ///< cells before those that the header names: 1 for names of rows
    bool found_ = false;                  ///< true once there was a number of the objective
    bool broken_ = false;                 ///< true after an error, which ends the reading
    std::string problem_;
};

}  // namespace hpo::script
