// Runs a study: takes its folder, replays its ledger, and drives the engine with real processes, time,
// signals and the control socket until the study or the session ends.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/site.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// A view of the running session.
struct SessionView {
    const StudyRecord& record;
    double seconds;  ///< of the study, over all sessions
    int workers;     ///< trials at once
    std::vector<std::int64_t> running;
    std::string waits;  ///< which trial waits for memory that other programs use, with the numbers; empty: none
};

/// Follows a session. Texts are made when an event happens, and printed once it is on the disk (announcements.hpp).
class RunObserver {
   public:
    virtual ~RunObserver() = default;
    /// The session begins; `record` has the results of earlier ones.
    virtual void begun(const SessionView&) {}
    /// An event was applied. Returns lines about it; empty: none.
    virtual std::string happened(const StudyRecord&, const StoredEvent&) { return {}; }
    /// The session is over, and these paused trials (each event is `Finished`) have ended with it, since no rule
    /// promoted them. Returns lines about them.
    virtual std::string ended_with_study(const StudyRecord&, std::span<const StoredEvent>) { return {}; }
    virtual void print(const std::string& lines) { (void)lines; }
    virtual void notice(const Notice&) {}
    /// SIGQUIT asked for the reason of waiting. `lines` are for stderr.
    virtual void answer(const std::string& lines) { (void)lines; }
    /// Returns the progress of the session for draw(); empty: nothing to draw. Called about four times a second.
    virtual std::string picture(const SessionView&) { return {}; }
    /// Draws a picture. Returns false if nothing can be written any more; the session then ends as by SIGTERM.
    virtual bool draw(const std::string& picture) { return (void)picture, true; }
    /// Returns why nothing can be written; empty if it can, or if the terminal or the reader is gone.
    [[nodiscard]] virtual std::string output_problem() const { return {}; }
};

struct RunOutcome {
    Engine::End end = Engine::End::none;
    std::string reason;
    int signal = 0;               ///< signal that ended the session; 0: none
    bool no_host_worked = false;  ///< the session failed for want of a host before any trial had begun
    bool no_host_left = false;    ///< the session failed for want of a host
    bool folder_lost = false;     ///< the study's folder was moved or removed while it ran
    StudyRecord record;
    double seconds = 0;                    ///< of the study, over all sessions
    double session = 0;                    ///< duration of this session
    std::vector<std::string> concurrency;  ///< findings about the number of trials at once, a line per device
    /// The study's store, for reading. As the last connection to the database, it removes the write-ahead log when it
    /// closes.
    std::unique_ptr<Store> store;
};

/// Fails if a study cannot begin because its sampler or rules cannot be made or, if it runs `here`, its devices are
/// missing. Changes nothing.
Result<void> could_begin(const Study& study, const Programs& programs, bool here = true);

/// Runs a session. Fails before any launch, without a change of the study, if the folder cannot be written, another
/// process holds the study, the database is damaged, or a device is missing. `accepted` decides, while the study is
/// held, whether the stored study may continue as this one. Trials run on the site that `open_site` opens.
Result<RunOutcome> run_study(const Study& study, const StudyFolder& folder, const Programs& programs,
                             RunObserver& observer, const Acceptance& accepted,
                             const OpenSite& open_site = open_local_site);

}  // namespace hpo
