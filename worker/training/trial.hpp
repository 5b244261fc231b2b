// One trial from `run` to `finished`: configuration, data, training step by step, checkpoints, the kept weights' test
// and export. What the outside is (a socket, a test) hides behind TrialHost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/messages.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {

/// The trial's way to the orchestrator and to its log.
class TrialHost {
   public:
    virtual ~TrialHost() = default;
    /// Asked often: at each iteration, each pass of an evaluation, each part of the data. False: end with outcome
    /// stopped, at once. `phase`: loading, training, evaluating or saving.
    virtual bool go_on(std::string_view phase) = 0;
    virtual void started(std::int64_t from_step) = 0;
    /// Waits for the decision; nothing: end with outcome stopped, at once.
    virtual std::optional<to_worker::Action> report(const Report& report) = 0;
    /// A line for people.
    virtual void say(const std::string& line) = 0;
};

/// What a worker keeps from trial to trial, so that the next one starts at once.
struct Workshop {
    Device& device;
    const Clock& clock;
    std::int64_t process_bytes = 0;  ///< the worker's own memory, without data and arena
    std::unique_ptr<DeviceData> data;
    std::unique_ptr<Buffer> arena;
    std::vector<float> state;  ///< on its way to or from a checkpoint
    std::vector<float> best;   ///< weights of the best step
};

/// The answer to `plan`; errors are in it. Reads headers and labels of the data, not the samples.
from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, const Workshop& workshop);

/// Never throws but what `host` throws, and DeviceLost: whatever else goes wrong is the outcome failed or
/// out_of_memory, in words.
///
/// A step: train, evaluate, write folder/best.ckpt if it is the best so far (objective at: best), report, wait for the
/// decision, then write folder/last.ckpt unless it is to stop. A checkpoint that cannot be written is said, and the
/// trial goes on. With `resume`, it goes on from last.ckpt (and best.ckpt) if they are whole and of this very
/// trial, and repeats the bits of an uninterrupted one; else it says why and begins at the beginning.
/// Completed and stopped trials are tested and saved if `run` asks for it.
from_worker::Finished run_trial(const to_worker::Run& run, Workshop& workshop, TrialHost& host);

}  // namespace hpo
