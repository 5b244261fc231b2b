// Reads a study for the pictures of `hpo top`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/view/top.hpp"

namespace hpo {

/// Returns the moment of the snapshot, with the memory of its session if it runs on this machine.
view::Moment moment_now(const StudySnapshot& snapshot);

/// The text of the time left. An estimate is kept for a hundred times as long as it took, since that of a large study
/// takes longer than a picture.
class KeptTimeLeft {
   public:
    std::string_view of(const StudySnapshot& snapshot, const view::Moment& moment);

   private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point until_{};
    std::string text_;
};

/// The content of a picture. It does not change while it is used.
struct Seen {
    const StudySnapshot& snapshot;
    const view::Curves& curves;
    view::Moment moment;
    view::TrialFiles files;
    std::vector<std::string> studies;

    Seen(const StudySnapshot& study, const view::Curves& read, const view::TopState& state);
    [[nodiscard]] view::TopInput input(std::string_view left = {}) const {
        return {snapshot.study, snapshot.record, moment, curves, files, studies, left};
    }
};

/// Reads the steps that the page shows: those of its rows' curves, or of the chosen trial.
Result<void> read_steps(StudySnapshot& snapshot, view::Curves& curves, const view::TopState& state,
                        const view::Screen& screen);

}  // namespace hpo
