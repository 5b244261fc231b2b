// How many trials of one shape a device trains in one process, and how fast: the worker's own trainer with K lanes.
//
//     bench_lanes BACKEND BATCH HIDDEN SECONDS K...
//     bench_lanes cuda 32 512,256,128 5 1 4 16 64 256
//
// Synthetic data in the shape of MNIST. A line for each K: updates a second of the whole and of all its trials
// together, how that compares with the first K, launches that the driver is handed for an update, the device's bytes,
// and the first lane's loss, which K must not change.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "worker/backends/backends.hpp"
#include "worker/training/trainer.hpp"

namespace {

using namespace hpo;

template <class T>
T checked(Result<T> result) {
    if (!result) throw Fatal(result.error().message);
    return std::move(*result);
}

std::vector<std::int64_t> numbers(const std::string& text) {
    std::vector<std::int64_t> all;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) all.push_back(std::atoll(word.c_str()));
    return all;
}

struct Setting {
    std::int64_t batch;
    std::vector<std::int64_t> hidden;
    double seconds;
};

struct Measured {
    double updates = 0;   ///< a second, of the group
    double launches = 0;  ///< for an update
    std::size_t bytes = 0;
    double loss = 0;  ///< of the first lane's first step
};

Configuration configuration_of(const Setting& setting) {
    return checked(read_configuration({{"format", std::string("synthetic")},
                                       {"samples", std::int64_t{16384}},
                                       {"features", std::int64_t{784}},
                                       {"classes", std::int64_t{10}},
                                       {"hidden", setting.hidden},
                                       {"dropout", 0.1},
                                       {"batch_size", setting.batch},
                                       {"eval_every", std::int64_t{64}},
                                       {"schedule", std::string("constant")}}));
}

Measured measure(Device& device, const DeviceData& data, const Setting& setting, int lanes) {
    const Configuration configuration = configuration_of(setting);
    const SplitSizes sizes = checked(split_sizes(configuration.data, data.shape.train));
    GroupPlan plan = checked(plan_group(configuration, data.shape, sizes, lanes));
    const std::size_t bytes = plan.arena_bytes + device.stream_bytes(lanes);
    const auto arena = checked(device.allocate(plan.arena_bytes));
    std::vector<LaneSpec> specs;
    for (int lane = 0; lane < lanes; ++lane)
        specs.push_back({configuration.training, static_cast<std::uint64_t>(lane + 1)});
    const SteadyClock clock;
    Trainer trainer(device, *arena, std::move(plan), data, specs, 1000, clock);
    const GoOn always = [] { return true; };
    trainer.train_step(always);  // and whatever is compiled or chosen at the first time
    const double loss = trainer.step_of(0).loss;
    double seconds = 0;
    double updates = 0;
    const std::uint64_t before = device.launches();
    while (seconds < setting.seconds) {
        trainer.train_step(always);
        seconds += trainer.step_seconds_of(0);
        updates += static_cast<double>(trainer.plan().pace.iterations_per_step);
    }
    return {updates / seconds, static_cast<double>(device.launches() - before) / updates, bytes, loss};
}

void table(const std::string& backend, const Setting& setting, const std::vector<int>& lanes) {
    const auto device = checked(make_device({backend, {}}));
    std::printf("%s, batch %lld\n", device->name().c_str(), static_cast<long long>(setting.batch));
    std::printf("%8s %14s %14s %8s %10s %10s %12s\n", "K", "updates/s", "trials' it/s", "times", "launches", "MiB",
                "loss");
    const auto data = checked(load_to_device(*device, configuration_of(setting).data, 1));
    double first = 0;
    for (const int k : lanes) {
        const Measured one = measure(*device, *data, setting, k);
        if (first == 0) first = one.updates * k;
        std::printf("%8d %14.1f %14.1f %8.2f %10.1f %10.1f %12.7f\n", k, one.updates, one.updates * k,
                    one.updates * k / first, one.launches, static_cast<double>(one.bytes) / (1 << 20), one.loss);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 6) {
        std::fputs("bench_lanes BACKEND BATCH HIDDEN SECONDS K...\n", stderr);
        return 2;
    }
    try {
        std::vector<int> lanes;
        for (int i = 5; i < count; ++i) lanes.push_back(std::atoi(arguments[i]));
        table(arguments[1], {std::atoll(arguments[2]), numbers(arguments[3]), std::atof(arguments[4])}, lanes);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_lanes: %s\n", error.what());
        return 1;
    }
}
