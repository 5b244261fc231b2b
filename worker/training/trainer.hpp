// Trains a fused group: replicas (models of trials) side by side in one arena. The trainer knows models and backends by
// their interfaces alone, and neither files nor messages. After the first step it allocates nothing.
//
// All replicas do an iteration at once, each with its own batch. A replica's step (an epoch, or a number of iterations)
// ends when that replica has done its number of iterations.
//
// Batches: the samples lie in the device's memory. The first operation of a micro-batch gathers them, in an order that
// the device computes from seed and iteration. Only the learning rates are prepared ahead, for a window of iterations.
// Samples that do not lie there are fed to it (batch_feed.hpp).
//
// Several ranks (communicator.hpp) each have a trainer with the same replicas, and compute the gradients of their own
// micro-batches. The sums over the ranks update the weights in all of them alike.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/batch_feed.hpp"
#include "worker/training/evaluator.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/rank_sums.hpp"
#include "worker/training/replica.hpp"
#include "worker/training/replica_state.hpp"
#include "worker/training/updates.hpp"

namespace hpo {

class Trainer {
   public:
    /// `arena` has at least plan.arena.bytes; its content does not matter. `data` and `arena` must outlive the trainer.
    /// The replicas of `replicas` (plan.replicas of them at most) are added; `steps` is the whole budget of each.
    /// `ranks`: the trial's, this process among them; they outlive the trainer.
    Trainer(Device& device, Buffer& arena, GroupPlan plan, const DeviceData& data,
            std::span<const ReplicaSpec> replicas, std::int64_t steps, const Clock& clock,
            Communicator* ranks = nullptr);
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    /// Adds a replica, or replaces replica `replica` (at most replicas()), with weights initialised from its seed.
    /// `steps`: its whole budget, over which the schedules stretch.
    void begin(int replica, const ReplicaSpec& spec, std::int64_t steps);
    /// Begins a replica as begin() does, but continues from `state` (state_elements of the plan of this trial alone)
    /// and `progress`.
    void resume(int replica, const ReplicaSpec& spec, std::int64_t steps, std::span<const float> state,
                const ReplicaProgress& progress);
    /// Takes over all replicas of `other`, as they are, from its arena, which must live until this trainer computes.
    /// The two plans differ in their number of replicas alone, and this trainer has no replicas yet.
    void adopt(const Trainer& other);
    /// Removes a replica; the last replica takes its number. At least one must remain.
    void remove(int replica);
    /// Multiplies the schedule's learning rate by `scale` from now on. Call it between two steps.
    void set_rate_scale(int replica, double scale) { replicas_[index(replica)].rate_scale = scale; }
    /// Stops training a replica, at any time; its weights stay as they are.
    void deactivate(int replica);
    [[nodiscard]] int replicas() const { return static_cast<int>(replicas_.size()); }

    /// Trains until at least one replica completes its step. False: `should_continue` ended it, and the replicas are of
    /// no further use but to be replaced. A replica whose loss stops being finite is deactivated, which completes its
    /// step; its weights stay as they are. The loss of every iteration is checked, plan.pace.window iterations at a
    /// time at most. With several ranks, `should_continue` of rank 0 counts, and ends all of them after the update that
    /// it precedes. Throws RankLost.
    bool train_step(const ShouldContinue& should_continue);
    /// Returns true if the replica is between two steps.
    [[nodiscard]] bool at_end(int replica) const { return replicas_[index(replica)].at_end(); }

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
    [[nodiscard]] const BatchFeed& feed() const { return feed_; }
    /// Returns the seconds that went into the exchange with other ranks since the last call; 0: there are none.
    double take_exchange_seconds() { return sums_ ? sums_->take_seconds() : 0; }
    /// Iterations of the next window, at most.
    [[nodiscard]] std::int64_t window() const { return window_; }

    /// The weights [P] of a replica that are evaluated (with ema their average), or its whole state (state_elements of
    /// the plan of that trial alone), in the layout of the ParameterBlock of its own model.
    void read_weights(int replica, std::span<float> to);
    void write_weights(int replica, std::span<const float> from);
    void read_state(int replica, std::span<float> to);

   private:
    [[nodiscard]] static std::size_t index(int replica) { return static_cast<std::size_t>(replica); }
    /// Returns the index of a replica's first entry in a copy of all replicas' tables.
    [[nodiscard]] static std::size_t first_of(const Tensor& table, int replica) {
        return index(replica) * table.replica_stride / sizeof(float);
    }
    void set_up(int replica, const ReplicaSpec& spec, std::int64_t steps, const ReplicaProgress& progress);
    [[nodiscard]] std::int64_t iterations_ahead() const;
    void prepare_window(std::int64_t count);
    void compute_gradients(Optimizers used);
    void use_weights(const Tensor& block);
    void read_window(std::int64_t count);
    bool end_steps();
    /// Evaluates replicas on `samples` of their fold, which has `all`.
    bool evaluate(const Samples& samples, std::int64_t all, int first, int count,
                  const ShouldContinue& should_continue);
    [[nodiscard]] std::span<const BatchOrder> batch_orders();
    [[nodiscard]] const FoldFacts& fold_of(int replica) const {
        return data_.folds[index(replicas_[index(replica)].spec.fold)];
    }

    GroupPlan plan_;
    const DeviceData& data_;
    const Clock& clock_;
    Buffer& arena_;
    std::unique_ptr<Stream> stream_;
    std::int64_t window_;  ///< iterations of the next window, at most
    ReplicaState state_;
    BatchFeed feed_;
    Evaluator evaluator_;
    const RankMicroBatches micro_batches_;
    std::unique_ptr<RankSums> sums_;                   ///< none: this process is the only rank
    std::vector<BatchOrder> orders_;                   ///< of the next batch of each replica
    bool in_backward_ = false;                         ///< in the last update, see Optimizers
    const Tensor* rounded_from_ = nullptr;             ///< source of Model::rounded_weights; none: not known
    std::vector<Replica> replicas_;                    ///< plan.replicas at most
    std::vector<float> rates_, losses_, norms_;        ///< the arena's tables of all replicas
    std::vector<std::uint32_t> first_window_indices_;  ///< 0 for each replica
};

}  // namespace hpo
