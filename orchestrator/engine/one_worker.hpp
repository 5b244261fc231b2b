// One worker, asked directly: for `hpo check` and `hpo train`, which need a worker but no study.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

/// A worker without a study's session. Calls block. SIGINT, SIGTERM and SIGHUP end the worker and throw Fatal with exit
/// code 130 or 143.
class OneWorker {
   public:
    /// Starts a native worker on one thread, or the study's command with all cores of this process, and waits until it
    /// is ready.
    static Result<std::unique_ptr<OneWorker>> start(const Study& study, const Programs& programs, const Target& target);
    ~OneWorker();

    /// Returns the number of trials with one fusion key that the worker trains side by side.
    [[nodiscard]] std::int64_t slots() const;
    /// Returns the identity of the worker's device, as in DeviceCalibration; empty if the worker has not sent it.
    [[nodiscard]] const std::string& identity() const;

    /// Makes a native worker on the CPU compute on these cores, with a thread for each.
    void use_cores(const std::vector<int>& cores);

    Result<from_worker::PlanAnswer> plan(const Params& params, std::int64_t epochs, std::uint64_t data_seed);

    /// Returns the native worker's description of a trial's data, in lines for users.
    Result<std::vector<std::string>> explain_data(const Params& params, std::uint64_t data_seed);

    /// Runs attempts to their end, side by side as far as there are slots. `decide` answers each report. Returns the
    /// message of the last attempt that ends. Fails with the end of the worker's output if the worker dies.
    Result<from_worker::Finished> run(std::span<const to_worker::Run> runs,
                                      const std::function<to_worker::Action(const Report&)>& decide);

   private:
    OneWorker();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
