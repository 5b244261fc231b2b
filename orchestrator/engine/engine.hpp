// The loop of a study: what workers say and what time does come in, decisions go out through the executor. No I/O of
// its own, no threads, no clock but the one it is given: tests move time by hand and play the workers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/plan.hpp"

namespace hpo {

/// Something worth a line for a person or a log.
struct Notice {
    enum class Level { info, warning, error };
    Level level = Level::info;
    std::int64_t trial = 0;  ///< 0: of the study
    std::string text;
};

/// What the engine is given. All references outlive it.
struct EngineParts {
    const Study& study;
    Ledger& ledger;
    Executor& executor;
    const Clock& clock;
    /// What the machine has at this moment; `workers` are the pids of the living ones.
    std::function<Machine(std::span<const std::int64_t> workers)> machine;
    /// How a worker for a place is started.
    std::function<LaunchSpec(Place)> worker;
    /// Where a trial's log and its checkpoints lie; empty: nowhere.
    std::function<std::filesystem::path(std::int64_t trial)> log_file;
    std::function<std::filesystem::path(std::int64_t trial)> checkpoints;
    std::function<void(const Notice&)> notice;
    /// A trial has reached a final state, and no worker holds it any more.
    std::function<void(const TrialRecord&)> trial_ended;
};

class Engine {
   public:
    /// How a session ends.
    enum class End { none, finished, interrupted, failed };

    Engine(EngineParts parts, int places);

    /// Launches what can be launched. Call once, after the ledger's replay.
    void start();
    void on(Place place, const execution::What& what);
    /// About once a second: silence, overdue workers, the time budget.
    void tick();

    /// No new launches; running trials are queued again for the next session, workers are asked to leave, then TERM,
    /// then KILL.
    void interrupt(const std::string& reason);
    /// KILL to everything, now.
    void kill();
    /// Ends one trial, whatever it does. False with a reason in `error` when it already ended or does not exist.
    Result<void> stop_trial(std::int64_t trial);

    /// True once nothing is left to do and no worker lives.
    [[nodiscard]] bool done() const;
    [[nodiscard]] End end() const { return end_; }
    [[nodiscard]] const std::string& end_reason() const { return end_reason_; }
    /// Seconds that sessions have held the study, this one included.
    [[nodiscard]] double seconds() const;
    /// Trials that workers train at this moment, by number.
    [[nodiscard]] std::vector<std::int64_t> running() const;

   private:
    enum class State { empty, starting, idle, planning, running, ending, leaving };
    struct Worker {
        State state = State::empty;
        AttemptId id;                ///< planning: its trial; running and ending: its attempt
        Seconds heard{0};            ///< last sign of life; ending: the decision
        std::int64_t pid = 0;        ///< as it said
        bool plans = false;          ///< can answer `plan`
        std::int64_t order = 0;      ///< of its launch among all launches
        std::int64_t last_step = 0;  ///< reported in this attempt
        bool greeted = false;        ///< it said hello
        std::int64_t unused = 0;     ///< reports of this attempt that were not used
        std::int64_t logged = 0;     ///< lines it sent to the log in this attempt
        bool warned = false;         ///< a warning of this attempt was told
        AttemptId overdue;           ///< leaving: the attempt that ends with it, and is charged
        std::string kill_reason;     ///< why we ended it, for the attempt's reason
    };

    template <class F>
    void guarded(F&& handle);
    void fill();
    bool give_work(Place place);
    std::int64_t further_trial();
    [[nodiscard]] std::int64_t work_left() const;
    [[nodiscard]] bool may_propose() const;
    [[nodiscard]] bool out_of_patience() const;
    [[nodiscard]] bool assigned(std::int64_t trial) const;
    [[nodiscard]] Params configuration(std::int64_t trial) const;
    void run(Place place, std::int64_t trial);
    void leave(Place place, const std::string& reason);
    void conclude(End end, const std::string& reason);

    void on_ready(Place place, const from_worker::Hello& hello);
    void on_said(Place place, const WorkerMessage& message);
    void on_plan(Place place, const from_worker::PlanAnswer& answer);
    void on_report(Place place, const from_worker::Reported& message);
    void on_finished(Place place, const from_worker::Finished& message);
    void on_exited(Place place, const execution::Exited& exited);
    void on_launch_failed(Place place, const execution::LaunchFailed& failed);
    void launch_failed(const std::string& message);
    void out_of_memory(std::int64_t trial, const std::string& message, std::int64_t peak);
    void trial_ended(std::int64_t trial);
    void trial_failed(std::int64_t trial, const std::string& kind = {});
    void not_used(Worker& worker, std::int64_t trial, const std::string& why);
    void end_attempt(Worker& worker);
    void say(Notice::Level level, std::int64_t trial, const std::string& text) const;

    EngineParts parts_;
    std::vector<Worker> places_;
    std::map<std::int64_t, Footprint> footprints_;  ///< of trials that have not ended
    std::map<std::int64_t, int> memory_deaths_;     ///< attempts that ended for want of memory
    Seconds started_{0};
    std::optional<Seconds> last_tick_;
    std::int64_t launches_ = 0;
    int launch_failures_ = 0;    ///< in a row
    int failures_in_a_row_ = 0;  ///< trials that failed for the same reason
    std::string last_failure_;
    bool reported_anything_ = false;
    bool exhausted_ = false;  ///< the sampler has no further configuration
    bool closing_ = false;
    End end_ = End::none;
    std::string end_reason_;
};

}  // namespace hpo
