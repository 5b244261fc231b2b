// Runs workers as processes of this machine, each below a supervisor, on one event loop and one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/session_executor.hpp"
#include "orchestrator/execution/worker_log.hpp"
#include "os/process.hpp"

namespace boost::asio {
class io_context;
}

namespace hpo {

struct LocalOptions {
    /// Tells this study's workers from all others', also after a crash: stable for its folder, without ':'. At most one
    /// executor a tag at a time.
    std::string tag;
    /// Program that is executed with `supervisor_command` as a supervisor; it calls run_supervisor().
    std::filesystem::path program = os::own_program();
    SoftLimits limits;                        ///< of workers
    double alive_every = 5;                   ///< seconds between a worker's signs of life; sent to workers
    std::int64_t log_bytes = most_log_bytes;  ///< of output in one log file
};

class LocalExecutor final : public SessionExecutor {
   public:
    /// Fails if the folder of the workers' socket cannot be made. `loop` and `listener` must outlive the executor. Does
    /// not kill processes that an earlier session left behind: the caller does (sweep() in processes.hpp) once it holds
    /// the study.
    static Result<std::unique_ptr<LocalExecutor>> make(boost::asio::io_context& loop, LocalOptions options,
                                                       ExecutionListener listener);
    /// Calls end() with 2 seconds.
    ~LocalExecutor() override;

    /// Returns the ids of processes that are left. Usually takes milliseconds. Processes that are stuck in the kernel,
    /// or below a supervisor that is, are waited for at most twice `within`.
    std::vector<std::string> end(std::chrono::milliseconds within) override;

    void launch(WorkerIndex index, const LaunchSpec& spec) override;
    using Executor::send;
    void send(WorkerIndex index, std::span<const OrchestratorMessage> messages) override;
    void log_to(WorkerIndex index, const std::filesystem::path& file) override;
    void terminate(WorkerIndex index, double grace) override;
    void kill(WorkerIndex index) override;

    /// Makes the folder elsewhere if need be ($XDG_RUNTIME_DIR goes away at logout). Each launch calls this first.
    Result<void> keep_folder() override;
    [[nodiscard]] const std::filesystem::path& folder() const override;

   private:
    class Impl;
    explicit LocalExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
