// The loop of a study: what workers say and what time does come in, decisions go out through the executor. No I/O of
// its own, no threads, no clock but the one it is given: tests move time by hand and play the workers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/device_health.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "orchestrator/engine/supply.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/scheduling/footprints.hpp"
#include "orchestrator/scheduling/placement.hpp"

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
    /// What the machine has at this moment. Memory held by the process trees of `workers` (pids) is not others' use;
    /// that of `reusable` (0: none) is free besides.
    std::function<Machine(std::span<const std::int64_t> workers, std::int64_t reusable)> machine;
    /// The memory that the process trees of `workers` hold at this moment, one by one (cores aside); 0: not known.
    std::function<std::vector<Footprint>(std::span<const std::int64_t> workers)> usage;
    /// How a worker for a place is started, on accelerators of the machine or (`host_only`) on the host alone.
    std::function<LaunchSpec(WorkerIndex, std::span<const int> devices)> worker;
    /// Where a trial's log and its checkpoints lie; empty: nowhere.
    std::function<std::filesystem::path(std::int64_t trial)> log_file;
    std::function<std::filesystem::path(std::int64_t trial)> checkpoints;
    std::function<void(const Notice&)> notice;
    /// A trial has reached a final state, and no worker holds it any more.
    std::function<void(const TrialRecord&)> trial_ended;
    /// Trials need an accelerator each, or as many as `resources.trial.gpus` says.
    bool on_device = false;
};

/// What a trial in a worker holds.
struct HeldResources {
    Reservation reservation;
    Footprint used{0, 0, 0};  ///< most it was seen to take in this attempt; 0: not measured
};

class Engine {
   public:
    /// How a session ends.
    enum class End { none, finished, interrupted, failed };

    Engine(EngineParts parts, int workers);

    /// Launches what can be launched. Call once, after the ledger's replay.
    void start();
    void on(WorkerIndex index, const execution::What& what);
    /// About once a second: silence, overdue workers, the time budget.
    void tick();

    /// Whether work is left that was put off so that nobody waits for long: then call `go_on` soon.
    [[nodiscard]] bool has_more() const { return more_to_close_ && !closing_; }
    void go_on();
    /// Stores what waits to be stored with others, a few times a second.
    void flush();

    /// No new launches; running trials are queued again for the next session, workers are asked to leave, then TERM,
    /// then KILL.
    void interrupt(const std::string& reason);
    /// The same for a study that cannot go on: the session has failed.
    void fail(const std::string& reason);
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
    /// What they hold, in the order of their launch.
    [[nodiscard]] std::vector<HeldResources> held_resources() const;
    /// Processes of the living workers.
    [[nodiscard]] std::vector<std::int64_t> workers() const;
    /// Which trial waits for what other programs use, with the numbers; empty: none does.
    [[nodiscard]] const std::string& waits() const { return waits_; }

   private:
    /// A trial in a worker, from the moment it is reserved until the worker has let it go.
    struct Job {
        enum class Phase { reserved, running, ending };
        Phase phase = Phase::reserved;
        AttemptId id;        ///< reserved: attempt 0
        bool joins = false;  ///< reserved as one beside others of its fusion key; else with all that the worker takes
        Seconds begun{0};    ///< running: since then
        Seconds heard{0};    ///< last sign of life; ending: the decision
        std::int64_t order = 0;      ///< of its launch among all launches
        std::int64_t last_step = 0;  ///< reported in this attempt
        std::int64_t unused = 0;     ///< reports of this attempt that were not used
        std::int64_t logged = 0;     ///< lines it sent to the log in this attempt
        bool warned = false;         ///< a warning of this attempt was told
        bool taken = false;          ///< running: its worker was well, or has said a word of it
        HeldResources held;
    };
    using State = PlacementWorker::State;
    struct Worker {
        State state = State::empty;
        int device = host_only;
        std::vector<int> more;  ///< further devices
        std::vector<Job> jobs;
        std::size_t slots = 1;      ///< jobs at once
        std::string fusion_key;     ///< that its jobs have in common; empty: they need none, or there are none
        bool shared = false;        ///< had several jobs at once since it was idle: nobody can tell which holds what
        std::int64_t planning = 0;  ///< trial it was asked about; 0: none
        Seconds heard{0};           ///< starting, planning: last sign of life
        std::int64_t pid = 0;       ///< as it said
        bool plans = false;         ///< can answer `plan`
        bool shrinks = false;       ///< can train a batch in micro-batches
        bool ailing = false;        ///< the last trial of it failed: it may be about to end
        bool once = false;          ///< trains one trial, then exits
        bool warm = false;          ///< has trained one before those that it has now
        bool spent = false;         ///< leaving, after its one trial, at its own pace
        bool greeted = false;       ///< it said hello
        AttemptId culprit;          ///< leaving: the attempt that is charged for it; trial 0: none
        std::string environment;    ///< its cores and variables, for people
        std::string kill_reason;    ///< why we ended it, for the attempts' reason
        [[nodiscard]] bool idle() const { return state == State::ready && jobs.empty() && planning == 0; }
    };
    /// What a trial that has not ended needs, as far as it is known.
    struct Requirements {
        bool known = false;
        Footprint footprint;
        bool alone = false;            ///< the footprint is a guess
        std::string fusion_key;        ///< empty: no trial may share its worker, or (no plan) any may
        Footprint colocated{0, 0, 0};  ///< in a worker with others of its fusion key
        bool own_worker = false;  ///< it was in a worker that died with several trials, or ran out of memory in one
        std::int64_t micro_batches = 0;  ///< of one update; 0: as configured
        std::string shrunk;              ///< why not as configured, to be told once
        Footprint minimum{0, 0, 0};      ///< at least so much, after it ran out of memory
        Seconds lasted{0};               ///< its last attempt
        bool must_run_alone = false;     ///< nothing may run beside it, after it ran out of memory
    };
    /// An attempt that ended on an accelerator, judged once readings have come that are newer than its end: was the
    /// device lost, did other programs take its memory? What it held stays reserved until then.
    struct PendingDiagnosis {
        Job job;
        Seconds until{0};
        std::string reason;
        bool out_of_memory = false;  ///< it is queued again already, and told nowhere else how; else: its worker died
        bool device_failed = false;  ///< so its worker said, or it fell silent
        Footprint others{0, 0, 0};   ///< most that other programs were seen to use since
    };

    template <class F>
    void guarded(F&& handle);
    void end_the_silent();
    void advance();
    void forgive_own_delay();
    void end_paused_trials();
    [[nodiscard]] bool out_of_time() const;
    [[nodiscard]] bool has_work() const;
    void conclude(End end, const std::string& reason);
    void leave(WorkerIndex index, const std::string& reason, AttemptId culprit = {});
    void say(Notice::Level level, std::int64_t trial, const std::string& text) const;

    /// Workers cannot be started for want of something that may come back: processes, descriptors.
    struct Shortage {
        Seconds since{0};
        Seconds pause{0};
        Seconds until{0};  ///< nothing is started before
    };

    // Which trial goes where (engine_placing.cpp).
    void place_trials();
    void warm_up();
    [[nodiscard]] bool can_start() const;
    [[nodiscard]] bool may_open() const;
    [[nodiscard]] PlacementState placement_state() const;
    [[nodiscard]] Machine read_machine() const;
    void tell_who_waits(const std::optional<Admission::Reason>& kept_out);
    void start_trial(const PlacementDecision::Start& start, Reservation reservation);
    void open(WorkerIndex index, int device, const std::vector<int>& more = {});
    void reserve(WorkerIndex index, bool joins, Reservation reservation);
    [[nodiscard]] bool is_exclusive(const Worker& worker) const;
    void let_go(Worker& worker, std::size_t job);
    [[nodiscard]] std::optional<int> a_usable_device() const;
    [[nodiscard]] static std::vector<int> devices_of(const Reservation& reservation);
    void run(WorkerIndex index, Job& job);
    bool find_requirements(std::int64_t trial);
    void refuse(const Admission::Reason& never);
    void release_idle_workers();
    std::int64_t next_trial();
    [[nodiscard]] std::int64_t work_left() const;
    [[nodiscard]] bool assigned(std::int64_t trial) const;
    [[nodiscard]] Params configuration(std::int64_t trial) const;

    // What workers say, and how trials end (engine_workers.cpp).
    void on_ready(WorkerIndex index, const from_worker::Hello& hello);
    void on_said(WorkerIndex index, const WorkerMessage& message);
    void on_plan(WorkerIndex index, const from_worker::PlanAnswer& answer);
    void on_report(WorkerIndex index, const from_worker::Reported& message);
    void on_finished(WorkerIndex index, const from_worker::Finished& message);
    void on_exited(WorkerIndex index, const execution::Exited& exited);
    void on_launch_failed(WorkerIndex index, const execution::LaunchFailed& failed);
    void launch_failed(const std::string& message);
    void ran_short(const std::string& message);
    void lost(AttemptId id, const std::string& reason);
    void trial_ended(std::int64_t trial);
    void trial_failed(std::int64_t trial, const std::string& kind = {});
    void had_more(std::int64_t trial, const std::string& why);
    [[nodiscard]] bool another_lasts_longer() const;
    void not_used(Job* job, std::int64_t trial, const std::string& why);
    void end_attempt(Job& job);
    [[nodiscard]] static Job* find(Worker& worker, AttemptId id);

    // Memory: measured, wanting, gone with its device (engine_memory.cpp).
    void recall();
    [[nodiscard]] static Footprint capacity_of(const Machine& machine);
    [[nodiscard]] static Footprint others_of(const Machine& machine, int device = host_only);
    void measure();
    void record_usage(Job& job, const Footprint& used);
    void keep_peak(const Job& job);
    void out_of_shared_memory(std::int64_t trial, const std::string& message);
    void out_of_memory(const Job& job, const std::string& message, bool device_memory);
    void go_on_after_out_of_memory(const Job& job, const std::string& message, bool device_memory,
                                   const Footprint& others);
    std::string learn_from(std::int64_t trial, const Allocation& given, const Footprint& used, bool device_memory,
                           const Footprint& others, std::string& failed);
    bool shrink(std::int64_t trial, const std::string& why);

    // Devices that fail (engine_devices.cpp).
    [[nodiscard]] Machine machine_now(std::span<const std::int64_t> workers, std::int64_t reusable) const;
    void set_lost_devices_aside();
    void leave_device(int device, const std::string& reason);
    void give_up(int device, const std::string& why);
    bool failed_under(std::span<const int> devices, std::span<const std::int64_t> trials, const std::string& reason);
    void start_failed(int device, const std::string& message);
    void diagnose_pending();
    bool died_together(const PendingDiagnosis& first);
    void requeue_without_blame(std::int64_t trial, const std::string& reason);

    EngineParts parts_;
    Supply supply_;
    std::vector<Worker> workers_;
    std::map<std::int64_t, Requirements> requirements_;  ///< of trials that have not ended
    FootprintModel model_;                               ///< of what was measured
    std::vector<PendingDiagnosis> pending_diagnoses_;
    DeviceHealth health_;
    std::set<std::string> remarks_;  ///< that were told
    bool asks_ = false;              ///< workers answer `plan`: footprints are exact
    bool shrinks_ = false;           ///< workers can train a batch in micro-batches
    bool placement_due_ = true;      ///< something changed that may let a trial start
    std::string waits_;
    std::optional<Seconds> waits_since_;
    Seconds started_{0};
    double seconds_before_ = 0;  ///< of the study's earlier sessions
    std::optional<Seconds> last_tick_;
    std::int64_t launches_ = 0;
    int launch_failures_ = 0;  ///< in a row, for reasons that do not pass
    std::optional<Shortage> shortage_;
    int failures_in_a_row_ = 0;         ///< trials that failed alike, while no other ended or got further than they
    std::string last_failure_;          ///< what they have in common
    Seconds longest_failed_{0};         ///< time of the longest of them
    std::int64_t furthest_failed_ = 0;  ///< steps of the furthest of them
    bool reported_anything_ = false;
    bool more_to_close_ = false;  ///< paused trials, at the end of the study
    bool closing_ = false;
    End end_ = End::none;
    std::string end_reason_;
    std::int64_t had_more_ = 0;  ///< complete trials that had more to report
};

}  // namespace hpo
