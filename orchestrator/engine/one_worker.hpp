// One worker, asked directly: for `hpo check` and `hpo train`, which need a worker but no study.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/runner.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

/// Blocks while the worker works. SIGINT, SIGTERM and SIGHUP end the worker and throw Fatal with exit code 130 or 143.
class OneWorker {
   public:
    /// A native worker, or the study's command, with all cores of this process. Ready when this returns.
    static Result<std::unique_ptr<OneWorker>> start(const Study& study, const Programs& programs, const Target& target);
    ~OneWorker();

    /// Trials of one shape that it would train side by side.
    [[nodiscard]] std::int64_t slots() const;

    Result<from_worker::PlanAnswer> plan(const Params& params, std::int64_t epochs, std::uint64_t data_seed);

    /// Runs one attempt to its end; `decide` answers each report. A worker that dies is an Error with its last words.
    Result<from_worker::Finished> run(const to_worker::Run& run,
                                      const std::function<to_worker::Action(const Report&)>& decide);

   private:
    OneWorker();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
