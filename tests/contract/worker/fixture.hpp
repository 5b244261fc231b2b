// Fixtures of the worker's tests: a device, small synthetic trials, and a host that answers as the test wants.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/backends/gpu/gpu_device.hpp"
#include "worker/backends/gpu/opencl_runtime.hpp"
#include "worker/training/plan_answer.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/trial_group.hpp"

namespace hpo::test {

/// Returns parameters for 1000 samples (900 for training, 100 for validation) and an MLP that uses everything that has
/// state or randomness.
inline Params small_params() {
    return {{"format", std::string("synthetic")},
            {"samples", std::int64_t{1000}},
            {"features", std::int64_t{20}},
            {"classes", std::int64_t{5}},
            {"noise", 2.0},
            {"hidden", std::vector<std::int64_t>{24, 16}},
            {"dropout", 0.2},
            {"batch_size", std::int64_t{64}},
            {"lr", 0.01},
            {"label_smoothing", 0.1},
            {"clip", 1.0},
            {"warmup", 1.0}};
}

inline Params with(Params params, const Params& changes) {
    for (const auto& [name, value] : changes) params[name] = value;
    return params;
}

/// Returns the same parameters with at most 300 synthetic samples on `opencl`, since PoCL is slow. An epoch still has
/// several batches, the last one smaller.
inline Params sized_for(std::string_view backend, Params params) {
    const auto samples = params.find("samples");
    if (backend == "opencl" && samples != params.end())
        samples->second = std::min(std::get<std::int64_t>(samples->second), std::int64_t{300});
    return params;
}

inline to_worker::Run small_run(Params params, std::int64_t steps) {
    to_worker::Run run;
    run.id = {1, 1};
    run.params = std::move(params);
    run.steps = steps;
    run.seed = 77;
    run.data_seed = 5;
    return run;
}

/// Makes the device `cpu`, or `opencl` with the products of hpo's own kernels. Both compute the same bits for a replica
/// that trains alone and for one that is fused with others.
inline std::unique_ptr<Device> device_of(std::string_view backend) {
    if (backend == "cpu") return make_cpu_device();
    auto runtime = gpu::open_opencl({}, gpu::Products::kernels);
    if (!runtime) throw std::runtime_error(runtime.error().message);
    return gpu::make_device(*std::move(runtime));
}

/// The device and context of a worker. The clock only moves when the test advances it.
struct WorkerFixture {
    explicit WorkerFixture(std::string_view backend = "cpu") : WorkerFixture(device_of(backend)) {}
    explicit WorkerFixture(std::unique_ptr<Device> own) : device(std::move(own)) {}

    std::unique_ptr<Device> device;
    ManualClock clock;
    WorkerContext context{*device, clock, 0, 1, {}, {}, {}};
};

/// An exception that ends a trial at any point, as SIGKILL would.
struct Killed {};

class FakeHost : public TrialHost {
   public:
    bool should_continue(std::string_view phase) override {
        ++asked;
        if (phases.empty() || phases.back() != phase) phases.emplace_back(phase);
        return !on_ask || on_ask();
    }
    void started(std::int64_t from, const std::string&) override { from_step = from; }
    void report(const Report& report) override { reports.push_back(report); }
    std::optional<to_worker::Action> decision() override {
        return on_report ? on_report(reports.back()) : to_worker::Action::go_on;
    }
    void log(const std::string& line) override { logged += line + "\n"; }

    std::function<bool()> on_ask;
    std::function<std::optional<to_worker::Action>(const Report&)> on_report;
    std::vector<Report> reports;
    std::vector<std::string> phases;
    std::int64_t asked = 0;
    std::int64_t from_step = -1;
    std::string logged;
};

}  // namespace hpo::test
