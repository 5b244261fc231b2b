// Reads metrics from lines of a script's output, rows of a CSV file, lines of JSON. Time and memory are
// bounded for any input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/trial.hpp"

namespace hpo::script {

inline constexpr std::size_t max_metrics =
    256;  ///< names in a step; further ones are left out, but none that a study needs
inline constexpr std::size_t max_line_metrics = 4096;     ///< names in a line
inline constexpr std::size_t max_text_line = 128 * 1024;  ///< bytes of a line that is read

/// The reason why another number of the line may be meant.
enum class Doubt : std::uint8_t {
    none,
    several_numbers,   ///< follow the name
    list,              ///< of numbers with commas follows the name, of which none is meant more than the others
    several_times,     ///< the name is there, with another number
    in_brackets,       ///< another number follows, which may be the average
    only_in_brackets,  ///< the number is, and accountants write negative ones so
    scaled             ///< the name has a power of ten, by which the number may be meant to be multiplied
};

/// A number with its name.
struct NamedNumber {
    std::string name;  ///< in full, with the label of its line: val_Acc in "val Loss: 0.6 Acc: 0.7"
    std::string bare;  ///< without that label: Acc
    double number = 0;
    std::string unit{};  ///< the word or the sign behind the number: ms, %
    Doubt doubt = Doubt::none;
    std::string other{};  ///< a further name: RMSE of "Root Mean Squared Error (RMSE)"; may be empty
};

/// The content of one line.
struct Reading {
    std::vector<NamedNumber> metrics;  ///< each full name once
    std::optional<double> epoch;       ///< the epoch that the line names, as in "Epoch 3/10"
    /// The first pair such as 3/10, which in a progress bar is the work done and the total.
    std::optional<std::pair<std::int64_t, std::int64_t>> progress;
    bool counts_epochs = false;  ///< true if the progress is that of epochs
    /// The word of a field such as phase or split that says which data all numbers of a record are of: "val".
    std::string split;
    bool running = false;             ///< true for averages so far, beside values of a batch
    bool announced_best = false;      ///< true if the line before it announces the best result
    std::string text;                 ///< the line
    std::string sample;               ///< "10 images" of "accuracy for 10 images per class: 0.9"
    bool row_is_named = false;        ///< true if texts name the row, as models in a leaderboard, and no numbers do
    std::string row;                  ///< of a table whose rows are of settings and no steps: "mtry 2"
    std::vector<std::string> unread;  ///< columns of a table whose cells hold numbers that cannot be read
    std::vector<std::string> listed;  ///< metrics of several records in the line, whose numbers are left out
    std::string ambiguous;            ///< a number that may be several ones, or have a decimal comma: "1,234"
    std::string name_of_ambiguous;    ///< the word before it
    std::string too_long;             ///< the first name that was left out, since it has more than max_name_bytes
    std::string beyond;               ///< the first name that was left out, since max_line_metrics are there

    /// Returns the metric of this full name, or nullptr.
    [[nodiscard]] NamedNumber* find(std::string_view name);
    /// Sets a metric unless its name is there already or is invalid, or max_line_metrics are there.
    /// A name that is there with another number is doubtful.
    void add(std::string_view name, double number, std::string_view bare = {});
    /// Like add(), but replaces an earlier number.
    void set(std::string_view name, double number);
};

/// Reads the metrics of single lines.
class LineReader {
   public:
    virtual ~LineReader() = default;
    /// Adds the line's metrics to `reading`. `nan` and `inf` are numbers.
    virtual void read(std::string_view line, Reading& reading) = 0;
    /// Returns a warning about the first number that was not used because only a part has matched, or because it is
    /// ambiguous, with the line and the cure. Later calls return an empty text.
    virtual std::string warning() { return {}; }
};

/// Creates a reader for a script's output. Without patterns it reads names with numbers in the forms that
/// plain_line.hpp, tables.hpp and json_metrics.hpp describe. Patterns are Perl regular expressions in which {number}
/// matches a number. The groups (?<loss>{number}) and (?P<loss>{number}) are metrics of that name. In a pattern without
/// named groups, the first group is the name and the second the number. If a pattern matches repeatedly in a line, the
/// last match of a name counts. A number of which a pattern matches only a part is not used. Fails if a pattern is
/// invalid. `epochs` is the number of epochs of the trial, 0 if it is unknown: a progress of that total counts them.
Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<std::string>& patterns,
                                                       std::int64_t epochs = 0);

/// Like make_output_reader() for at least one pattern.
Result<std::unique_ptr<LineReader>> make_pattern_reader(const std::vector<std::string>& patterns);

/// Returns the error in a pattern, or an empty text if it is valid.
std::string problem_of_pattern(const std::string& pattern);

/// Returns a warning about numbers that a pattern would misread, with the cure. Returns an empty text if none is known.
std::string pattern_warning(const std::string& pattern);

/// Returns true if these patterns can capture a metric of this name. Without patterns any name is possible.
bool captures(const std::vector<std::string>& patterns, std::string_view metric);

}  // namespace hpo::script
