// Reads metrics from JSON that a script writes to a file: one document, indented or not, lines of objects, or an array
// of them that grows.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trial.hpp"

namespace hpo::script {

/// Finds the values in a stream of JSON: its objects, and those in an array around them. Memory is bounded. A value
/// that was cut, such as a line of a killed program, ends where the next one begins.
class JsonValues {
   public:
    using Found = std::function<void(std::string_view value)>;

    void feed(std::string_view text, const Found& found);
    /// Looks for values in the text that a value without an end has taken.
    void finish(const Found& found);
    /// Returns true if a value had more than most_bytes and was left out.
    [[nodiscard]] bool left_out() const { return left_out_; }

    static constexpr std::size_t most_bytes = std::size_t{16} << 20;  ///< of a value

   private:
    void take(char c, const Found& found);
    void take_outside(char c);
    [[nodiscard]] bool may_begin_value() const;
    void leave_first_line(const Found& found);
    void drop();

    std::string value_;     ///< the value that has begun
    std::string brackets_;  ///< open ones in it
    char before_ = 0;       ///< the last character in it that is no blank, outside of texts
    bool in_text_ = false, escaped_ = false;
    bool again_ = false;  ///< true while lines of a value without an end are read again
    bool left_out_ = false;
    bool garbage_ = false;  ///< true up to the end of a line that is no JSON
};

/// Adds the metrics of a JSON object, one record a step. Numbers within objects have names such as val.loss. If the
/// objective is a list of numbers, as in Keras's history, or pandas's {"0": 0.5, "1": 0.4}, each number is a step,
/// together with those of equally long lists. If the objective is within a list of objects, as in Hugging Face's
/// log_history, each object is a step. Returns an empty text, or why the objective cannot be read.
std::string add_records(std::string_view text, const std::string& objective, std::vector<Metrics>& records);

}  // namespace hpo::script
