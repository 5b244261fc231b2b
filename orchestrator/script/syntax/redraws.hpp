// Decides which states of a line that is drawn again count, as of a progress bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

/// Returns the objective under any name that fits it, or nullptr.
const NamedNumber* objective_in(const Reading& reading, std::string_view objective);

/// The last state of a line counts when the epoch that it shows advances, or when the line ends. The epoch is the one
/// in its text ("Epoch 3/10"), or the progress of a bar (3/10) if its total is the number of epochs of the trial.
class Redraws {
   public:
    /// `epochs` is 0 if it is unknown.
    Redraws(std::int64_t epochs, std::string objective) : epochs_(epochs), objective_(std::move(objective)) {}

    /// Takes a state of a line that may be drawn again. Returns the states that count now.
    std::vector<Reading> redrawn(const Reading& state);
    /// Takes a line that has ended. `blank` is true if nothing was in it after the last state.
    std::vector<Reading> ended(const Reading& line, bool blank);
    /// Returns the states that count at the end of the output.
    std::vector<Reading> finish();

   private:
    std::optional<double> epoch_of(const Reading& reading);
    void advance(const Reading& reading, std::vector<Reading>& counting);
    bool has_counted(const Reading& line);
    void remember(const Reading& reading);
    void count(std::vector<Reading>& counting);

    std::int64_t epochs_;
    std::string objective_;
    Reading state_;  ///< of the line, with the last number of each name; empty if it is not being redrawn
    std::optional<double> epoch_;
    bool named_ = false;                       ///< true once a text has named its epoch; bars then count something else
    std::optional<std::int64_t> drawn_first_;  ///< the progress of a bar over epochs when it was first drawn
    std::optional<bool> counts_ended_;         ///< true if the objective first came with progress: of the epoch before
    Reading counted_;                          ///< metrics that have counted in an epoch
    std::optional<double> counted_epoch_;      ///< the epoch
};

}  // namespace hpo::script
