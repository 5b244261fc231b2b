// An executor without processes: it notes what the engine asked for, and the test plays the workers.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "orchestrator/execution/executor.hpp"

namespace hpo::testing {

class PlayedExecutor final : public Executor {
   public:
    void launch(Place place, const LaunchSpec&) override { launched.push_back(place); }
    void send(Place place, const OrchestratorMessage& message) override { sent[place].push_back(message); }
    void log_to(Place, const std::filesystem::path&) override {}
    void terminate(Place place, double) override { terminated.insert(place); }
    void kill(Place place) override { killed.insert(place); }

    /// Takes the oldest message of type M that was sent to the place, dropping those before it; nothing if there is
    /// none.
    template <class M>
    std::optional<M> take(Place place) {
        auto& queue = sent[place];
        while (!queue.empty()) {
            const OrchestratorMessage message = queue.front();
            queue.pop_front();
            if (const M* found = std::get_if<M>(&message)) return *found;
        }
        return std::nullopt;
    }

    std::deque<Place> launched;
    std::map<Place, std::deque<OrchestratorMessage>> sent;
    std::set<Place> terminated;
    std::set<Place> killed;
};

}  // namespace hpo::testing
