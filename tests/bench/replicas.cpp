// The speed of K fused trials in one process, measured with the worker's trainer and K replicas.
//
//     bench_replicas BACKEND BATCH HIDDEN SECONDS [bucket|padded] K...
//     bench_replicas cuda 32 512,256,128 5 1 4 16 64 256
//     bench_replicas cuda 1024 512,512 5 padded 1 4 16 64
//
// The data is synthetic, in the shape of MNIST. Prints a line for each K: updates per second of the group and of all
// its trials together, the ratio to the first K, launches per update, the device's bytes, and the loss of the first
// replica, which must not depend on K.
//
// bucket: the replicas are alike, and each is padded to its bucket (fusion.hpp), as in a worker with several slots. The
// tuning that a worker measures on a GPU before its first trial (tuning.hpp) is used here too, unless HPO_TUNING is
// `off`. padded: the replicas' batches and widths are spread evenly from the smallest of the bucket of BATCH and HIDDEN
// up to these, each is padded to the bucket, and every third one uses SGD. `times` is then the time of a round of
// updates with these trials unpadded and one after the other, divided by its time with the trials fused.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "hpo/user_cache.hpp"
#include "worker/backends/backends.hpp"
#include "worker/calibration.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/tuning.hpp"
#include "worker/training/worker_context.hpp"

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
    bool padded;
    Fusion fusion;
};

struct Measured {
    double updates = 0;   ///< updates per second of the group
    double launches = 0;  ///< launches per update
    std::size_t bytes = 0;
    double loss = 0;  ///< the loss of the first replica's first step
};

Configuration configuration_of(const Setting& setting, std::int64_t batch, std::vector<std::int64_t> hidden,
                               const char* optimizer = "adamw") {
    return checked(read_configuration({{"format", std::string("synthetic")},
                                       {"samples", std::max<std::int64_t>(16384, 2 * setting.batch)},
                                       {"features", std::int64_t{784}},
                                       {"classes", std::int64_t{10}},
                                       {"hidden", std::move(hidden)},
                                       {"dropout", 0.1},
                                       {"batch_size", batch},
                                       {"optimizer", std::string(optimizer)},
                                       {"eval_every", std::int64_t{64}},
                                       {"schedule", std::string("constant")}}));
}

Configuration configuration_of(const Setting& setting) {
    return configuration_of(setting, setting.batch, setting.hidden);
}

/// Returns the smallest extent that is padded to the same as `extent`.
std::int64_t least_padded_alike(std::int64_t extent, const PaddingBounds& bounds) {
    std::int64_t least = extent;
    while (least > 1 && padded_extent(least - 1, bounds) == padded_extent(extent, bounds)) --least;
    return least;
}

/// Returns the parameters of K replicas: all alike, or spread from the smallest of a bucket to the largest, which is
/// the last.
std::vector<Configuration> replicas_of(const Setting& setting, int replicas, const BucketBounds& bounds) {
    std::vector<Configuration> all;
    for (int k = 1; k <= replicas; ++k) {
        if (!setting.padded) {
            all.push_back(configuration_of(setting));
            continue;
        }
        const auto part = [&](std::int64_t extent, const PaddingBounds& of) {
            const std::int64_t least = least_padded_alike(extent, of);
            return least + (extent - least) * k / replicas;
        };
        std::vector<std::int64_t> hidden;
        for (const std::int64_t width : setting.hidden) hidden.push_back(part(width, bounds.widths));
        all.push_back(configuration_of(setting, part(setting.batch, bounds.batches), std::move(hidden),
                                       k % 3 == 0 ? "sgd" : "adamw"));
    }
    return all;
}

Measured measure(WorkerContext& context, const DeviceData& data, const std::vector<Configuration>& trials,
                 Fusion fusion, double most_seconds) {
    Device& device = context.device;
    context.slots = fusion == Fusion::padded ? max_replicas : 1;
    const auto replicas = static_cast<int>(trials.size());
    const SplitSizes sizes = checked(split_sizes(trials[0].data, data.shape.train));
    const Configuration laid_out = resolve_auto(context, layout_configuration(context, trials.back()));
    GroupPlan plan = checked(plan_group(laid_out, data.shape, sizes, replicas, fusion));
    const std::size_t bytes = plan.arena.bytes + device.stream_bytes(replicas);
    const auto arena = checked(device.allocate(plan.arena.bytes));
    std::vector<GroupPlan> own;
    std::vector<ReplicaSpec> specs;
    for (const Configuration& trial : trials) {
        if (trial.training.batch_size > laid_out.training.batch_size) throw Fatal("the trials are not of one bucket");
        own.push_back(checked(plan_group(trial, data.shape, sizes, 1)));
        specs.push_back({trial.training, static_cast<std::uint64_t>(specs.size() + 1), own.back().model.get()});
    }
    Trainer trainer(device, *arena, std::move(plan), data, specs, 1000, context.clock);
    const ShouldContinue always = [] { return true; };
    trainer.train_step(always);  // the first step, which also compiles and tunes
    const double loss = trainer.step_of(0).loss;
    double seconds = 0;
    double updates = 0;
    const std::uint64_t before = device.launches();
    while (seconds < most_seconds) {
        trainer.train_step(always);
        seconds += trainer.step_seconds_of(0);
        updates += static_cast<double>(trials[0].training.eval_every);
    }
    return {updates / seconds, static_cast<double>(device.launches() - before) / updates, bytes, loss};
}

void table(const std::string& backend, const Setting& setting, const std::vector<int>& replicas) {
    const auto device = checked(make_device({backend, {}}));
    const SteadyClock clock;
    WorkerContext context{*device, clock, 0, 1, {}, {}, {}};
    const char* tuning = std::getenv("HPO_TUNING");
    if (device->slots() > 1 && (!tuning || std::string_view(tuning) != "off"))
        context.tuning = kept_tuning(user_cache(), identity_of(*device), "", [&] {
                             return find_tuning(times_on(*device, clock));
                         }).tuning;
    std::printf("%s, batch %lld\n", device->name().c_str(), static_cast<long long>(setting.batch));
    std::printf("%8s %14s %14s %8s %10s %10s %12s\n", "K", "updates/s", "trials' it/s", "times", "launches", "MiB",
                "loss");
    const auto data = checked(load_to_device(*device, configuration_of(setting).data, 1));
    double first = 0;
    for (const int k : replicas) {
        const auto trials = replicas_of(setting, k, context.tuning.buckets);
        const Measured one = measure(context, *data, trials, setting.fusion, setting.seconds);
        if (first == 0) first = one.updates * k;
        double times = one.updates * k / first;
        if (setting.padded) {
            double alone = 0;
            for (const Configuration& trial : trials)
                alone += 1 / measure(context, *data, {trial}, Fusion::identical, setting.seconds / k).updates;
            times = alone * one.updates;
        }
        std::printf("%8d %14.1f %14.1f %8.2f %10.1f %10.1f %12.7f\n", k, one.updates, one.updates * k, times,
                    one.launches, static_cast<double>(one.bytes) / (1 << 20), one.loss);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 6) {
        std::fputs("bench_replicas BACKEND BATCH HIDDEN SECONDS [bucket|padded] K...\n", stderr);
        return 2;
    }
    try {
        const std::string how = arguments[5];
        const bool padded = how == "padded", in_bucket = how == "bucket" || padded;
        std::vector<int> replicas;
        for (int i = in_bucket ? 6 : 5; i < count; ++i) replicas.push_back(std::atoi(arguments[i]));
        table(arguments[1],
              {std::atoll(arguments[2]), numbers(arguments[3]), std::atof(arguments[4]), padded,
               in_bucket ? Fusion::padded : Fusion::identical},
              replicas);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_replicas: %s\n", error.what());
        return 1;
    }
}
