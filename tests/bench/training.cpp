// The native side of the training benchmarks: the worker's trainer, with the same training as mlp_torch.py (on
// Fashion-MNIST) or transformer_torch.py (on synthetic tokens; WIDTH 128 or 768).
//
//     bench_training mlp float32|bfloat16 BATCH EPOCHS REPEAT SEED
//     bench_training transformer float32|bfloat16 WIDTH BATCH EPOCHS REPEAT SEED
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

Params mlp_params() {
    return {{"path", std::string("fashion-mnist")}, {"hidden", std::vector<std::int64_t>{512, 256, 128}}};
}

Params transformer_params(std::int64_t width) {
    return {{"format", std::string("synthetic")},
            {"samples", std::int64_t{8192}},
            {"steps", std::int64_t{60}},
            {"vocabulary", std::int64_t{96}},
            {"type", std::string("transformer")},
            {"depth", std::int64_t{4}},
            {"width", width},
            {"heads", width > 256 ? width / 64 : 4}};
}

void measure(Params params, std::int64_t batch, std::int64_t epochs, std::uint64_t seed, const std::string& precision) {
    for (const auto& [name, value] : Params{{"batch_size", batch},
                                            {"lr", 0.001},
                                            {"weight_decay", 0.01},
                                            {"schedule", std::string("constant")},
                                            {"precision", precision}})
        params[name] = value;
    const Configuration configuration = checked(read_configuration(params));
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
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const bool transformer = !words.empty() && words[0] == "transformer";
    if (words.size() != (transformer ? 7U : 6U) || (!transformer && words[0] != "mlp")) {
        std::fputs("bench_training mlp|transformer float32|bfloat16 [WIDTH] BATCH EPOCHS REPEAT SEED\n", stderr);
        return 2;
    }
    try {
        const auto number = [&](std::size_t from_end) { return std::atoll(words[words.size() - from_end].c_str()); };
        measure(transformer ? transformer_params(number(5)) : mlp_params(), number(4), number(3),
                static_cast<std::uint64_t>(2 * number(2) + number(1)), words[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_training: %s\n", error.what());
        return 1;
    }
}
