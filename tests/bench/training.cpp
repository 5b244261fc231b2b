// The native side of the training benchmarks: the worker's trainer, with the same training as the *_torch.py beside it.
//
//     bench_training mlp|cnn float32|bfloat16 BATCH EPOCHS REPEAT SEED
//     bench_training transformer|table|recurrent float32|bfloat16 WIDTH BATCH EPOCHS REPEAT SEED
//
// mlp and cnn train on Fashion-MNIST, the others on synthetic tokens, or on a synthetic table. Loads the data, prints
// "ready" with the device, waits for a line on stdin, trains, and prints one JSON line.
#include <sys/resource.h>
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

/// User and system time of this process.
double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The training that the torch sides have, too. `width`: of a network that is given one.
Params params_of(const std::string& name, std::int64_t width) {
    const auto whole = [](std::int64_t number) { return Value(number); };
    const auto text = [](const char* word) { return Value(std::string(word)); };
    Params params{{"lr", 0.001}, {"weight_decay", 0.01}, {"schedule", text("constant")}};
    const auto with = [&](const Params& more) {
        for (const auto& [key, value] : more) params[key] = value;
        return params;
    };
    if (name == "mlp")
        return with({{"path", text("fashion-mnist")}, {"hidden", std::vector<std::int64_t>{512, 256, 128}}});
    if (name == "cnn")
        return with({{"path", text("fashion-mnist")},
                     {"subset", whole(6400)},
                     {"type", text("cnn")},
                     {"channels", whole(16)},
                     {"lr", 0.004}});
    if (name == "table")
        return with({{"format", text("synthetic")},
                     {"task", text("regression")},
                     {"samples", whole(10000)},
                     {"features", whole(20)},
                     {"noise", 0.3},
                     {"norm", text("layer")},
                     {"width", width},
                     {"lr", 0.003}});
    with({{"format", text("synthetic")},
          {"samples", whole(width < 512 ? 8192 : 640)},
          {"steps", whole(60)},
          {"vocabulary", whole(96)},
          {"width", width}});
    if (name == "recurrent") return with({{"type", text("gru")}, {"depth", whole(2)}, {"lr", 0.002}});
    // In its few updates a wide one learns nothing with more.
    if (width > 256) with({{"lr", 0.0003}});
    return with({{"type", text("transformer")}, {"depth", whole(4)}, {"heads", width > 256 ? width / 64 : 4}});
}

void measure(Params params, std::int64_t batch, std::int64_t epochs, std::uint64_t seed, const std::string& precision) {
    params["batch_size"] = batch;
    params["precision"] = precision;
    const Configuration configuration = checked(read_configuration(params));
    const auto device = make_cpu_device();
    if (const auto can = device->computes_in(configuration.training.precision); !can) throw Fatal(can.error().message);
    const auto data = checked(load_to_device(*device, configuration.data, 1));
    const auto sizes = checked(split_sizes(configuration.data, data->shape.train));
    GroupPlan plan = checked(plan_group(configuration, data->shape, sizes, 1));
    const auto arena = checked(device->allocate(plan.arena.bytes));
    const std::int64_t per_epoch = plan.pace.of_trial.iterations_per_epoch;
    const ReplicaSpec replica{configuration.training, seed};
    const SteadyClock clock;
    Trainer trainer(*device, *arena, std::move(plan), *data, {&replica, 1}, epochs, clock);
    const ShouldContinue always = [] { return true; };

    std::cout << "ready " << device->name() << std::endl;
    std::string line;
    std::getline(std::cin, line);
    double seconds = 0;
    const double begun = processor_seconds();
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        trainer.train_step(always);
        seconds += trainer.step_seconds_of(0);
    }
    const double processor = processor_seconds() - begun;
    trainer.evaluate_validation(always);
    std::printf(
        "{\"iterations_per_second\": %.3f, \"per_processor_second\": %.3f, \"iterations\": %lld, \"loss\": %.6f, "
        "\"validation_loss\": %.6f, "
        "\"validation_accuracy\": %.6f}\n",
        static_cast<double>(per_epoch * epochs) / seconds, static_cast<double>(per_epoch * epochs) / processor,
        static_cast<long long>(per_epoch * epochs), trainer.step_of(0).loss, trainer.evaluation_of(0).loss,
        trainer.evaluation_of(0).accuracy);
}

}  // namespace

int main(int count, char** arguments) {
    if (const auto core = better_blas_core()) {  // like the worker
        setenv("OPENBLAS_CORETYPE", core->c_str(), 1);
        execv("/proc/self/exe", arguments);
    }
    const std::vector<std::string> words(arguments + 1, arguments + count);
    const std::string name = words.empty() ? "" : words[0];
    const bool sized = name == "transformer" || name == "table" || name == "recurrent";
    if (words.size() != (sized ? 7U : 6U) || (!sized && name != "mlp" && name != "cnn")) {
        std::fputs(
            "bench_training mlp|cnn|transformer|table|recurrent float32|bfloat16 [WIDTH] BATCH EPOCHS REPEAT SEED\n",
            stderr);
        return 2;
    }
    try {
        const auto number = [&](std::size_t from_end) { return std::atoll(words[words.size() - from_end].c_str()); };
        measure(params_of(name, sized ? number(5) : 0), number(4), number(3),
                static_cast<std::uint64_t>(2 * number(2) + number(1)), words[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_training: %s\n", error.what());
        return 1;
    }
}
