#include "orchestrator/cluster/hosts_executor.hpp"

#include <unistd.h>

#include "hpo/wire.hpp"
#include "orchestrator/execution/quick_wire.hpp"

namespace hpo::cluster {

HostsExecutor::~HostsExecutor() { (void)hosts_->end(std::chrono::seconds(2)); }

void HostsExecutor::send(WorkerIndex worker, std::span<const OrchestratorMessage> messages) {
    hosts_->order(worker, [&](int slot) {
        to_agent::Send order{slot, {}};
        for (const OrchestratorMessage& message : messages) {
            const auto* decision = std::get_if<to_worker::Decision>(&message);
            order.lines += decision ? wire::quick_encode(*decision) : wire::encode(message);
        }
        return order;
    });
}

void HostsExecutor::log_to(WorkerIndex worker, const std::filesystem::path& file) {
    hosts_->order(worker, [&](int slot) {
        std::error_code failed;
        return to_agent::LogTo{slot, file.empty() ? "" : std::filesystem::absolute(file, failed).string()};
    });
}

void HostsExecutor::terminate(WorkerIndex worker, double grace) {
    hosts_->order(worker, [&](int slot) { return to_agent::Terminate{slot, grace}; });
}

void HostsExecutor::kill(WorkerIndex worker) {
    hosts_->order(worker, [](int slot) { return to_agent::Kill{slot}; });
}

Result<void> HostsExecutor::keep_folder() {
    if (::access(folder_.path().c_str(), F_OK) == 0) return {};
    auto folder = PrivateFolder::make(tag_);
    if (!folder) return folder.error();
    folder_ = *std::move(folder);
    return {};
}

}  // namespace hpo::cluster
