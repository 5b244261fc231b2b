// Trains a group of lanes: trials of one shape, side by side in one arena. It knows models and backends by their seams
// alone, and neither files nor messages. After the first step it allocates nothing.
//
// All lanes do an iteration at once, each with a batch of its own; their steps (epochs, or so many iterations) end when
// each has done its own number of them.
//
// Batches: the samples lie in the device's memory, and the first operation of a pass gathers them there, in an order
// that the device computes from seed and iteration. Only the rates are prepared ahead, for a window of iterations.
// Staged samples lie in the host's memory: this thread gathers each batch, in the same order, into one of two parts of
// a Stage, from where it is copied in the device's queue. It is ahead of the device by as much as the queue holds, so
// that a thread of its own would win nothing where iterations are enqueued, and take the core it computes on where not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/group_plan.hpp"
#include "worker/training/health.hpp"
#include "worker/training/schedule.hpp"

namespace hpo {

/// One trial of the group. Its `training` may differ from the others' in what GroupPlan::shared does not name.
struct LaneSpec {
    TrainingConfig training;
    std::uint64_t seed = 0;
    /// Of padded lanes: its own model, which outlives the trainer. Its state is read and written as that one has it.
    const Model* model = nullptr;
};

/// What the last step of a lane showed.
struct LaneStep {
    double loss = 0;  ///< mean over the step's iterations, with label smoothing
    GradientNorms norms;
    double learning_rate = 0;       ///< of the last iteration
    std::int64_t diverged_at = -1;  ///< first iteration (from 0) with a loss that is not finite; -1: none
};

/// Where a lane is between two iterations, besides its state.
struct LaneProgress {
    std::int64_t iteration = 0;  ///< updates done
    LossWindow window;
    std::int64_t in_step = 0;  ///< of these, in the step that has begun
    LaneStep sums;             ///< over these
    double seconds = 0;        ///< of these
};

struct Evaluation {
    double loss = 0;  ///< mean cross-entropy, without label smoothing
    double accuracy = 0;
};

/// Asked before each iteration and each pass of an evaluation; false ends the work at once.
using GoOn = std::function<bool()>;

class Trainer {
   public:
    /// `arena` has at least plan.arena_bytes; its content does not matter. `data` and `arena` must outlive the trainer.
    /// The lanes of `lanes` begin, plan.lanes of them at most; `steps`: the whole budget of each.
    Trainer(Device& device, Buffer& arena, GroupPlan plan, const DeviceData& data, std::span<const LaneSpec> lanes,
            std::int64_t steps, const Clock& clock);

    /// One more lane, or another trial in the place of lane `lane` (at most lanes()), with weights initialised by its
    /// seed. `steps`: its whole budget, which the schedules stretch over.
    void begin(int lane, const LaneSpec& spec, std::int64_t steps);
    /// The same of one that goes on from where it was: state_elements of the plan of it alone.
    void resume(int lane, const LaneSpec& spec, std::int64_t steps, std::span<const float> state,
                const LaneProgress& progress);
    /// Lane `lane` goes; the last one takes its place. One lane stays.
    void leave(int lane);
    /// At any time: the lane trains no more; its weights stay as they are.
    void drop(int lane);
    [[nodiscard]] int lanes() const { return static_cast<int>(lanes_.size()); }

    /// Trains until a lane comes to the end of its step, or several; false if `go_on` said so (the lanes are then good
    /// for nothing but another trainer). A lane whose loss stops being finite dies, which ends its step: its weights
    /// stay as they are. The loss of each iteration is looked at, plan.window iterations at a time.
    bool train_step(const GoOn& go_on);
    /// Whether it is between two steps.
    [[nodiscard]] bool at_end(int lane) const { return lanes_[index(lane)].progress.in_step == 0; }

    /// Of the lanes between two steps that live, with the weights as they are; false if `go_on` said so.
    bool evaluate_validation(const GoOn& go_on);
    bool evaluate_test(int lane, const GoOn& go_on);

    [[nodiscard]] const LaneStep& step_of(int lane) const { return lanes_[index(lane)].step; }
    [[nodiscard]] const Evaluation& evaluation_of(int lane) const { return lanes_[index(lane)].evaluation; }
    /// Training time of the last step.
    [[nodiscard]] double step_seconds_of(int lane) const { return lanes_[index(lane)].step_seconds; }
    [[nodiscard]] const LaneProgress& progress_of(int lane) const { return lanes_[index(lane)].progress; }
    [[nodiscard]] std::int64_t iteration_of(int lane) const { return progress_of(lane).iteration; }
    [[nodiscard]] const GroupPlan& plan() const { return plan_; }

    /// Weights [P], or all of a lane's state (state_elements of the plan of it alone), blocks as the ParameterBlock of
    /// its own model places them.
    void read_weights(int lane, std::span<float> to);
    void write_weights(int lane, std::span<const float> from);
    void read_state(int lane, std::span<float> to);

   private:
    struct Lane {
        LaneSpec spec;
        Pace pace;
        Schedule schedule;
        bool alive = true;
        LaneProgress progress;
        LaneStep step;
        double step_seconds = 0;
        Evaluation evaluation;
    };

    [[nodiscard]] static std::size_t index(int lane) { return static_cast<std::size_t>(lane); }
    /// Where a lane's entries begin in a copy of all lanes' tables.
    [[nodiscard]] static std::size_t first_of(const Tensor& table, int lane) {
        return index(lane) * table.lane_stride / sizeof(float);
    }
    void place(int lane, const LaneSpec& spec, std::int64_t steps, const LaneProgress& progress);
    void initialise(int lane);
    void write_lane_arrays(int lane);
    [[nodiscard]] std::int64_t iterations_ahead() const;
    void prepare_window(std::int64_t count);
    /// Of lanes that live; which operations an update is.
    struct Optimizers {
        bool adamw = false;
        bool sgd = false;
    };
    [[nodiscard]] Optimizers optimizers() const;
    void iterate(Optimizers used);
    void update(Optimizers used);
    void look_at_window(std::int64_t count);
    bool end_steps();
    bool evaluate(const Samples& samples, int first, int count, const GoOn& go_on);
    [[nodiscard]] Samples source(const Samples& samples) const;
    void stage_batch();
    void stage_rows(const Samples& samples, std::int64_t from, std::int64_t rows, int first, int count);
    void put(const Samples& from, std::int64_t sample, std::span<std::byte> lane_part, std::int64_t row) const;
    void read_block(const Tensor& block, int lane, std::span<float> to);
    void write_block(const Tensor& block, int lane, std::span<const float> from);
    template <class F>
    void each_state_tensor(int lane, F&& visit) const;

    GroupPlan plan_;
    const DeviceData& data_;
    const Clock& clock_;
    Buffer& arena_;
    std::unique_ptr<Stream> stream_;
    std::unique_ptr<Stage> stage_;               ///< of staged data
    std::vector<Lane> lanes_;                    ///< plan.lanes at most
    std::vector<float> rates_, losses_, norms_;  ///< the arena's tables of all lanes
    std::vector<std::uint32_t> slots_;           ///< 0 for each lane
    std::vector<float> padded_, own_;            ///< a block on its way to or from a padded lane
};

}  // namespace hpo
