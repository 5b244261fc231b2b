// Runs workers as processes of this machine, each below a supervisor, on one event loop and one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "orchestrator/execution/executor.hpp"
#include "orchestrator/execution/limits.hpp"

namespace boost::asio {
class io_context;
}

namespace hpo {

struct LocalOptions {
    /// Distinguishes the processes of this study from all others, also after a crash (processes.hpp). It stays the same
    /// for a study's folder and contains no ':'. At most one executor uses a tag at a time.
    std::string tag;
    /// Program that is executed with `supervisor_command` as a supervisor; it calls run_supervisor().
    std::filesystem::path program = "/proc/self/exe";
    SoftLimits limits;                         ///< of workers
    double alive_every = 5;                    ///< seconds between a worker's signs of life; sent to workers
    std::int64_t log_bytes = 4 * 1024 * 1024;  ///< cap of one log file
};

class LocalExecutor final : public Executor {
   public:
    /// Fails if the folder of the workers' socket cannot be made. `loop` and `listener` must outlive the executor. It
    /// does not kill what an earlier session left behind: the caller does (sweep() in processes.hpp) once it holds the
    /// study.
    static Result<std::unique_ptr<LocalExecutor>> make(boost::asio::io_context& loop, LocalOptions options,
                                                       ExecutionListener listener);
    /// Calls end() with 2 seconds.
    ~LocalExecutor() override;

    /// Kills all workers and waits until they are gone, which usually takes milliseconds. Processes that are stuck in
    /// the kernel, or below a supervisor that is, are waited for at most twice `within`; returns those that are left.
    /// The executor must not be used afterwards.
    std::vector<pid_t> end(std::chrono::milliseconds within);

    void launch(WorkerIndex index, const LaunchSpec& spec) override;
    void send(WorkerIndex index, const OrchestratorMessage& message) override;
    void log_to(WorkerIndex index, const std::filesystem::path& file) override;
    void terminate(WorkerIndex index, double grace) override;
    void kill(WorkerIndex index) override;

    /// Makes folder() and the workers' socket again, perhaps elsewhere, if they have been removed ($XDG_RUNTIME_DIR
    /// goes away at logout). Workers that are connected stay connected. Each launch calls this first.
    Result<void> keep_folder();
    /// The private folder (mode 0700) of the workers' socket, which other sockets may use too. The destructor removes
    /// it.
    [[nodiscard]] const std::filesystem::path& folder() const;

   private:
    class Impl;
    explicit LocalExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
