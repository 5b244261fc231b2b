// The worker's side of the protocol: hello, then plans and trials until the orchestrator sends shutdown or disconnects.
//
// A worker has one or several slots, and trains one trial in each. Trials with the same fusion key train side by side;
// a new one takes a free slot between two steps of the others.
//
// One thread does everything but the operations of a CPU that has further cores to compute on. Between two iterations,
// two micro-batches of an evaluation and two parts of the data it polls the socket (a system call of well under a
// microsecond) and sends `alive` when that is due. Hence `alive` means progress, and a worker that hangs falls silent.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "worker/connection.hpp"
#include "worker/training/trial_group.hpp"
#include "worker/trees/tree_trials.hpp"

namespace hpo {

/// The wait of a group's next step for further trials, after a trial has started or ended.
struct Patience {
    Seconds quiet;   ///< until none has come for so long
    Seconds in_all;  ///< at most
};
/// Returns how long to wait for further trials. `step`: the time that the group's last step took, which a trial loses
/// that comes too late for the next one; a longer wait would lose more. Absent: the group has taken no step yet.
Patience patience_for_trials(std::optional<Seconds> step);

class Session {
   public:
    Session(Connection& connection, WorkerContext& context, const Clock& clock);

    /// Returns when the orchestrator says shutdown. Throws Disconnected when it has gone, and DeviceLost when the
    /// device has failed.
    void serve(const std::string& token);

   private:
    /// A running trial's connection to the orchestrator and to its log.
    class RunningTrial final : public TrialHost {
       public:
        RunningTrial(Session& session, AttemptId of, std::string log_file)
            : id(of), session_(session), log_file_(std::move(log_file)) {}
        bool should_continue(std::string_view phase) override;
        void started(std::int64_t from_step, const std::string& data) override;
        void report(const Report& report) override;
        std::optional<to_worker::Action> decision() override;
        void log(const std::string& line) override;

        const AttemptId id;
        bool stop = false;              ///< the orchestrator has asked it to end
        std::int64_t awaited_step = 0;  ///< the step whose decision it waits for; 0: none
        std::optional<to_worker::Action> decided;

       private:
        Session& session_;
        std::string log_file_;
    };

    void end(const from_worker::Finished& finished);
    [[nodiscard]] bool accepts(const to_worker::Run& run) const;
    void start_waiting_trials();
    void collect_trials();
    void poll(std::string_view phase);
    void send_alive_if_due(std::string_view phase);
    void handle(OrchestratorMessage message);
    void decide(const to_worker::Decision& decision);
    void stop(const AttemptId& id);
    RunningTrial* find_running(const AttemptId& id);

    Connection& connection_;
    WorkerContext& context_;
    const Clock& clock_;
    Seconds alive_every_{5};
    Seconds last_alive_{0};
    Seconds last_poll_{0};
    std::deque<to_worker::Run> waiting_;         ///< for a slot, or for the end of trials with another fusion key
    std::map<AttemptId, RunningTrial> running_;  ///< one for each slot in use
    TrialGroup group_;
    TreeTrials trees_;
    std::optional<Seconds> step_took_;  ///< the last step of a group that still has trials
    bool changed_ = false;              ///< a trial started or ended since the last step
    bool shutdown_ = false;
};

}  // namespace hpo
