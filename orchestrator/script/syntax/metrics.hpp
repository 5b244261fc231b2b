// Reads metrics from what a script writes: lines of its output, rows of a CSV file, lines of JSON. Time and memory are
// bounded for any input.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace hpo::script
