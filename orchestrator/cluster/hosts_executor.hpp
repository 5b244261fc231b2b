// The executor of a session on several hosts: each order goes to the agent of the worker's host.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orchestrator/cluster/hosts.hpp"
#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/session_executor.hpp"

namespace hpo::cluster {

class HostsExecutor final : public SessionExecutor {
   public:
    HostsExecutor(std::shared_ptr<Hosts> hosts, std::string tag, PrivateFolder folder)
        : hosts_(std::move(hosts)), tag_(std::move(tag)), folder_(std::move(folder)) {}
    ~HostsExecutor() override;

    void launch(WorkerIndex worker, const LaunchSpec& spec) override { hosts_->launch(worker, spec); }
    using Executor::send;
    void send(WorkerIndex worker, std::span<const OrchestratorMessage> messages) override;
    void log_to(WorkerIndex worker, const std::filesystem::path& file) override;
    void terminate(WorkerIndex worker, double grace) override;
    void kill(WorkerIndex worker) override;

    std::vector<std::string> end(std::chrono::milliseconds within) override { return hosts_->end(within); }
    Result<void> keep_folder() override;
    [[nodiscard]] const std::filesystem::path& folder() const override { return folder_.path(); }

   private:
    std::shared_ptr<Hosts> hosts_;
    std::string tag_;
    PrivateFolder folder_;  ///< of the control socket
};

}  // namespace hpo::cluster
