// Reads metrics from tables that scripts print line by line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Recognises tables whose columns are separated by '|' (also drawn by rich, Markdown, or as Stable-Baselines'), by
/// commas or semicolons, or by blanks: a header of names with rows below, and rows of a name and its number. A text in
/// the first column is the label of its row. A line of phases above the header, or in its place, gives the columns
/// their phases.
class Tables {
   public:
    /// Adds the metrics of a line that plain_text() has returned. Returns true if the line belongs to a table and must
    /// not be read in another way.
    bool read(std::string_view line, Reading& reading);

   private:
    using Cells = std::vector<std::string_view>;
    struct Columns {
        std::vector<std::string> names;
        char separator = ' ';
        std::vector<std::size_t> begins{}, ends{};  ///< of the names in their line
        bool remarks = false;                       ///< true once a row had no text in the last column
        bool numeric_last = false;                  ///< true once a row had a number in the last column
        std::vector<bool> numeric{};                ///< likewise for each column
        bool running = false;                       ///< true if the rows have averages so far
    };

    static bool continues_header(Columns& columns, const Cells& cells);
    static bool heads_classes(const Columns& columns);
    static bool heads_settings(const Columns& columns);
    static bool read_row(Columns& columns, const Cells& all_cells, Reading& reading);
    static Cells placed(const Columns& columns, const Cells& cells, std::string_view line);
    static bool read_indexed(const Columns& columns, const Cells& cells, std::string_view line, Reading& reading);
    static bool lacks_a_cell(const Columns& columns, const Cells& cells, std::string_view line);
    static bool lacks_a_name(const Columns& columns, const Cells& cells, std::string_view line);
    [[nodiscard]] std::vector<std::string> header_of(const Cells& cells, bool in_bars) const;
    static bool heads_results(const Columns& columns);
    static bool are_apart(const Columns& columns, std::span<const std::string_view> cells);
    static bool has_text_columns(const Columns& columns, std::span<const std::string_view> cells);
    bool read_vector(const Columns& names, const Cells& cells, std::string_view line, Reading& reading);
    static bool read_named(const Columns& columns, std::span<const std::string_view> cells, Reading& reading);
    std::vector<Columns*> comma_tables();
    [[nodiscard]] bool are_words_between_rows(const Columns& table) const;
    bool read_pairs(const Cells& cells, Reading& reading);

    Columns columns_;                  ///< of the last table that has rows
    std::vector<Columns> candidates_;  ///< columns, if the last line is a header
    std::vector<std::string> groups_;  ///< the phases, if the last line names nothing else: "train | val"
    Columns vector_;                   ///< the names, if the last line has nothing else
    std::string section_;              ///< of a table of names and numbers: "rollout/"
};

}  // namespace hpo::script
