// Reads metrics from what a script writes: lines of its output, rows of a CSV file, lines of JSON. Any input takes
// bounded time and memory.
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

inline constexpr std::size_t most_metrics = 256;           ///< most names in a step; further ones are left out
inline constexpr std::size_t most_line_bytes = 16 * 1024;  ///< longest line that is read

/// Reads the metrics of one line.
class LineReader {
   public:
    virtual ~LineReader() = default;
    /// Adds to `metrics`; the last value of a name counts. `nan` and `inf` are numbers.
    virtual void read(std::string_view line, Metrics& metrics) = 0;
    /// Returns once a warning about the first number that was not used because only a part of it matched, with the line
    /// and the cure; otherwise an empty text.
    virtual std::string warning() { return {}; }
};

/// Makes a reader for a script's output. Without patterns it reads every `name=0.3` and `name: 0.3`, lines that are a
/// JSON object (also after Syne Tune's `[tune-metric]:`), and lines that consist of names and numbers: `epoch 3 loss
/// 0.5`. Patterns are Perl regular expressions in which {number} matches a number. The groups (?<loss>{number}) or
/// (?P<loss>{number}) are metrics of that name; in a pattern without named groups the first group is the name and the
/// second the number. A number of which a pattern matches only a part is not used. An Error says what is wrong with
/// which pattern.
Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<std::string>& patterns);

/// The same for at least one pattern.
Result<std::unique_ptr<LineReader>> make_pattern_reader(const std::vector<std::string>& patterns);

/// Returns what is wrong with a pattern; empty if nothing is.
std::string problem_of_pattern(const std::string& pattern);

/// Returns which numbers a pattern would misread, with the cure; empty if none is known.
std::string pattern_warning(const std::string& pattern);

/// Whether these patterns can give a metric of this name. Without patterns any name is possible.
bool gives(const std::vector<std::string>& patterns, std::string_view metric);

/// Makes a reader for a file that grows: JSON Lines if a line begins with '{', otherwise CSV whose first line names the
/// columns.
std::unique_ptr<LineReader> make_file_reader();

/// Groups lines into steps. A step is over when the objective's metric was read `reports` times; it includes all
/// metrics that were read before, with the last value of each name. What is left at the end is not a step, unless there
/// was no step at all.
class StepReader {
   public:
    static constexpr std::size_t streams = 2;

    StepReader(std::unique_ptr<LineReader> reader, std::string objective, std::int64_t reports = 1)
        : reader_(std::move(reader)), objective_(std::move(objective)), reports_(reports) {}

    /// Takes bytes of a stream; each stream has lines of its own.
    void feed(std::string_view bytes, std::size_t stream = 0);
    /// To be called at the end, because the last line may have no newline.
    void finish();
    /// Returns the oldest step that was not taken yet.
    std::optional<Metrics> take();
    [[nodiscard]] std::size_t waiting() const { return steps_.size(); }
    /// Returns names that were read but are in no step: "loss, lr".
    [[nodiscard]] std::string seen() const;
    /// Returns the line that most resembles a report of the objective, as long as none was found; may be empty.
    [[nodiscard]] const std::string& nearest() const { return nearest_; }
    /// See LineReader::warning().
    [[nodiscard]] std::string warning() { return reader_->warning(); }

   private:
    void line(std::string_view text);
    void consider(std::string_view text);

    std::unique_ptr<LineReader> reader_;
    std::string objective_;
    std::int64_t reports_;
    std::int64_t reported_ = 0;  ///< in the unfinished step
    std::array<LineSplitter, streams> lines_{LineSplitter{most_line_bytes}, LineSplitter{most_line_bytes}};
    Metrics open_;  ///< in the unfinished step
    std::deque<Metrics> steps_;
    bool stepped_ = false;  ///< whether there was a step
    std::string nearest_;
    int likeness_ = 0;  ///< of `nearest_`
};

}  // namespace hpo::script
