// Splits lines of printed tables into cells.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

/// Returns the cells between separators, at most 256. Blanks separate where there are at least `blanks_between`, and
/// tabs.
std::vector<std::string_view> split_cells(std::string_view line, char separator, std::size_t blanks_between);

/// Returns the cells of a line in bars, or none. Bars at its ends are not separators.
std::vector<std::string_view> cells_in_bars(std::string_view line);

/// Returns the cells of a row that is printed as a list or a tuple: "[1, 0.5, 0.8]". Returns none unless all are
/// numbers.
std::vector<std::string_view> cells_of_list(std::string_view line);

/// Returns a header without the progress bar that follows its last name, as YOLO prints it.
std::string_view without_bar(std::string_view line);

/// Returns a row without an arrow that marks it: "3  0.65  <- best".
std::string_view without_mark(std::string_view line);

/// A line split at its separators: bars, semicolons, commas, or else blanks. The cells refer to the line or to this.
class LineCells {
   public:
    explicit LineCells(std::string_view line);
    LineCells(const LineCells&) = delete;
    LineCells& operator=(const LineCells&) = delete;

    /// Returns the line, with decimal points where it has decimal commas: "1;0,25".
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] char separator() const { return separator_; }
    [[nodiscard]] const std::vector<std::string_view>& cells() const { return cells_; }
    /// Returns the cells that several blanks separate, where one blank is the separator.
    [[nodiscard]] const std::vector<std::string_view>& wide() const { return wide_; }

   private:
    std::string_view line_;
    char separator_ = '|';
    std::vector<std::string_view> cells_, wide_;
    std::string with_points_;
};

}  // namespace hpo::script
