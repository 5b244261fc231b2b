#include "worker/training/precision.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "hpo/worker_key_defaults.hpp"
#include "worker/data/memory.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/fusion.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr int steps = 3;             // of the short training; the first is not timed: code is loaded and recorded in it
constexpr double worth = 1.1;        // times as fast
constexpr double equal_loss = 1.02;  // times as high

/// Returns the iterations of a step of the short training: about 8,192 samples, so that measuring costs a small part of
/// an epoch for every batch size.
std::int64_t iterations_for(std::int64_t batch) {
    return std::clamp<std::int64_t>(8192 / std::max<std::int64_t>(batch, 1), 4, 32);
}

/// The key of a choice: the keys that the speed of an update depends on. Trials of one bucket share a choice: a search
/// draws a new batch size and new widths for almost every trial, and measuring each of them would cost more than it
/// gains.
std::string choice_key(const Configuration& configuration, const Device& device) {
    return "precision 4\n" + device.name() + "\n" + speed_key(bucket_of(configuration));
}

std::optional<Precision> named(const std::string& name) {
    for (const Precision one : auto_precisions)
        if (name == to_text(one)) return one;
    return std::nullopt;
}

/// Trains one replica from the beginning for a few iterations, at a learning rate that suits any model: a search also
/// draws rates at which training is chaotic, and there two losses differ however well the products agree.
PrecisionRun short_training(Configuration configuration, Precision precision, Device& device, const DeviceData& data,
                            const Clock& clock, const ShouldContinue& should_continue) {
    configuration.training.precision = precision;
    configuration.training.lr = default_number("lr");
    configuration.training.warmup = 0;
    // A bucket's batch may be larger than the training split.
    const std::int64_t batch = std::min(configuration.training.batch_size, data.sizes.least());
    const std::int64_t iterations = iterations_for(batch);
    configuration.training.batch_size = batch;
    configuration.training.eval_every = iterations;
    auto plan = plan_group(configuration, data.shape, data.sizes, 1);
    if (!plan) throw Fatal(plan.error().message);
    auto arena = device.allocate(plan->arena.bytes);
    if (!arena) throw OutOfMemory("measuring " + to_text(precision) + ": " + arena.error().message);
    const ReplicaSpec replica{configuration.training, 1};
    Trainer trainer(device, **arena, *std::move(plan), data, {&replica, 1}, steps, clock);
    PrecisionRun run{precision, steps * iterations, 0, std::nan("")};
    double seconds = 0;
    for (int step = 0; step < steps; ++step) {
        if (!trainer.train_step(should_continue)) return run;
        if (step > 0) seconds += trainer.step_seconds_of(0);
    }
    if (!trainer.evaluate_validation(should_continue)) return run;
    run.validation_loss = trainer.evaluation_of(0).loss;
    if (seconds > 0) run.iterations_per_second = static_cast<double>((steps - 1) * iterations) / seconds;
    return run;
}

std::string choice_line(const PrecisionRun& wide, const PrecisionRun& narrow, Precision taken) {
    std::array<char, 256> text{};
    std::snprintf(
        text.data(), text.size(),
        "precision auto: %s; here %s is %.2f times as fast as float32, its validation loss after %lld updates "
        "%.4f (float32: %.4f)",
        to_text(taken).c_str(), to_text(narrow.precision).c_str(),
        narrow.iterations_per_second / std::max(wide.iterations_per_second, 1e-9),
        static_cast<long long>(narrow.updates), narrow.validation_loss, wide.validation_loss);
    return text.data();
}

}  // namespace

Configuration with_precision(Configuration configuration, Precision precision) {
    configuration.training.precision = precision;
    configuration.training.measured_precision = false;
    configuration.all["precision"] = to_text(precision);
    return configuration;
}

fs::path PrecisionChoices::file_of(const std::string& key) const {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "precision-%016llx",
                  static_cast<unsigned long long>(checkpoint_binding(key)));
    return folder_ / name.data();
}

Precision better_precision(const PrecisionRun& float32, const PrecisionRun& narrow) {
    const bool faster = narrow.iterations_per_second > worth * float32.iterations_per_second;
    // This is false for a loss that is not a number.
    const bool as_good = narrow.validation_loss <= equal_loss * float32.validation_loss;
    return faster && as_good ? narrow.precision : Precision::float32;
}

std::optional<Precision> narrow_precision(const Device& device) {
    for (const Precision one : {Precision::bfloat16, Precision::float16})
        if (device.computes_in(one)) return one;
    return std::nullopt;
}

std::optional<Precision> PrecisionChoices::known(const std::string& key) {
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (folder_.empty()) return std::nullopt;
    std::ifstream in(file_of(key));
    std::string name;
    if (!(in >> name)) return std::nullopt;
    const auto precision = named(name);
    if (precision) known_[key] = *precision;
    return precision;
}

void PrecisionChoices::keep(const std::string& key, Precision precision) {
    known_[key] = precision;
    if (folder_.empty()) return;
    const fs::path file = file_of(key);
    std::error_code failed;
    fs::create_directories(folder_, failed);
    const fs::path temporary = file.string() + "." + std::to_string(getpid());
    std::ofstream out(temporary);
    out << to_text(precision) << "\n" << key << "\n";
    out.close();
    if (out) fs::rename(temporary, file, failed);
    if (!out || failed) fs::remove(temporary, failed);  // the next worker measures again
}

Result<Configuration> PrecisionChoices::resolve(Configuration configuration, const Device& device) {
    const TrainingConfig& training = configuration.training;
    if (!training.measured_precision) {
        if (const auto can = device.computes_in(training.precision); !can)
            return Error{"training.precision: " + can.error().message};
        return configuration;
    }
    const auto narrow = narrow_precision(device);
    if (!narrow) return with_precision(std::move(configuration), Precision::float32);
    if (const auto choice = known(choice_key(configuration, device)))
        return with_precision(std::move(configuration), *choice);
    configuration.training.precision = *narrow;
    return configuration;
}

Result<Configuration> PrecisionChoices::measure(Configuration configuration, Device& device, const DeviceData& data,
                                                const Clock& clock, const ShouldContinue& should_continue,
                                                std::string& line) {
    auto resolved = resolve(std::move(configuration), device);
    if (!resolved || !resolved->training.measured_precision) return resolved;
    const Precision narrow = resolved->training.precision;
    const PrecisionRun wide_run = short_training(*resolved, Precision::float32, device, data, clock, should_continue);
    const PrecisionRun narrow_run = short_training(*resolved, narrow, device, data, clock, should_continue);
    const Precision taken = better_precision(wide_run, narrow_run);
    line = choice_line(wide_run, narrow_run, taken);
    keep(choice_key(*resolved, device), taken);
    return with_precision(*std::move(resolved), taken);
}

}  // namespace hpo
