// Tells what the cells of printed tables hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hpo::script {

/// Returns true if a letter of any script is in the text.
bool has_letter(std::string_view text);
/// Returns the number that the cell holds, also with a deviation, a percent sign or the mark of the best.
std::optional<double> number_in(std::string_view cell);
/// Returns true for a time without a column's name: "3  0.5  0.4  (00:57)", "1:02:03".
bool is_clock(std::string_view cell);
/// Returns true for a cell that holds a number in a form that is not read: "(0.25)", "1.2k", "<0.1", "[0.1, 0.2]".
bool is_unread(std::string_view cell);
/// Returns true for a cell that marks a row: "3  0.5  0.4  *".
bool is_mark(std::string_view cell);
/// Returns a column's or a row's name, without brackets that are left over from a group of columns, as in "Box(P".
std::string name_in(std::string_view cell);
/// Returns true for a cell that says in words that it has no value.
bool says_nothing(std::string_view cell);
/// Returns true if the last word of the cell is a number.
bool ends_with_number(std::string_view cell);
/// Returns true for the type of a column, as polars and tibbles print it below the name: "f64", "<dbl>".
bool is_type(std::string_view cell);
/// Returns true for the name of a statistic, as evolutions head their columns: "gen nevals avg std min max".
bool is_statistic(std::string_view name);

}  // namespace hpo::script
