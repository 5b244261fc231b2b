#include "worker/training/fusion.hpp"

#include "hpo/worker_key_defaults.hpp"
#include "worker/models/registry.hpp"

namespace hpo {

Configuration bucket_of(Configuration configuration, const BucketBounds& bounds) {
    TrainingConfig& training = configuration.training;
    // Padding rows would count in the statistics of a batch.
    const auto norm = configuration.all.find("norm");
    if (norm == configuration.all.end() || to_text(norm->second) != "batch")
        training.batch_size = padded_extent(training.batch_size, bounds.batches);
    const bool muon = training.optimizer == OptimizerKind::muon;  // its trials share a worker with none of the others
    if (!muon) training.optimizer = OptimizerKind::adamw;
    // This rate suits the optimizer; measurements train the bucket itself.
    training.lr = default_number("lr");
    training.eval_every = 0;
    Params& all = configuration.all;
    all["batch_size"] = training.batch_size;
    all["optimizer"] = std::string(muon ? "muon" : "adamw");
    all["eval_every"] = std::int64_t{0};
    model_kind_of(all).pad(all, bounds.widths);
    return configuration;
}

std::string fusion_key(const Configuration& laid_out, std::uint64_t data_seed) {
    std::string text = "data_seed=" + std::to_string(data_seed);
    for (const auto& [key, value] : laid_out.all)
        if (!find_worker_key(key)->per_replica) text += ' ' + key + '=' + to_text(value);
    return text;
}

std::string speed_key(const Configuration& configuration) {
    std::string text;
    for (const auto& [name, value] : configuration.all) {
        const WorkerKey& key = *find_worker_key(name);
        if (key.changes_speed && !key.per_replica) text += ' ' + name + '=' + to_text(value);
    }
    return text;
}

}  // namespace hpo
