#include "worker/training/configuration.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <tuple>
#include <vector>

#include "hpo/batch_size.hpp"
#include "hpo/printable.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "worker/models/registry.hpp"
#include "worker/models/settings.hpp"

namespace hpo {
namespace {

Result<Params> complete(const Params& given) {
    Params all;
    for (const auto& [name, value] : given) {
        const WorkerKey* key = find_worker_key(name);
        if (key == nullptr) return Error{name + ": not a key of the native worker"};
        auto checked = checked_value(*key, value);
        if (!checked) return checked.error();
        all.emplace(name, *std::move(checked));
    }
    for (const WorkerKey& key : worker_keys)
        if (!key.fallback.empty()) all.try_emplace(std::string(key.name), default_value(key));
    // A search may draw the type of the model, and then the keys of all types are given.
    const std::string type = to_text(all.at("type"));
    Params applying;
    for (const auto& [name, value] : all)
        if (applies_with(*find_worker_key(name), "type", type)) applying.emplace(name, value);
    return applying;
}

// By now every key with a default is there, in its own type.
double real(const Params& all, const char* name) { return std::get<double>(all.at(name)); }
std::int64_t whole(const Params& all, const char* name) { return std::get<std::int64_t>(all.at(name)); }
std::string text(const Params& all, const char* name) { return std::get<std::string>(all.at(name)); }

DataConfig data_of(const Params& all) {
    DataConfig data;
    const std::string task = text(all, "task");
    if (task != "auto")
        data.task = task == "regression"    ? Task::regression
                    : task == "multi-label" ? Task::multi_label
                                            : Task::classification;
    data.format = text(all, "format");
    if (all.contains("target")) data.target = text(all, "target");
    if (all.contains("ignore")) data.ignore = text(all, "ignore");
    if (all.contains("categorical")) data.categorical = text(all, "categorical");
    if (all.contains("test")) data.test = real(all, "test");
    if (all.contains("split")) {
        const std::string split = text(all, "split");
        data.split = split == "random"       ? SplitKind::random
                     : split == "stratified" ? SplitKind::stratified
                                             : SplitKind::time;
    }
    if (all.contains("window")) data.window = whole(all, "window");
    data.horizon = whole(all, "horizon");
    if (all.contains("stride")) data.stride = whole(all, "stride");
    if (all.contains("inputs")) data.inputs = text(all, "inputs");
    if (all.contains("labels")) data.labels = text(all, "labels");
    if (all.contains("path")) data.path = text(all, "path");
    data.validation = real(all, "validation");
    if (all.contains("folds")) data.folds = whole(all, "folds");
    if (all.contains("group")) data.group = text(all, "group");
    if (all.contains("subset")) data.subset = whole(all, "subset");
    data.samples = whole(all, "samples");
    data.features = whole(all, "features");
    if (all.contains("steps")) data.steps = whole(all, "steps");
    if (all.contains("vocabulary")) data.vocabulary = whole(all, "vocabulary");
    data.classes = whole(all, "classes");
    data.noise = real(all, "noise");
    const std::string placement = text(all, "placement");
    data.placement = placement == "device"   ? Placement::device
                     : placement == "staged" ? Placement::staged
                     : placement == "files"  ? Placement::files
                                             : Placement::automatic;
    return data;
}

/// Returns the training configuration of a network: trees have none of these keys.
TrainingConfig training_of_network(const Params& all) {
    TrainingConfig training;
    training.batch_size = all.contains("batch_size") ? whole(all, "batch_size") : 0;
    training.accumulation = whole(all, "accumulation");
    training.memory_target = real(all, "memory_target");
    const std::string optimizer = text(all, "optimizer");
    training.optimizer = optimizer == "sgd"    ? OptimizerKind::sgd
                         : optimizer == "lion" ? OptimizerKind::lion
                         : optimizer == "muon" ? OptimizerKind::muon
                                               : OptimizerKind::adamw;
    training.lr = real(all, "lr");
    training.weight_decay = real(all, "weight_decay");
    training.momentum = all.contains("momentum")                    ? real(all, "momentum")
                        : training.optimizer == OptimizerKind::muon ? 0.95
                                                                    : 0.9;
    training.nesterov = std::get<bool>(all.at("nesterov"));
    training.beta1 = real(all, "beta1");
    training.beta2 = all.contains("beta2")                       ? real(all, "beta2")
                     : training.optimizer == OptimizerKind::lion ? 0.99
                                                                 : 0.999;
    training.epsilon = real(all, "epsilon");
    const std::string schedule = text(all, "schedule");
    training.schedule = schedule == "constant"    ? ScheduleKind::constant
                        : schedule == "cosine"    ? ScheduleKind::cosine
                        : schedule == "one-cycle" ? ScheduleKind::one_cycle
                        : schedule == "step"      ? ScheduleKind::step
                        : schedule == "wsd"       ? ScheduleKind::wsd
                                                  : ScheduleKind::plateau;
    training.warmup = real(all, "warmup");
    training.lr_decay = real(all, "lr_decay");
    if (all.contains("lr_decay_every")) training.lr_decay_every = real(all, "lr_decay_every");
    training.lr_patience = whole(all, "lr_patience");
    training.cooldown = real(all, "cooldown");
    training.ema = real(all, "ema");
    training.dropout = real(all, "dropout");
    training.label_smoothing = real(all, "label_smoothing");
    training.clip = real(all, "clip");
    training.eval_every = whole(all, "eval_every");
    if (all.contains("checkpointing")) {
        const std::string checkpointing = text(all, "checkpointing");
        training.checkpointing = checkpointing == "alternate" ? Checkpointing::alternate
                                 : checkpointing == "every"   ? Checkpointing::every
                                                              : Checkpointing::none;
        training.automatic_checkpointing = checkpointing == "auto";
    }
    training.augment_shift = whole(all, "augment_shift");
    training.augment_flip = std::get<bool>(all.at("augment_flip"));
    const std::string precision = text(all, "precision");
    training.measured_precision = precision == "auto";
    for (const Precision one : {Precision::tf32, Precision::bfloat16, Precision::float16})
        if (precision == to_text(one)) training.precision = one;
    return training;
}

Result<void> check_accumulation(const TrainingConfig& training) {
    if (training.accumulation <= training.batch_size) return {};
    return Error{"training.accumulation: " + std::to_string(training.accumulation) +
                 " micro-batches are more than the samples of training.batch_size (" +
                 std::to_string(training.batch_size) + ")"};
}

}  // namespace

std::string to_text(Precision precision) {
    switch (precision) {
        case Precision::tf32:
            return "tf32";
        case Precision::bfloat16:
            return "bfloat16";
        case Precision::float16:
            return "float16";
        default:
            return "float32";
    }
}

Result<Configuration> read_configuration(const Params& given) {
    auto all = complete(given);
    if (!all) return all.error();
    for (const auto& [name, value] : given) {
        Result<void> allowed;
        each_choice(find_worker_key(name)->excludes, [&](std::string_view other) {
            if (given.contains(std::string(other)))
                allowed = Error{name + " and " + std::string(other) + " exclude each other: keep one"};
        });
        if (!allowed) return allowed.error();
    }
    model_kind_of(*all).normalise(given, *all);

    Configuration configuration;
    configuration.data = data_of(*all);
    if (!is_trees(*all)) configuration.training = training_of_network(*all);
    configuration.training.class_metrics = std::get<bool>(all->at("class_metrics"));
    auto weights = parse_class_weights(text(*all, "class_weights"));
    if (!weights) return weights.error();
    configuration.training.class_weights = *std::move(weights);
    if (configuration.training.batch_size > 0)
        if (auto divides = check_accumulation(configuration.training); !divides) return divides.error();
    for (const auto& [name, most, to] : {std::tuple("loader_threads", 64, &configuration.training.loader_threads),
                                         std::tuple("prefetch", 256, &configuration.training.prefetch)}) {
        const std::string given_text = text(*all, name);
        if (given_text == "auto") continue;
        int number = -1;
        const auto read = std::from_chars(given_text.data(), given_text.data() + given_text.size(), number);
        if (read.ec != std::errc{} || read.ptr != given_text.data() + given_text.size() || number < 0 || number > most)
            return Error{"data." + std::string(name) + ": must be auto, or a whole number from 0 to " +
                         std::to_string(most) + ", found " + printable(given_text)};
        *to = number;
    }
    if (all->contains("seed")) configuration.seed = static_cast<std::uint64_t>(whole(*all, "seed"));
    configuration.all = *std::move(all);
    return configuration;
}

Result<void> set_batch_size(Configuration& configuration, const SplitSizes& sizes) {
    TrainingConfig& training = configuration.training;
    if (training.batch_size > 0) return {};
    training.batch_size = std::max<std::int64_t>(1, std::min(auto_batch_size(sizes.epoch()), sizes.least()));
    configuration.all["batch_size"] = training.batch_size;
    return check_accumulation(training);
}

}  // namespace hpo
