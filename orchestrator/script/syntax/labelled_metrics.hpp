// Gives the metrics of a line their full names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// A number with the words before it.
struct PrintedMetric {
    std::vector<std::string_view> words;
    std::string qualifier;  ///< the words in brackets after them
    double number = 0;
    std::string_view unit{};
    Doubt doubt = Doubt::none;
};

/// Adds the metrics of a line to a reading. The label, a phase such as val, stands before the names that have none.
class LabelledMetrics {
   public:
    LabelledMetrics(std::string label, Reading& reading) : label_(std::move(label)), reading_(reading) {}

    void add(const PrintedMetric& printed);
    /// Takes the phase among these words for the label.
    void set_label(const std::vector<std::string_view>& words);
    /// Returns to an earlier label().
    void label_again(const std::string& label) { label_ = label; }
    void clear_label() { label_.clear(); }
    [[nodiscard]] const std::string& label() const { return label_; }

    /// Returns true if a metric that is no counter was added.
    [[nodiscard]] bool any() const { return any_; }
    /// Returns true if the line has a label and nothing else.
    [[nodiscard]] bool heading() const { return heading_ && !any_; }
    void end_heading() { heading_ = false; }

   private:
    std::string label_;
    bool heading_ = false;
    bool any_ = false;
    Reading& reading_;
};

}  // namespace hpo::script
