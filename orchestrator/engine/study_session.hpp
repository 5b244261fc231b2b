// One session of a study: drives the engine with real processes, time, signals and the control socket.
#pragma once

#include <spdlog/logger.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/engine/announcements.hpp"
#include "orchestrator/engine/checkpoints.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/published_session.hpp"
#include "orchestrator/engine/repeated_call.hpp"
#include "orchestrator/engine/run_observer.hpp"
#include "orchestrator/engine/session_signals.hpp"
#include "orchestrator/engine/site.hpp"
#include "orchestrator/execution/questions.hpp"
#include "orchestrator/execution/wake_up.hpp"
#include "orchestrator/telemetry/session_telemetry.hpp"

namespace hpo {

class StudySession {
   public:
    /// All references outlive this object. `held` is the study in `folder`.
    StudySession(boost::asio::io_context& loop, const Study& study, const StudyFolder& folder, RunObserver& observer,
                 HeldStudy& held, SessionSite site, std::shared_ptr<spdlog::logger> log, Questions& questions);
    ~StudySession();
    StudySession(const StudySession&) = delete;
    StudySession& operator=(const StudySession&) = delete;

    /// Runs the study until it or the session ends. Writes the study to its folder once nothing can refuse it any
    /// more. Throws Fatal if no host is left before the session begins.
    Result<RunOutcome> run();

   private:
    Result<void> make_executor();
    [[nodiscard]] bool has_work();
    Result<void> write_study();
    Result<void> keep_stored_study();
    [[nodiscard]] std::optional<RunOutcome> wait_for_hosts();
    void begin();
    void tell_changed_files();
    void follow_ledger();

    // The loop.
    [[nodiscard]] bool is_over() const { return engine_->done() || signals_.gives_up(); }
    void wait();
    void end_round();
    void tick();
    void flush_later();
    void sample();

    void leave_behind();
    RunOutcome end();
    bool store_the_end(const RunOutcome& outcome);

    // Answers to the engine and to clients.
    EngineParts parts();
    ControlActions control_actions();
    Machine read_machine(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable);
    std::filesystem::path checkpoints(std::int64_t trial, bool make) const;
    void interrupt(const std::string& reason, SessionEnd how = SessionEnd::interrupted);
    Result<void> settle();

    // Output for the user.
    void announce(std::function<void()> what);
    void show_stored();
    void tell(const Notice& notice);
    void print(const Notice& notice);
    [[nodiscard]] SessionView view() const;
    void show();
    void show_at_new_size();
    void answer();

    [[nodiscard]] bool folder_lost() const;
    [[nodiscard]] std::string lost_message() const;

    const Study& study_;
    const StudyFolder& folder_;
    RunObserver& observer_;
    HeldStudy& held_;
    std::shared_ptr<spdlog::logger> log_;
    Ledger ledger_;
    SteadyClock clock_;
    Seconds begun_{};
    Seconds waited_{};  ///< for hosts, before that
    SessionSite site_;
    SessionMachine* machine_ = site_.machine.get();
    boost::asio::io_context& loop_;
    std::optional<SessionTelemetry> telemetry_;
    Announcements announcements_;
    CheckpointKeeper keeper_{study_, folder_, ledger_.record()};
    WakeUp on_disk_{loop_, [] {}};  ///< interrupts wait()
    WakeUp proposed_{loop_, [this] { engine_->proposal_ready(); }};
    RepeatedCall ticker_;
    RepeatedCall drawer_;
    boost::asio::steady_timer flusher_{loop_};
    bool flushes_ = false;
    SessionSignals signals_;
    boost::asio::signal_set window_;
    Questions::Listener questions_;
    std::optional<event::SessionEnded> ended_early_;  ///< before the engine begins
    bool has_begun_trial_ = false;                    ///< in this session
    PublishedSession published_;
    std::unique_ptr<SessionExecutor> executor_;
    std::optional<Engine> engine_;
    std::vector<StoredEvent> ended_with_study_;  ///< paused trials
};

}  // namespace hpo
