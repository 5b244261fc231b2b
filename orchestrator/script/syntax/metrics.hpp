// Metrics in what a script writes: lines of its output, rows of a CSV file, lines of JSON. Whatever the bytes, bounded
// time and memory.
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

inline constexpr std::size_t most_metrics = 256;           ///< names of one step; further ones are left out
inline constexpr std::size_t most_line_bytes = 16 * 1024;  ///< of a line that is looked at

/// The metrics of one line.
class LineReader {
   public:
    virtual ~LineReader() = default;
    /// Adds to `metrics`, the last word on a name counts. `nan` and `inf` are numbers.
    virtual void read(std::string_view line, Metrics& metrics) = 0;
    /// The first number that was not used since it was only partly read, as text, with the line and the cure; said
    /// once. Empty: none.
    virtual std::string warning() { return {}; }
};

/// The output of a script. Without patterns: every `name=0.3` and `name: 0.3`, lines that are a JSON object (also after
/// Syne Tune's `[tune-metric]:`), and lines of names and numbers alone: `epoch 3 loss 0.5`. Patterns are Perl's regular
/// expressions, in which {number} stands for a number: the groups (?<loss>{number}) or (?P<loss>{number}) are metrics
/// by their names; of a pattern without names the first group is the name and the second the number. A number that a
/// pattern reads a part of is not used. An Error says what is wrong with which pattern.
Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<std::string>& patterns);

/// The same of patterns, one at least.
Result<std::unique_ptr<LineReader>> make_pattern_reader(const std::vector<std::string>& patterns);

/// What is wrong with a pattern; empty: nothing.
std::string problem_of_pattern(const std::string& pattern);

/// Which numbers a pattern would misread, with the cure; empty: none that is known.
std::string pattern_warning(const std::string& pattern);

/// Whether these patterns can give a metric of this name (none: any).
bool gives(const std::vector<std::string>& patterns, std::string_view metric);

/// The rows of a file that grows: JSON Lines where a line begins with '{', else CSV whose first line names the columns.
std::unique_ptr<LineReader> make_file_reader();

/// Lines to steps: a step is over when the objective's metric was read so many times (`reports`); what was read before
/// it belongs to it, the last word on each name counts. What is left over at the end is no step, but if it is all there
/// is.
class StepReader {
   public:
    static constexpr std::size_t streams = 2;

    StepReader(std::unique_ptr<LineReader> reader, std::string objective, std::int64_t reports = 1)
        : reader_(std::move(reader)), objective_(std::move(objective)), reports_(reports) {}

    /// Of a stream: each has its own lines.
    void feed(std::string_view bytes, std::size_t stream = 0);
    /// The last line may have no end.
    void finish();
    /// The oldest step that was not taken yet.
    std::optional<Metrics> take();
    [[nodiscard]] std::size_t waiting() const { return steps_.size(); }
    /// Names that were seen, but in no step: "loss, lr".
    [[nodiscard]] std::string seen() const;
    /// The line that looks most as if it told the objective, before that was found; empty: none does.
    [[nodiscard]] const std::string& nearest() const { return nearest_; }
    /// See LineReader.
    [[nodiscard]] std::string warning() { return reader_->warning(); }

   private:
    void line(std::string_view text);
    void consider(std::string_view text);

    std::unique_ptr<LineReader> reader_;
    std::string objective_;
    std::int64_t reports_;
    std::int64_t reported_ = 0;  ///< of the step that is not over
    std::array<LineSplitter, streams> lines_{LineSplitter{most_line_bytes}, LineSplitter{most_line_bytes}};
    Metrics open_;  ///< of the step that is not over
    std::deque<Metrics> steps_;
    bool stepped_ = false;  ///< a step was over
    std::string nearest_;
    int likeness_ = 0;  ///< of `nearest_`
};

}  // namespace hpo::script
