// Trials that are fused in one worker, and the same trials alone.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "tests/unit/worker/fixture.hpp"

namespace hpo::test {

using Curve = std::vector<Metrics>;

inline Curve curve_of(const FakeHost& host) {
    Curve curve;
    for (const Report& report : host.reports) curve.push_back(report.metrics);
    return curve;
}

class FusedTrials {
   public:
    explicit FusedTrials(std::string_view backend = "cpu") : worker(backend) { worker.context.slots = 8; }

    FakeHost& add(const to_worker::Run& run) {
        FakeHost& host = hosts[run.id.trial];
        group.add(run, host);
        return host;
    }
    void finish() {
        while (!group.empty()) group.step();
    }
    /// Trains the trial alone in another worker with the same backend and slots, and returns its curve.
    Curve alone(const to_worker::Run& run) {
        WorkerFixture other(worker.device->backend());
        other.context.slots = worker.context.slots;
        FakeHost host;
        run_trial(run, other.context, host);
        return curve_of(host);
    }

    WorkerFixture worker;
    std::map<std::int64_t, from_worker::Finished> ended;
    std::map<std::int64_t, FakeHost> hosts;
    TrialGroup group{worker.context, [this](const from_worker::Finished& f) { ended[f.id.trial] = f; }};
};

}  // namespace hpo::test
