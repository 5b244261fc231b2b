// The observer of a session, and the session's outcome.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orchestrator/engine/engine.hpp"
#include "orchestrator/store/store.hpp"

namespace hpo {

/// A view of the running session.
struct SessionView {
    const StudyRecord& record;
    double seconds;  ///< of the study, over all sessions
    int workers;     ///< trials at once
    std::vector<std::int64_t> running;
    std::string waits;  ///< the trial that waits for memory that other programs use, with the numbers; empty: none
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
    bool lock_given_up = false;   ///< after the signal, so that the end may not be stored
    bool has_begun = true;        ///< false: it ended while it waited for hosts, and has left nothing
    bool no_host_worked = false;  ///< the session failed for want of a host before any trial had begun
    bool no_host_left = false;    ///< the session failed for want of a host
    bool folder_lost = false;     ///< the study's folder was moved or removed while it ran
    bool kept_stored = false;     ///< nothing was left to run, so changed settings were not stored
    StudyRecord record;
    double seconds = 0;                    ///< of the study, over all sessions
    double session = 0;                    ///< duration of this session
    std::vector<std::string> concurrency;  ///< findings about the number of trials at once, a line per device
    /// The study's store, for reading. As the last connection to the database, it removes the write-ahead log when it
    /// closes.
    std::unique_ptr<Store> store;
};

}  // namespace hpo
