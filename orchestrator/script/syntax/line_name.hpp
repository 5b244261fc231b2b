// What may stand between the words of a name and its separator: a sample, a threshold, a setting, arguments, brackets.
#pragma once

#include "orchestrator/script/syntax/line_part.hpp"

namespace hpo::script {

/// Reads what belongs to the name of the next number. Each function returns true if it has read something, and moves
/// behind it.
class LineName : protected LinePart {
   protected:
    using LinePart::LinePart;

    /// Skips the sample that a metric is of, and moves to the sign behind it: "Accuracy of the network on the 10000
    /// test images: 90 %" and "Mean reward over the last 100 episodes: 12.5". A phase within it is the label.
    bool skip_sample(const Token& count);
    /// Takes a share right before the separator of a number for a part of the name: "mAP 0.5: 0.61".
    bool take_threshold(const Token& token);
    /// Reads the words in brackets after a name: "RMSE (val): 0.5", "Epoch(val) [1]", "time (s): 3".
    bool qualify();
    /// Takes a count in brackets right behind a name for a part of it: NDCG_k_20 of "NDCG(k=20) = 0.5".
    bool take_setting(const Token& bracket);
    /// Skips the arguments of a call that is shown with its value: "accuracy(x, y) = 0.5". One that names the data is
    /// the label: "acc(model, val) = 0.5", "acc(x_val, y_val) = 0.5".
    bool skip_arguments();
    /// Skips a time in brackets between the words of a name: "flaml (10 min) accuracy = 0.5".
    bool skip_budget();
    /// Returns true if the bracket at this token, behind words, may hold their value and not an index or a counter:
    /// "Pseudo dice [0.81]".
    [[nodiscard]] bool may_hold_value(const Token& bracket) const;
};

}  // namespace hpo::script
