// Workers as processes of this machine, each below its supervisor, on one event loop and one thread.
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
    /// Tells this study's processes from all others', also after a crash (processes.hpp): stable for its folder,
    /// without
    /// ':'. At most one executor a mark at a time.
    std::string tag;
    /// What is executed, with `warden_word`, for a supervisor; it calls run_warden().
    std::filesystem::path program = "/proc/self/exe";
    SoftLimits limits;                         ///< of workers
    double alive_every = 5;                    ///< seconds, told to workers
    std::int64_t log_bytes = 4 * 1024 * 1024;  ///< cap of one log file
};

class LocalExecutor final : public Executor {
   public:
    /// Fails if there is no place for the socket. `loop` and `listener` outlive the executor. Nothing is started, and
    /// nothing swept, before the first launch: the caller sweeps (processes.hpp) once it holds the study.
    static Result<std::unique_ptr<LocalExecutor>> make(boost::asio::io_context& loop, LocalOptions options,
                                                       ExecutionListener listener);
    /// As end(2 s).
    ~LocalExecutor() override;

    /// Kills everything and waits until it is gone: usually milliseconds; for what is stuck in the kernel, or below a
    /// supervisor that is, `within` and as long again. What is left then. Nothing may be asked of the executor
    /// afterwards.
    std::vector<pid_t> end(std::chrono::milliseconds within);

    void launch(WorkerIndex index, const LaunchSpec& spec) override;
    void send(WorkerIndex index, const OrchestratorMessage& message) override;
    void log_to(WorkerIndex index, const std::filesystem::path& file) override;
    void terminate(WorkerIndex index, double grace) override;
    void kill(WorkerIndex index) override;

    /// Makes folder() and the workers' socket anew, perhaps elsewhere, where somebody has removed them (at logout
    /// $XDG_RUNTIME_DIR goes away); workers that are connected stay so. Each launch does this first.
    Result<void> keep_folder();
    /// The private folder (0700) of the workers' socket, for other sockets as well; removed by the destructor.
    [[nodiscard]] const std::filesystem::path& folder() const;

   private:
    class Impl;
    explicit LocalExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hpo
