// One trial from `run` to `finished`, as a lane of a group that trains: its progress, reports, checkpoints, the kept
// weights' test and export. What the outside is (a socket, a test) hides behind TrialHost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/messages.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/trial_files.hpp"
#include "worker/training/workshop.hpp"

namespace hpo {

/// The trial's way to the orchestrator and to its log.
class TrialHost {
   public:
    virtual ~TrialHost() = default;
    /// Asked often: at each iteration, each pass of an evaluation, each part of the data. False: end with outcome
    /// stopped, at once. `phase`: loading, measuring, training, evaluating or saving.
    virtual bool go_on(std::string_view phase) = 0;
    virtual void started(std::int64_t from_step) = 0;
    virtual void report(const Report& report) = 0;
    /// Waits for the decision on the last report; nothing: end with outcome stopped, at once.
    virtual std::optional<to_worker::Action> decision() = 0;
    /// A line for people.
    virtual void say(const std::string& line) = 0;
};

/// Thrown where the host says that a trial is to end.
struct ToldToStop {};

/// A step: train, evaluate, write folder/best.ckpt if it is the best so far (objective at: best), report, wait for the
/// decision, then write folder/last.ckpt unless it is to stop. A checkpoint that cannot be written is said, and the
/// trial goes on. An update of less than a checkpoint is repeated after a resume.
class Trial {
   public:
    /// Throws Refused. `plan` is of it alone. The workshop has the trial's data. A checkpoint that it is to go on from
    /// is read; where that cannot be, it begins at the beginning and says why.
    Trial(to_worker::Run run, Configuration configuration, GroupPlan plan, Workshop& workshop, TrialHost& host);

    /// Becomes lane `lane`: a lane that is there already or the next one.
    void take_lane(Trainer& trainer, int lane);
    void move_to(int lane) { lane_ = lane; }  ///< as Trainer::leave did
    /// Keeps what it is for another trainer's lane.
    void leave_trainer();
    [[nodiscard]] int lane() const { return lane_; }  ///< -1: none yet
    [[nodiscard]] const AttemptId& id() const { return run_.id; }
    TrialHost& host() { return host_; }
    [[nodiscard]] std::int64_t batch() const { return configuration_.training.batch_size; }
    /// Gives its buffers away; the trial is over.
    HostBuffers take_buffers() { return std::move(buffers_); }

    /// After the trainer's step; `evaluated`: and an evaluation.
    void report_step(bool evaluated);
    /// Waits for the decision and does what it says. The trial is over if something is returned. Throws ToldToStop.
    std::optional<from_worker::Finished> follow_decision();

   private:
    [[nodiscard]] bool keeps_best() const;
    [[nodiscard]] from_worker::Finished ended(Outcome outcome, std::string message = {});
    void resume();
    Report measured(bool evaluated);
    void keep_if_best(const Report& report);
    void save_last();
    void test_and_save();
    void check(const Result<void>& written);

    to_worker::Run run_;
    Configuration configuration_;
    GroupPlan plan_;
    Workshop& workshop_;
    TrialHost& host_;
    HostBuffers buffers_;
    TrialFiles files_;
    TrialProgress progress_;  ///< of whole steps
    LaneProgress in_lane_;    ///< what buffers_.state is the state of
    bool has_state_ = false;
    bool begun_ = false;  ///< its host heard that it started
    Trainer* trainer_ = nullptr;
    int lane_ = -1;
    std::string diverged_;  ///< how; empty: not
    Metrics values_;
    std::string checkpoint_;
};

}  // namespace hpo
