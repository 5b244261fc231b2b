// Reads metrics from what a script writes: lines of its output, rows of a CSV file, lines of JSON. Time and memory are
// bounded for any input.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/lines.hpp"
#include "hpo/result.hpp"
#include "hpo/trial.hpp"

namespace hpo::script {

inline constexpr std::size_t max_metrics = 256;          ///< names in a step; further ones are left out
inline constexpr std::size_t max_text_line = 16 * 1024;  ///< bytes of a line that is read

/// Reads the metrics of single lines.
class LineReader {
   public:
    virtual ~LineReader() = default;
    /// Adds the line's metrics to `metrics`. If a name occurs repeatedly, its last value counts. `nan` and `inf` are
    /// numbers.
    virtual void read(std::string_view line, Metrics& metrics) = 0;
    /// Returns a warning about the first number of which only a part has matched, with the line and the cure. Later
    /// calls return an empty text.
    virtual std::string warning() { return {}; }
};

/// Creates a reader for a script's output. Without patterns it reads every `name=0.3` and `name: 0.3`, lines that are a
/// JSON object (also after Syne Tune's `[tune-metric]:`), and lines that consist of names and numbers, such as `epoch 3
/// loss 0.5`. Patterns are Perl regular expressions in which {number} matches a number. The groups (?<loss>{number})
/// and
/// (?P<loss>{number}) are metrics of that name. In a pattern without named groups, the first group is the name and the
/// second the number. A number of which a pattern matches only a part is not used. Fails if a pattern is invalid.
Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<std::string>& patterns);

/// Like make_output_reader() for at least one pattern.
Result<std::unique_ptr<LineReader>> make_pattern_reader(const std::vector<std::string>& patterns);

/// Returns the error in a pattern, or an empty text if it is valid.
std::string problem_of_pattern(const std::string& pattern);

/// Returns a warning about numbers that a pattern would misread, with the cure. Returns an empty text if none is known.
std::string pattern_warning(const std::string& pattern);

/// Returns true if these patterns can capture a metric of this name. Without patterns any name is possible.
bool captures(const std::vector<std::string>& patterns, std::string_view metric);

/// Creates a reader for the lines of a file that grows. Lines that begin with '{' are JSON; otherwise the file is CSV,
/// and its first line names the columns.
std::unique_ptr<LineReader> make_file_reader();

/// Groups lines into steps. A step ends when the objective's metric has been read `reports` times. It includes all
/// metrics that were read since the previous step, with the last value of each name. An unfinished step at the end is
/// dropped unless there was no other step.
class StepReader {
   public:
    static constexpr std::size_t streams = 2;

    StepReader(std::unique_ptr<LineReader> reader, std::string objective, std::int64_t reports = 1)
        : reader_(std::move(reader)), objective_(std::move(objective)), reports_(reports) {}

    /// Reads bytes of a stream. Lines of different streams are kept apart.
    void feed(std::string_view bytes, std::size_t stream = 0);
    /// Reads the last line if it has no newline. Must be called at the end.
    void finish();
    /// Returns the oldest step that has not been taken yet, or nothing if there is none.
    std::optional<Metrics> take();
    [[nodiscard]] std::size_t waiting() const { return steps_.size(); }
    /// Returns the names that were read since the last step, as "loss, lr".
    [[nodiscard]] std::string seen() const;
    /// Returns the line that most resembles a report of the objective, as long as the objective has not been read. May
    /// be empty.
    [[nodiscard]] const std::string& nearest() const { return nearest_; }
    /// See LineReader::warning().
    [[nodiscard]] std::string warning() { return reader_->warning(); }

   private:
    void line(std::string_view text);
    void consider(std::string_view text);

    std::unique_ptr<LineReader> reader_;
    std::string objective_;
    std::int64_t reports_;
    std::int64_t reported_ = 0;  ///< reports of the objective in the unfinished step
    std::array<LineSplitter, streams> lines_{LineSplitter{max_text_line}, LineSplitter{max_text_line}};
    Metrics open_;  ///< of the unfinished step
    std::deque<Metrics> steps_;
    bool stepped_ = false;  ///< true once there was a step
    std::string nearest_;
    int likeness_ = 0;  ///< of `nearest_`
};

}  // namespace hpo::script
