// Tells which results belong to different models, data or settings. A script that tries several in a trial prints the
// same metrics for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// The models, data and settings that a result is of, each with where it was named: "fold" is "1", "heading" is "SVC".
using Subject = std::map<std::string, std::string>;

/// Follows the lines of an output.
class Subjects {
   public:
    /// Takes a line with its metrics: a heading such as "=== SVC ===", "Random Forest:" or a name on a line of its own
    /// above metrics, a field such as "Dataset: iris", "Fold 1/5" or "seed=0", or what is trained from here on:
    /// "Fitting model: CatBoost ...", settings ("lr = 0.1"), or the first epoch once more.
    /// `reports` is true for a line with the objective, which is no object of settings.
    void take(std::string_view line, const Reading& reading, bool reports);
    /// Returns the subject of a metric in this line, the last one that was taken.
    [[nodiscard]] Subject of(const Reading& reading, std::string_view metric) const;

    /// Returns the number of the round or the episode that the last line with one has named.
    [[nodiscard]] std::optional<double> round() const { return round_; }

   private:
    struct Epochs {
        double first = 0, last = 0;   ///< that were named
        std::optional<double> round;  ///< round_ as the training began
        bool with_total = false;      ///< as in "Epoch 1/20"
        bool of_iterations = false;   ///< of boosting, or of the counter
        std::string counter{};        ///< as episode; empty for boosting
    };

    void note_epoch(std::string_view small, const Reading& reading, bool reports);
    void note_iteration(std::string_view small, const Reading& reading, bool reports);
    void note_settings(const Reading& reading);
    void take_heading(std::string_view line);

    Subject subject_;
    std::optional<Epochs> epochs_;
    std::int64_t trainings_ = 1;
    std::optional<double> round_;
    std::string bare_;  ///< the line before, if it is a name that may head the next one
};

/// Returns true for an object or a call on a line of its own whose numbers are settings for the most part, and no
/// results: "Namespace(lr=0.1, batch_size=32)".
bool shows_settings(std::string_view line, const Reading& reading);

/// Returns true if a line has settings and nothing else: "lr = 0.1, batch size = 32".
bool has_settings_alone(const Reading& reading);

/// Returns the words for a warning about results whose subjects differ at `key`: "of several folds".
std::string difference_of(const std::string& key, const std::string& first, const std::string& other);
/// Returns true if the subject is one of several that are averaged, such as a fold.
bool is_repetition(const std::string& key);
/// Returns true for a fold, a seed and the like, and for a row of a table: the last of several is no result of all.
bool is_part_of_result(const std::string& key);
/// Returns the repetitions that the line itself names: fold is "1" in "fold 1: acc = 0.9".
Subject repetitions_in(std::string_view line);
/// Returns true if results whose subjects differ at `key` are never of one training, not even while its epochs go on.
bool tells_trainings_apart(const std::string& key);

}  // namespace hpo::script
