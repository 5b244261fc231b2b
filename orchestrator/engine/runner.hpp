// Runs a study on this machine: takes its folder, replays its ledger, and drives the engine with real processes, time,
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

/// Texts and pictures are made when an event happens, and printed when it is sure (announcements.hpp).
class RunObserver {
   public:
    virtual ~RunObserver() = default;
    /// The session begins; `record` holds what earlier ones stored.
    virtual void begun(const SessionView&) {}
    /// An event was applied. Returns lines about it; empty: none.
    virtual std::string happened(const StudyRecord&, const StoredEvent&) { return {}; }
    /// The session is over, and with it these paused trials have ended (each is `Finished`), which no rule promoted.
    /// Returns lines about them.
    virtual std::string ended_with_study(const StudyRecord&, std::span<const StoredEvent>) { return {}; }
    virtual void print(const std::string& lines) { (void)lines; }
    virtual void notice(const Notice&) {}
    /// Somebody asked with SIGQUIT what the session waits for: lines, for stderr.
    virtual void answer(const std::string& lines) { (void)lines; }
    /// About four times a second: how far the session is, for draw(); empty: that is shown nowhere.
    virtual std::string picture(const SessionView&) { return {}; }
    /// False: nobody can see it any more (a closed terminal), the session ends as by SIGTERM.
    virtual bool draw(const std::string& picture) { return (void)picture, true; }
};

struct RunOutcome {
    Engine::End end = Engine::End::none;
    std::string reason;
    int signal = 0;            ///< that ended the session; 0: none
    bool folder_lost = false;  ///< the study's folder was moved or removed while it ran
    StudyRecord record;
    double seconds = 0;                    ///< of the study, over all sessions
    double session = 0;                    ///< of this session
    std::vector<std::string> concurrency;  ///< what was measured of the number of trials at once, a line per device
    /// The study's, to be read. It is the last connection to the database: when it closes, no log is left beside it.
    std::unique_ptr<Store> store;
};

/// Whether a study could begin on this machine: its sampler and its rules can be made, and the devices it asks for are
/// there. Changes nothing.
Result<void> could_begin(const Study& study, const Programs& programs);

/// Fails before anything is launched, and then leaves the study as it was: the folder cannot be written, another
/// process holds the study, the database is not sound, a device is not there. `accepted` decides whether the stored
/// study may go on with this one (`before`: its source) and is asked while the study is held.
Result<RunOutcome> run_study(const Study& study, const StudyFolder& folder, const Programs& programs,
                             RunObserver& observer, const Acceptance& accepted);

}  // namespace hpo
