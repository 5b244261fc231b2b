// Trials that are fused in one worker, and the same trials alone.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "tests/contract/worker/fixture.hpp"

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

/// Trains trials 1 to COUNT for two epochs side by side in one worker, and expects of each the curve that it has alone.
/// PARAMS_OF gives the parameters of a trial by its number. Trial LEAVES (0: none) is stopped at its first report, so
/// that the last trial moves into its place.
inline void expect_the_curves_that_each_has_alone(std::string_view backend, int count,
                                                  const std::function<Params(std::int64_t)>& params_of,
                                                  std::int64_t leaves = 0) {
    const auto run_of = [&](std::int64_t number) {
        auto run = small_run(sized_for(backend, params_of(number)), 2);
        run.id = {number, 1};
        run.seed = 100 + static_cast<std::uint64_t>(number);
        return run;
    };
    FusedTrials fused(backend);
    for (std::int64_t number = 1; number <= count; ++number) fused.add(run_of(number));
    EXPECT_EQ(fused.group.size(), count);
    if (leaves != 0) fused.hosts[leaves].on_report = [](const Report&) { return to_worker::Action::stop; };
    fused.finish();
    for (std::int64_t number = 1; number <= count; ++number) {
        if (number == leaves) continue;
        ASSERT_EQ(fused.hosts[number].reports.size(), 2U) << fused.ended.at(number).message;
        EXPECT_EQ(curve_of(fused.hosts[number]), fused.alone(run_of(number))) << number;
    }
}

}  // namespace hpo::test
