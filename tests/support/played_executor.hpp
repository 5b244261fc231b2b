// An executor without processes: it records the engine's calls, and the test plays the workers.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "orchestrator/execution/executor.hpp"

namespace hpo::testing {

class PlayedExecutor final : public Executor {
   public:
    void launch(WorkerIndex index, const LaunchSpec&) override { launched.push_back(index); }
    using Executor::send;
    void send(WorkerIndex index, std::span<const OrchestratorMessage> messages) override {
        sent[index].insert(sent[index].end(), messages.begin(), messages.end());
    }
    void log_to(WorkerIndex, const std::filesystem::path&) override {}
    void terminate(WorkerIndex index, double) override { terminated.insert(index); }
    void kill(WorkerIndex index) override { killed.insert(index); }

    /// Takes the oldest message of type M that was sent to the worker, and drops those before it. Returns nothing if
    /// there is none.
    template <class M>
    std::optional<M> take(WorkerIndex index) {
        auto& queue = sent[index];
        while (!queue.empty()) {
            const OrchestratorMessage message = queue.front();
            queue.pop_front();
            if (const M* found = std::get_if<M>(&message)) return *found;
        }
        return std::nullopt;
    }

    std::deque<WorkerIndex> launched;
    std::map<WorkerIndex, std::deque<OrchestratorMessage>> sent;
    std::set<WorkerIndex> terminated;
    std::set<WorkerIndex> killed;
};

}  // namespace hpo::testing
