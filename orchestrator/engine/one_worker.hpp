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

/// Blocks while the worker works. SIGINT, SIGTERM and SIGHUP end the worker and throw Fatal with exit code 130 or 143.
class OneWorker {
   public:
    /// A native worker on one thread, or the study's command with all cores of this process. Ready when this returns.
    static Result<std::unique_ptr<OneWorker>> start(const Study& study, const Programs& programs, const Target& target);
    ~OneWorker();

    /// Trials of one shape that it would train side by side.
    [[nodiscard]] std::int64_t slots() const;
    /// Of its device, as in DeviceCalibration; empty: it does not tell.
    [[nodiscard]] const std::string& identity() const;

    /// Lets a native worker on the CPU compute on these cores, with a thread each. Before, it computes on one thread.
    void use_cores(const std::vector<int>& cores);

    Result<from_worker::PlanAnswer> plan(const Params& params, std::int64_t epochs, std::uint64_t data_seed);

    /// What the native worker understood of a trial's data, in lines for people.
    Result<std::vector<std::string>> explain_data(const Params& params, std::uint64_t data_seed);

    /// Runs attempts to their end, side by side as far as there are slots; `decide` answers each report. Returns the
    /// end of the last one to end. A worker that dies is an Error with the end of its output.
    Result<from_worker::Finished> run(std::span<const to_worker::Run> runs,
                                      const std::function<to_worker::Action(const Report&)>& decide);

   private:
    OneWorker();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
