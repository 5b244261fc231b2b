// Trains a fused group: replicas (models of trials) side by side in one arena. The trainer knows models and backends by
// their interfaces alone, and neither files nor messages. After the first step it allocates nothing.
//
// All replicas do an iteration at once, each with its own batch. A replica's step (an epoch, or a number of iterations)
// ends when that replica has done its number of iterations.
//
// Batches: the samples lie in the device's memory. The first operation of a micro-batch gathers them, in an order that
// the device computes from seed and iteration. Only the learning rates are prepared ahead, for a window of iterations.
//
// Staged samples lie in the host's memory. The host gathers each batch, in the same order, into one of two parts of a
// Stage, from which it is copied to one of two places in the arena while the device computes with the other. The host
// is ahead of the device by as much as the queue holds. Where that is too slow, threads load batches before
// (batch_loader.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/batch_loader.hpp"
#include "worker/training/class_tally.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/health.hpp"
#include "worker/training/schedule.hpp"

namespace hpo {

/// What makes one replica of the group. Its `training` may differ from the others' in what GroupPlan::shared does not
/// name.
struct ReplicaSpec {
    TrainingConfig training;
    std::uint64_t seed = 0;
    /// The model without padding, for padded replicas. It must outlive the trainer. The replica's state is read and
    /// written in this model's layout.
    const Model* model = nullptr;
    int fold = 0;  ///< whose samples it trains on
};

/// Training figures of a replica's last step.
struct ReplicaStep {
    double loss = 0;  ///< mean over the step's iterations, with label smoothing
    GradientNorms norms;
    double learning_rate = 0;       ///< of the last iteration
    std::int64_t diverged_at = -1;  ///< first iteration (from 0) with a loss that is not finite; -1: none
};

/// Where a replica is between two iterations, without its state.
struct ReplicaProgress {
    std::int64_t iteration = 0;  ///< updates done
    LossWindow window;
    std::int64_t in_step = 0;  ///< updates done in the present step; 0 between two steps
    ReplicaStep sums;          ///< over these updates
    double seconds = 0;        ///< of these updates
};

struct Evaluation {
    double loss = 0;      ///< mean cross-entropy, without label smoothing and weights of classes; or mean squared error
    double accuracy = 0;  ///< of classes and labels: fraction of 1
    double absolute = 0;  ///< of regression: mean absolute error
    std::optional<ClassTally::Metrics> of_classes;  ///< of classes and labels, if TrainingConfig::class_metrics
};

/// Called before each iteration and each micro-batch of an evaluation; false ends the work at once.
using ShouldContinue = std::function<bool()>;

class Trainer {
   public:
    /// `arena` has at least plan.arena_bytes; its content does not matter. `data` and `arena` must outlive the trainer.
    /// The replicas of `replicas` (plan.replicas of them at most) are added; `steps` is the whole budget of each.
    Trainer(Device& device, Buffer& arena, GroupPlan plan, const DeviceData& data,
            std::span<const ReplicaSpec> replicas, std::int64_t steps, const Clock& clock);

    /// Adds a replica, or replaces replica `replica` (at most replicas()), with weights initialised from its seed.
    /// `steps`: its whole budget, over which the schedules stretch.
    void begin(int replica, const ReplicaSpec& spec, std::int64_t steps);
    /// As begin, but continues from `state` (state_elements of the plan of this trial alone) and `progress`.
    void resume(int replica, const ReplicaSpec& spec, std::int64_t steps, std::span<const float> state,
                const ReplicaProgress& progress);
    /// Takes over all replicas of `other`, as they are, from its arena, which must live until this trainer computes.
    /// The two plans differ in their number of replicas alone, and this trainer has no replicas yet.
    void adopt(const Trainer& other);
    /// Removes a replica; the last replica takes its number. At least one must remain.
    void remove(int replica);
    /// Between two steps: from now on the schedule's learning rate is multiplied by `scale`.
    void set_rate_scale(int replica, double scale) { replicas_[index(replica)].rate_scale = scale; }
    /// At any time: the replica trains no more, and its weights stay as they are.
    void deactivate(int replica);
    [[nodiscard]] int replicas() const { return static_cast<int>(replicas_.size()); }

    /// Trains until at least one replica completes its step. False: `should_continue` ended it, and the replicas are of
    /// no further use but to be replaced. A replica whose loss stops being finite is deactivated, which completes its
    /// step; its weights stay as they are. The loss of every iteration is checked, plan.window iterations at a time at
    /// most.
    bool train_step(const ShouldContinue& should_continue);
    /// Whether the replica is between two steps.
    [[nodiscard]] bool at_end(int replica) const { return replicas_[index(replica)].progress.in_step == 0; }

    /// Evaluates the live replicas that are between two steps, with their present weights. False: `should_continue`
    /// ended it.
    bool evaluate_validation(const ShouldContinue& should_continue);
    bool evaluate_test(int replica, const ShouldContinue& should_continue);

    [[nodiscard]] const ReplicaStep& step_of(int replica) const { return replicas_[index(replica)].step; }
    [[nodiscard]] const Evaluation& evaluation_of(int replica) const { return replicas_[index(replica)].evaluation; }
    /// Training time of the last step, in seconds.
    [[nodiscard]] double step_seconds_of(int replica) const { return replicas_[index(replica)].step_seconds; }
    [[nodiscard]] const ReplicaProgress& progress_of(int replica) const { return replicas_[index(replica)].progress; }
    [[nodiscard]] std::int64_t iteration_of(int replica) const { return progress_of(replica).iteration; }
    [[nodiscard]] const GroupPlan& plan() const { return plan_; }
    /// How the batches of staged data are loaded, and why, for people; empty: it is not yet known, or data is not
    /// staged.
    [[nodiscard]] const std::string& loading_text() const { return loading_text_; }
    /// Whether loading was measured to be slow, so that threads do it.
    [[nodiscard]] bool loading_limits() const { return loader_ && loading_wish_.threads < 0; }
    /// Iterations of the next window, at most.
    [[nodiscard]] std::int64_t window() const { return window_; }

    /// The weights [P] of a replica that are evaluated (with ema their average), or its whole state (state_elements of
    /// the plan of that trial alone), in the layout of the ParameterBlock of its own model.
    void read_weights(int replica, std::span<float> to);
    void write_weights(int replica, std::span<const float> from);
    void read_state(int replica, std::span<float> to);

   private:
    struct Replica {
        ReplicaSpec spec;
        Pace pace;
        Schedule schedule;
        double rate_scale = 1;
        std::vector<double> rate_factors;  ///< of each of GroupPlan::runs
        bool alive = true;
        ReplicaProgress progress;
        ReplicaStep step;
        double step_seconds = 0;
        Evaluation evaluation;
    };

    [[nodiscard]] static std::size_t index(int replica) { return static_cast<std::size_t>(replica); }
    /// Where a replica's entries begin in a copy of all replicas' tables.
    [[nodiscard]] static std::size_t first_of(const Tensor& table, int replica) {
        return index(replica) * table.replica_stride / sizeof(float);
    }
    void set_up(int replica, const ReplicaSpec& spec, std::int64_t steps, const ReplicaProgress& progress);
    void initialise(int replica);
    void write_per_replica(int replica);
    [[nodiscard]] std::int64_t iterations_ahead() const;
    void prepare_window(std::int64_t count);
    /// The optimizers of live replicas: they determine which operations an update consists of.
    struct Optimizers {
        bool adamw = false;
        bool sgd = false;
        bool lion = false;
        bool in_backward = false;  ///< AdamW updates weight matrices in the backward pass
    };
    [[nodiscard]] Optimizers optimizers() const;
    void iterate(Optimizers used);
    /// The part of the task's loss that training and evaluation set differently.
    struct LossOf {
        Tensor outputs, targets;
        Tensor gradient;  ///< none: not computed
        Tensor smoothing, scale, weights, class_weights;
        float weight = 1;  ///< of a target
        Write write = Write::set;
        Extent extent;
    };
    void compute_loss(const LossOf& of);
    /// The parameters of a run, in each tensor of the block's size.
    [[nodiscard]] Update update_of(std::size_t run) const;
    [[nodiscard]] AdamW adamw_of(std::size_t run) const;
    [[nodiscard]] Tensor roots() const;
    void use_weights(const Tensor& block);
    void update(Optimizers used);
    void read_window(std::int64_t count);
    bool end_steps();
    /// Adds the rows of a micro-batch that was evaluated to the tally of each replica from `first` on.
    template <class Label>
    void tally(const Tensor& logits, const Tensor& labels, int first, std::span<ClassTally> tallies);
    /// `samples` of the fold of the replicas, of which there are `all`.
    bool evaluate(const Samples& samples, std::int64_t all, int first, int count,
                  const ShouldContinue& should_continue);
    [[nodiscard]] Samples source(const Samples& samples) const;
    [[nodiscard]] std::span<std::byte> part_of(std::span<std::byte> host, int k) const;
    void send_staged(int first, int count);
    /// Which samples a replica's batches have.
    struct BatchOrder {
        std::uint64_t seed = 0;
        std::int64_t batch = 0, samples = 0, iteration = 0;
        int fold = 0;
    };
    void read_batch_orders();
    void fill_batch(std::span<const BatchOrder> orders, std::int64_t number, std::span<std::byte> host) const;
    void fill_rows(const Samples& samples, std::int64_t from, std::int64_t rows, std::span<const int> folds,
                   std::span<std::byte> host) const;
    void stage_batch();
    void begin_staging_rows(const Samples& samples, std::int64_t all, int first, int count);
    void stage_rows(const Samples& samples, std::int64_t from, std::int64_t rows, int first, int count);
    void choose_loading_after(std::int64_t updates, Seconds took);
    void use(const LoadingChoice& choice);
    void put(const Samples& from, int fold, std::int64_t sample, std::span<std::byte> replica_part,
             std::int64_t row) const;
    [[nodiscard]] const FoldFacts& fold_of(int replica) const {
        return data_.folds[index(replicas_[index(replica)].spec.fold)];
    }
    void read_block(const Tensor& block, int replica, std::span<float> to);
    void write_block(const Tensor& block, int replica, std::span<const float> from);
    template <class F>
    void each_state_tensor(int replica, F&& visit) const;

    GroupPlan plan_;
    const DeviceData& data_;
    const Clock& clock_;
    Buffer& arena_;
    std::unique_ptr<Stream> stream_;
    std::int64_t window_;                  ///< iterations of the next window, at most
    std::unique_ptr<Stage> stage_;         ///< for staged data
    std::unique_ptr<BatchLoader> loader_;  ///< with threads
    bool loads_training_ = false;          ///< loader_: the next batch of every replica is the next one
    bool chooses_loading_ = false;         ///< by the times of the first updates
    bool timed_before_ = false;            ///< the first window, which is slow, is not counted
    LoadingTimes loading_times_;           ///< of these updates
    LoadingWish loading_wish_;
    std::string loading_text_;
    std::vector<BatchOrder> orders_;                   ///< of the next batch of each replica
    std::vector<int> folds_;                           ///< of the replicas that are evaluated
    bool in_backward_ = false;                         ///< in the last update, see Optimizers
    const Tensor* rounded_from_ = nullptr;             ///< what Model::rounded_weights hold; none: not known
    unsigned turn_ = 0;                                ///< which of plan_.staged was sent last
    std::vector<Replica> replicas_;                    ///< plan.replicas at most
    std::vector<float> rates_, losses_, norms_;        ///< the arena's tables of all replicas
    std::vector<std::uint32_t> first_window_indices_;  ///< 0 for each replica
    std::vector<float> padded_, unpadded_;             ///< a block on its way to or from a padded replica
};

}  // namespace hpo
