// Workers without processes. They act one at a time, in any order: each has a queue of messages from the engine and a
// queue of events to it, which wait there as long as the schedule likes. They misbehave as their habits say.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/execution/executor.hpp"
#include "tests/schedules/dice.hpp"

namespace hpo::schedules {

/// Probabilities, for each occasion.
struct Habits {
    double launch_fails = 0, exits_before_hello = 0, says_no_hello = 0;
    double plan_fails = 0;
    double crashes = 0, runs_out_of_memory = 0, fails = 0, diverges = 0, hangs = 0, garbles = 0;  ///< at each step
    double ends_early = 0;  ///< at each step: the trial is complete before its budget
    double stubborn = 0;    ///< ignores SIGTERM
    double quits = 0;       ///< exits after a trial, although another one may be on its way
    double device_fails = 0;
    double loses_output = 0;  ///< its last output is lost when it dies
};

/// The abilities of a study's workers.
struct Abilities {
    bool plans = false, checkpoints = false, once = false;
    std::int64_t slots = 1;
    std::vector<std::string> fusion_keys{""};
};

/// Returns the loss of a step: the same in each attempt.
double loss_of(std::int64_t trial, std::int64_t step);

class Workers final : public Executor {
   public:
    using Story = std::function<void(const std::string&)>;

    /// `checkpoints`: the last step in each trial's checkpoint, which outlives the workers. `harmed`: the trials with
    /// an attempt that ended for a reason that a study may charge to it.
    Workers(Dice& dice, const Clock& clock, Habits habits, Abilities abilities,
            std::map<std::int64_t, std::int64_t>& checkpoints, std::set<std::int64_t>& harmed, Story story);

    // ---- The executor.

    void launch(WorkerIndex index, const LaunchSpec& spec) override;
    using Executor::send;
    void send(WorkerIndex index, std::span<const OrchestratorMessage> messages) override;
    void log_to(WorkerIndex, const std::filesystem::path&) override {}
    void terminate(WorkerIndex index, double grace) override;
    void kill(WorkerIndex index) override;

    // ---- The schedule.

    /// Lets one worker do one thing. False: none has anything to do.
    bool act();
    /// Takes the oldest event of one worker. Nothing: there are none.
    std::optional<std::pair<WorkerIndex, execution::Event>> deliver();
    [[nodiscard]] bool any_alive() const { return !workers_.empty(); }
    /// Returns an attempt whose report was taken in and not answered, although its worker is well.
    [[nodiscard]] std::optional<AttemptId> unanswered() const;
    /// Returns true if a worker that is not asked to leave still trains the trial.
    [[nodiscard]] bool trains(std::int64_t trial) const;
    /// Called with each message that the engine sends, before a worker gets it.
    std::function<void(WorkerIndex, const OrchestratorMessage&)> on_send;
    /// Returns true if the end of a worker that the engine asks for now is charged to no trial: the session ends.
    std::function<bool()> excuses;
    /// The devices of the worker that is launched next.
    std::vector<int> next_devices;

   private:
    struct Attempt {
        to_worker::Run run;
        std::int64_t step = 0;  ///< the last one reported or in the checkpoint
        bool started = false, reported = false;
        bool waits = false;              ///< for the answer to its last report
        bool over = false;               ///< the engine has answered that it ends
        std::vector<std::int64_t> owed;  ///< steps of its reports that were taken in and are not answered
    };
    struct Worker {
        bool says_hello = true, hello = false, hangs = false, stubborn = false, shut_down = false, killed = false;
        bool on_device = false;
        std::optional<Seconds> dies_at;  ///< at the latest
        bool asked_to_leave = false, gone = false;
        std::vector<Attempt> attempts;
        std::deque<OrchestratorMessage> in;
        std::deque<execution::Event> out;
    };

    void act(Worker& worker);
    void take(Worker& worker, const OrchestratorMessage& message);
    void train(Worker& worker, std::size_t attempt);
    void finish(Worker& worker, std::size_t attempt, Outcome outcome, const std::string& message = {});
    void exit(Worker& worker, int code, int signal, const std::string& tail = {});
    void harm(const Worker& worker);
    void harm(const OrchestratorMessage& message);
    [[nodiscard]] static bool told_to_stop(const Worker& worker, AttemptId id);
    [[nodiscard]] bool can_act(const Worker& worker) const;

    Dice& dice_;
    const Clock& clock_;
    Habits habits_;
    Abilities abilities_;
    std::map<std::int64_t, std::int64_t>& checkpoints_;
    std::set<std::int64_t>& harmed_;
    Story story_;
    std::map<WorkerIndex, Worker> workers_;
    std::int64_t pids_ = 1000;
};

}  // namespace hpo::schedules
