// Holds messages to workers until the events that they follow from are stored.
#pragma once

#include <span>
#include <vector>

#include "orchestrator/execution/executor.hpp"

namespace hpo {

/// Holds messages back until release(), and passes all other calls to `executor` at once. `executor` outlives it.
class Outbox final : public Executor {
   public:
    explicit Outbox(Executor& executor) : executor_(executor) {}

    using Executor::send;
    void send(WorkerIndex index, std::span<const OrchestratorMessage> messages) override {
        receivers_.insert(receivers_.end(), messages.size(), index);
        messages_.insert(messages_.end(), messages.begin(), messages.end());
    }
    /// Drops messages to the previous worker of the index.
    void launch(WorkerIndex index, const LaunchSpec& spec) override {
        drop_for(index);
        executor_.launch(index, spec);
    }
    void log_to(WorkerIndex index, const std::filesystem::path& file) override { executor_.log_to(index, file); }
    void terminate(WorkerIndex index, double grace) override { executor_.terminate(index, grace); }
    void kill(WorkerIndex index) override { executor_.kill(index); }

    /// Sends the messages in their order, consecutive ones to the same worker together.
    void release() {
        for (std::size_t from = 0, to = 0; from < receivers_.size(); from = to) {
            while (to < receivers_.size() && receivers_[to] == receivers_[from]) ++to;
            executor_.send(receivers_[from], std::span(messages_).subspan(from, to - from));
        }
        drop();
    }
    /// Drops all messages, since the events behind them were not stored.
    void drop() {
        receivers_.clear();
        messages_.clear();
    }

   private:
    void drop_for(WorkerIndex index) {
        for (std::size_t i = receivers_.size(); i-- > 0;) {
            if (receivers_[i] != index) continue;
            receivers_.erase(receivers_.begin() + static_cast<std::ptrdiff_t>(i));
            messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    Executor& executor_;
    std::vector<WorkerIndex> receivers_;  ///< the worker of each message
    std::vector<OrchestratorMessage> messages_;
};

}  // namespace hpo
