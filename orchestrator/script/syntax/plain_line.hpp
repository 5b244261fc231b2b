// Reads names and numbers from one line of output.
//
// A name is the words before a separator (`=`, `:`, `->`), back to the number or the sign before them: "val loss: 0.5"
// is val_loss, and "best val_loss: 0.4" is best_val_loss. Without a separator a name of up to three words is read if
// its part of the line, up to the next comma, bar or dash, consists of names and numbers. A word for the data, such as
// train or val, that leads the line or stands alone before a sign is the label of the metrics that follow:
// "val Loss: 0.6 Acc: 0.7" has val_Acc. The first number of a name counts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// The data that lines are about, and whether a line does not belong to it any more.
struct PlainLine {
    std::string label;             ///< of the line's metrics at its end; empty if it has none
    bool heading = false;          ///< true if the line consists of a label and nothing else
    std::string_view ambiguous{};  ///< the first number that was left out since it may be 1.234 or 1234
};

/// The names of an output whose numbers in brackets are averages so far: "0.8 (0.9)". Lines with the progress of
/// batches show them. In other lines these numbers are averages as well if the line is of the same kind or speaks of
/// averages; otherwise they may be deviations, changes or best values.
class Averages {
   public:
    /// `epochs` is the number of epochs of the trial; 0 if it is unknown.
    explicit Averages(std::int64_t epochs) : epochs_(epochs) {}

    [[nodiscard]] std::int64_t epochs() const { return epochs_; }
    [[nodiscard]] bool empty() const { return known_.empty(); }
    /// Notes an average of this name in a line that begins with this word.
    void add(const std::string& name, const std::string& kind);
    [[nodiscard]] bool has(const std::string& name) const { return known_.contains(name); }
    [[nodiscard]] bool has(const std::string& name, const std::string& kind) const;

   private:
    std::int64_t epochs_;
    std::set<std::string> known_;  ///< names, also behind the kind of their line and a blank
};

/// Adds the metrics of a line that plain_text() has returned. `label` is the one of the lines before, if it holds here.
PlainLine read_plain_line(std::string_view line, const std::string& label, Averages& averages, Reading& reading);

}  // namespace hpo::script
