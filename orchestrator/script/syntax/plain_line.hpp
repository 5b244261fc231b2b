// Reads names and numbers from one line of output.
//
// A name is the words before a separator (`=`, `:`, `->`), back to the number or the sign before them: "val loss: 0.5"
// is val_loss, and "best val_loss: 0.4" is best_val_loss. Without a separator a name of up to three words is read if
// its part of the line, up to the next comma, bar or dash, consists of names and numbers. A word for the data, such as
// train or val, that leads the line or stands alone before a sign is the label of the metrics that follow:
// "val Loss: 0.6 Acc: 0.7" has val_Acc. The first number of a name counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/script/syntax/averages.hpp"
#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// The data that lines are about, and whether a line does not belong to it any more.
struct PlainLine {
    std::string label;     ///< of the line's metrics at its end; empty if it has none
    bool heading = false;  ///< true if the line consists of a label and nothing else
    std::optional<std::pair<std::int64_t, std::int64_t>> batches{};  ///< the progress of batches, of it or above it
    std::string_view ambiguous{};  ///< the first number that was left out since it may be 1.234 or 1234
};

/// Adds the metrics of a line that plain_text() has returned. `above` has the label and the batches of the lines
/// before, if they hold here.
PlainLine read_plain_line(std::string_view line, const PlainLine& above, Averages& averages, Reading& reading);

}  // namespace hpo::script
