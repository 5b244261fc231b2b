#include "worker/training/configuration.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "hpo/worker_keys.hpp"

namespace hpo {
namespace {

using KeyType = WorkerKey::Type;

std::string full_name(const WorkerKey& key) {
    return key.section.empty() ? std::string(key.name) : std::string(key.section) + "." + std::string(key.name);
}

bool is_word_of(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const auto end = words.find('|');
        if (words.substr(0, end) == word) return true;
        if (end == std::string_view::npos) break;
        words.remove_prefix(end + 1);
    }
    return false;
}

std::string range_text(const WorkerKey& key) {
    if (key.type == KeyType::real) return to_text(key.low) + " to " + to_text(key.high);
    return std::to_string(static_cast<std::int64_t>(key.low)) + " to " +
           std::to_string(static_cast<std::int64_t>(key.high));
}

Error wrong(const WorkerKey& key, const Value& value, const std::string& expected) {
    return {full_name(key) + ": " + to_text(value) + " is not " + expected};
}

/// A whole number, also when it came as 256.0.
std::optional<std::int64_t> as_integer(const Value& value) {
    const double number = number_or(value, std::nan(""));
    if (!(std::abs(number) <= 0x1p53) || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

/// The value in the key's own type, or what is wrong with it.
Result<Value> check(const WorkerKey& key, const Value& value) {
    const auto inside = [&](double number) { return number >= key.low && number <= key.high; };
    switch (key.type) {
        case KeyType::integer: {
            const auto number = as_integer(value);
            if (!number || !inside(static_cast<double>(*number)))
                return wrong(key, value, "a whole number from " + range_text(key));
            return Value{*number};
        }
        case KeyType::real: {
            const double number = number_or(value, std::nan(""));
            if (!std::isfinite(number) || !inside(number)) return wrong(key, value, "a number from " + range_text(key));
            return Value{number};
        }
        case KeyType::text: {
            const auto* word = std::get_if<std::string>(&value);
            if (word == nullptr) return wrong(key, value, "a word");
            if (!key.choices.empty() && !is_word_of(key.choices, *word))
                return wrong(key, value, "one of " + std::string(key.choices));
            return value;
        }
        case KeyType::flag:
            if (!std::holds_alternative<bool>(value)) return wrong(key, value, "true or false");
            return value;
        case KeyType::list: {
            const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
            if (list == nullptr || list->size() > 64 || !std::all_of(list->begin(), list->end(), inside))
                return wrong(key, value, "a list of at most 64 whole numbers from " + range_text(key));
            return value;
        }
    }
    return value;
}

/// The table's default, as YAML writes it.
Value fallback_of(const WorkerKey& key) {
    const std::string_view text = key.fallback;
    switch (key.type) {
        case KeyType::integer: {
            std::int64_t number = 0;
            std::from_chars(text.data(), text.data() + text.size(), number);
            return number;
        }
        case KeyType::real: {
            double number = 0;
            std::from_chars(text.data(), text.data() + text.size(), number);
            return number;
        }
        case KeyType::flag:
            return text == "true";
        case KeyType::text:
        case KeyType::list:
            break;
    }
    return std::string(text);
}

Result<Params> complete(const Params& given) {
    Params all;
    for (const auto& [name, value] : given) {
        const WorkerKey* key = find_worker_key(name);
        if (key == nullptr) return Error{name + ": not a key of the native worker"};
        auto checked = check(*key, value);
        if (!checked) return checked.error();
        all.emplace(name, *std::move(checked));
    }
    for (const WorkerKey& key : worker_keys)
        if (!key.fallback.empty()) all.try_emplace(std::string(key.name), fallback_of(key));
    return all;
}

// By now every key with a default is there, in its own type.
double real(const Params& all, const char* name) { return std::get<double>(all.at(name)); }
std::int64_t whole(const Params& all, const char* name) { return std::get<std::int64_t>(all.at(name)); }
std::string text(const Params& all, const char* name) { return std::get<std::string>(all.at(name)); }

DataConfig data_of(const Params& all) {
    DataConfig data;
    data.format = text(all, "format");
    if (all.contains("path")) data.path = text(all, "path");
    data.validation = real(all, "validation");
    if (all.contains("subset")) data.subset = whole(all, "subset");
    data.samples = whole(all, "samples");
    data.features = whole(all, "features");
    data.classes = whole(all, "classes");
    data.noise = real(all, "noise");
    const std::string placement = text(all, "placement");
    data.placement = placement == "device"   ? Placement::device
                     : placement == "staged" ? Placement::staged
                                             : Placement::automatic;
    return data;
}

TrainingConfig training_of(const Params& all) {
    TrainingConfig training;
    training.batch_size = whole(all, "batch_size");
    training.accumulation = whole(all, "accumulation");
    training.memory_target = real(all, "memory_target");
    training.optimizer = text(all, "optimizer") == "sgd" ? OptimizerKind::sgd : OptimizerKind::adamw;
    training.lr = real(all, "lr");
    training.weight_decay = real(all, "weight_decay");
    training.momentum = real(all, "momentum");
    training.nesterov = std::get<bool>(all.at("nesterov"));
    training.beta1 = real(all, "beta1");
    training.beta2 = real(all, "beta2");
    training.epsilon = real(all, "epsilon");
    const std::string schedule = text(all, "schedule");
    training.schedule = schedule == "constant" ? ScheduleKind::constant
                        : schedule == "cosine" ? ScheduleKind::cosine
                                               : ScheduleKind::one_cycle;
    training.warmup = real(all, "warmup");
    training.dropout = real(all, "dropout");
    training.label_smoothing = real(all, "label_smoothing");
    training.clip = real(all, "clip");
    training.eval_every = whole(all, "eval_every");
    training.augment_shift = whole(all, "augment_shift");
    training.augment_flip = std::get<bool>(all.at("augment_flip"));
    const std::string precision = text(all, "precision");
    training.measured_precision = precision == "auto";
    for (const Precision one : {Precision::tf32, Precision::bfloat16, Precision::float16})
        if (precision == to_text(one)) training.precision = one;
    return training;
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
    for (const char* other : {"width", "depth"})
        if (given.contains("hidden") && given.contains(other))
            return Error{std::string("model.hidden: cannot stand beside model.") + other};

    if (!given.contains("hidden"))
        (*all)["hidden"] =
            std::vector<std::int64_t>(static_cast<std::size_t>(whole(*all, "depth")), whole(*all, "width"));
    all->erase("width");
    all->erase("depth");

    Configuration configuration;
    configuration.data = data_of(*all);
    configuration.training = training_of(*all);
    if (configuration.training.accumulation > configuration.training.batch_size)
        return Error{"training.accumulation: " + std::to_string(configuration.training.accumulation) +
                     " micro-batches are more than the samples of training.batch_size (" +
                     std::to_string(configuration.training.batch_size) + ")"};
    if (all->contains("seed")) configuration.seed = static_cast<std::uint64_t>(whole(*all, "seed"));
    configuration.all = *std::move(all);
    return configuration;
}

}  // namespace hpo
