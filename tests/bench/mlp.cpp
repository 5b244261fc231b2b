// The native side of the MLP benchmark: the worker's trainer on Fashion-MNIST, with the same training as mlp_torch.py.
//
//     bench_mlp BATCH EPOCHS REPEAT SEED
//
// Loads the data, prints "ready" with the device, waits for a line on stdin, trains, and prints one JSON line.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/training/trainer.hpp"

namespace {

using namespace hpo;

template <class T>
T checked(Result<T> result) {
    if (!result) throw Fatal(result.error().message);
    return std::move(*result);
}

void measure(std::int64_t batch, std::int64_t epochs, std::uint64_t seed, const std::string& precision) {
    const Configuration configuration = checked(read_configuration({
        {"path", std::string("fashion-mnist")},
        {"hidden", std::vector<std::int64_t>{512, 256, 128}},
        {"batch_size", batch},
        {"lr", 0.001},
        {"weight_decay", 0.01},
        {"schedule", std::string("constant")},
        {"precision", precision},
    }));
    const auto device = make_cpu_device();
    if (const auto can = device->computes_in(configuration.training.precision); !can) throw Fatal(can.error().message);
    const auto data = checked(load_to_device(*device, configuration.data, 1));
    const auto sizes = checked(split_sizes(configuration.data, data->shape.train));
    GroupPlan plan = checked(plan_group(configuration, data->shape, sizes, 1));
    const auto arena = checked(device->allocate(plan.arena_bytes));
    const std::int64_t per_epoch = plan.pace.iterations_per_epoch;
    const ReplicaSpec replica{configuration.training, seed};
    const SteadyClock clock;
    Trainer trainer(*device, *arena, std::move(plan), *data, {&replica, 1}, epochs, clock);
    const ShouldContinue always = [] { return true; };

    std::cout << "ready " << device->name() << std::endl;
    std::string line;
    std::getline(std::cin, line);
    double seconds = 0;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        trainer.train_step(always);
        seconds += trainer.step_seconds_of(0);
    }
    trainer.evaluate_validation(always);
    std::printf(
        "{\"iterations_per_second\": %.3f, \"iterations\": %lld, \"loss\": %.6f, \"validation_loss\": %.6f, "
        "\"validation_accuracy\": %.6f}\n",
        static_cast<double>(per_epoch * epochs) / seconds, static_cast<long long>(per_epoch * epochs),
        trainer.step_of(0).loss, trainer.evaluation_of(0).loss, trainer.evaluation_of(0).accuracy);
}

}  // namespace

int main(int count, char** arguments) {
    if (const auto core = better_blas_core()) {  // like the worker
        setenv("OPENBLAS_CORETYPE", core->c_str(), 1);
        execv("/proc/self/exe", arguments);
    }
    if (count != 6) {
        std::fputs("bench_mlp float32|bfloat16 BATCH EPOCHS REPEAT SEED\n", stderr);
        return 2;
    }
    try {
        const auto number = [&](int i) { return std::atoll(arguments[i]); };
        measure(number(2), number(3), static_cast<std::uint64_t>(2 * number(4) + number(5)), arguments[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_mlp: %s\n", error.what());
        return 1;
    }
}
