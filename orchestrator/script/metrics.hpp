// Metrics in what a script writes: lines of its output, rows of a CSV file, lines of JSON. Whatever the bytes, bounded
// time and memory.
#pragma once

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

inline constexpr std::size_t most_metrics = 256;           ///< names of one step; further ones are left out
inline constexpr std::size_t most_line_bytes = 16 * 1024;  ///< of a line that is looked at

/// The metrics of one line.
class LineReader {
   public:
    virtual ~LineReader() = default;
    /// Adds to `metrics`, the last word on a name counts. `nan` and `inf` are numbers.
    virtual void read(std::string_view line, Metrics& metrics) = 0;
};

/// The output of a script. Without patterns: every `name=0.3`, and Syne Tune's `[tune-metric]: {"loss": 0.3}`. Patterns
/// are Perl's regular expressions: the groups (?<loss>...) or (?P<loss>...) are metrics by their names; of a pattern
/// without names the first group is the name and the second the number. An Error says what is wrong with which pattern.
Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<std::string>& patterns);

/// What is wrong with a pattern; empty: nothing.
std::string problem_of_pattern(const std::string& pattern);

/// The rows of a file that grows: JSON Lines where a line begins with '{', else CSV whose first line names the columns.
std::unique_ptr<LineReader> make_file_reader();

/// Lines to steps: a step is over when the objective's metric was read; what was read before it belongs to it.
class StepReader {
   public:
    StepReader(std::unique_ptr<LineReader> reader, std::string objective)
        : reader_(std::move(reader)), objective_(std::move(objective)) {}

    void feed(std::string_view bytes);
    /// The last line may have no end.
    void finish();
    /// The oldest step that was not taken yet.
    std::optional<Metrics> take();
    [[nodiscard]] std::size_t waiting() const { return steps_.size(); }
    /// Names that were seen, but in no step: "loss, lr".
    [[nodiscard]] std::string seen() const;

   private:
    void line(std::string_view text);

    std::unique_ptr<LineReader> reader_;
    std::string objective_;
    LineSplitter lines_{most_line_bytes};
    Metrics open_;  ///< of the step that is not over
    std::deque<Metrics> steps_;
};

}  // namespace hpo::script
