// One trial from `run` to `finished`, as a replica of a group that trains, or with folds as one for each: its progress,
// reports and checkpoints, and the test and export of its best weights. TrialHost hides the outside (a socket, a test).
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/messages.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/trial_files.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {

/// A trial's connection to the orchestrator and to its log.
class TrialHost {
   public:
    virtual ~TrialHost() = default;
    /// Called for each iteration, each micro-batch of an evaluation and each part of the data. Returns false if the
    /// trial must end at once with outcome `stopped`. `phase`: loading, measuring, training, evaluating or saving.
    virtual bool should_continue(std::string_view phase) = 0;
    /// Training begins after `from_step` completed steps, on the data with this fingerprint.
    virtual void started(std::int64_t from_step, const std::string& data) = 0;
    virtual void report(const Report& report) = 0;
    /// Waits for the decision on the last report. Nothing means that the trial must end at once with outcome `stopped`.
    virtual std::optional<to_worker::Action> decision() = 0;
    /// Writes a line to the trial's log.
    virtual void log(const std::string& line) = 0;
};

/// Thrown when the host asks the trial to end.
struct StopRequested {};

/// A step consists of training, evaluation, the report, waiting for the decision, and saving: folder/best.ckpt if the
/// step is the best so far (objective at: best), then folder/last.ckpt unless the decision is to stop. Saving copies
/// the weights and the state at once, and writes the files on another thread while the next step trains. They are
/// written before the next report, and before the end of the trial is known. When a file cannot be written, the log
/// says so and the trial continues. A resumed trial repeats the updates since its last checkpoint.
class Trial {
   public:
    /// `plan` is the plan of this trial alone; `context` must hold its data. Reads the checkpoint that the run resumes
    /// from; where that fails, the trial starts from the beginning and its log says why. Throws InvalidTrial.
    Trial(to_worker::Run run, Configuration configuration, GroupPlan plan, WorkerContext& context, TrialHost& host);
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    /// Puts the trial's models into a trainer as the replicas from `replica` on, existing ones or the next. There is
    /// one for each fold.
    void enter_trainer(Trainer& trainer, int replica);
    /// Follows Trainer::remove, which moves the last replica.
    void move_to(int replica) { replica_ = replica; }
    /// Follows Trainer::adopt: the trial keeps its number in another trainer.
    void move_to(Trainer& trainer) { trainer_ = &trainer; }
    /// Reads the model's state out of the trainer, so that the trial can enter another one.
    void leave_trainer();
    [[nodiscard]] int replica() const { return replica_; }  ///< the first one; -1: in no trainer
    [[nodiscard]] int folds() const { return plan_.folds; }
    /// Returns true if the trainer has completed a step of all folds.
    [[nodiscard]] bool at_end() const;
    [[nodiscard]] const AttemptId& id() const { return run_.id; }
    [[nodiscard]] const to_worker::Run& run() const { return run_; }
    /// By which its learning rate is multiplied from the next step on.
    [[nodiscard]] double rate_scale() const { return progress_.plateau.scale; }
    TrialHost& host() { return host_; }
    [[nodiscard]] std::int64_t batch() const { return configuration_.training.batch_size; }
    /// Waits until its files are written. Call it before the end of the trial is sent, since the orchestrator owns the
    /// folder afterwards.
    void finish_files();
    /// Hands over the buffers of an ended trial, whose files are written.
    HostBuffers release_buffers() { return std::move(buffers_); }

    /// Logs how batches are loaded, once that is decided.
    void tell_loading();
    /// Reports the trainer's step; `evaluated`: the trainer has evaluated it, too.
    void report_step(bool evaluated);
    /// Waits for the decision and carries it out. Returns how the trial ended, or nothing while it continues. Throws
    /// StopRequested.
    std::optional<from_worker::Finished> follow_decision();

   private:
    [[nodiscard]] bool keeps_best() const;
    /// The part of `block`, which holds one for each fold.
    [[nodiscard]] std::span<float> part(std::vector<float>& block, int fold) const;
    void read_weights();
    void write_weights();
    [[nodiscard]] ReplicaStep mean_step() const;
    [[nodiscard]] Metrics mean_metrics(Part part) const;
    [[nodiscard]] from_worker::Finished ended(Outcome outcome, std::string message = {});
    void resume();
    Report measured(bool evaluated);
    [[nodiscard]] std::optional<std::int64_t> peak_of_ranks() const;
    void adapt_rate(const Report& report);
    void keep_if_best(const Report& report);
    void save(bool last);
    void test_and_save();

    to_worker::Run run_;
    Configuration configuration_;
    GroupPlan plan_;
    WorkerContext& context_;
    TrialHost& host_;
    HostBuffers buffers_;
    TrialFiles files_;
    TrialProgress progress_;    ///< of completed steps
    bool best_is_new_ = false;  ///< buffers_.best is not in its file yet
    /// The files that another thread writes from buffers_, which must not change meanwhile: whether last.ckpt was among
    /// them.
    std::future<Result<bool>> writing_;
    std::vector<ReplicaProgress> replica_progress_;  ///< of each fold, to which buffers_.state belongs
    bool has_state_ = false;
    bool started_ = false;  ///< host_ was told
    Trainer* trainer_ = nullptr;
    int replica_ = -1;
    std::string told_loading_;
    bool warns_of_loading_ = false;  ///< in the next report
    std::string divergence_;         ///< a description; empty: the training has not diverged
    Metrics values_;
    std::string checkpoint_;
};

}  // namespace hpo
