#include "worker/models/settings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "hpo/tasks.hpp"

namespace hpo {
namespace {

std::string full_name(const WorkerKey& key) {
    return key.section.empty() ? std::string(key.name) : std::string(key.section) + "." + std::string(key.name);
}

std::string range_text(const WorkerKey& key) {
    if (key.type == WorkerKey::Type::real) return to_text(key.low) + " to " + to_text(key.high);
    return std::to_string(static_cast<std::int64_t>(key.low)) + " to " +
           std::to_string(static_cast<std::int64_t>(key.high));
}

Error wrong(const WorkerKey& key, const Value& value, const std::string& expected) {
    return {full_name(key) + ": " + to_text(value) + " is not " + expected};
}

/// A whole number, which may have been given as 256.0.
std::optional<std::int64_t> as_integer(const Value& value) {
    const double number = number_or(value, std::nan(""));
    if (!(std::abs(number) <= 0x1p53) || number != std::floor(number)) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

}  // namespace

Result<Value> checked_value(const WorkerKey& key, const Value& value) {
    const auto inside = [&](double number) { return number >= key.low && number <= key.high; };
    switch (key.type) {
        case WorkerKey::Type::integer: {
            const auto number = as_integer(value);
            if (!number || !inside(static_cast<double>(*number)))
                return wrong(key, value, "a whole number from " + range_text(key));
            return Value{*number};
        }
        case WorkerKey::Type::real: {
            const double number = number_or(value, std::nan(""));
            if (!std::isfinite(number) || !inside(number)) return wrong(key, value, "a number from " + range_text(key));
            return Value{number};
        }
        case WorkerKey::Type::text: {
            const auto* word = std::get_if<std::string>(&value);
            if (key.name == "task" && word != nullptr && present_task(*word) != *word)  // of an earlier model's file
                return Value{std::string(present_task(*word))};
            if (word == nullptr && key.choices.empty()) return wrong(key, value, "a text");
            if (!key.choices.empty() && (word == nullptr || !has_choice(key.choices, *word)))
                return wrong(key, value, "one of " + std::string(key.choices));
            return value;
        }
        case WorkerKey::Type::flag:
            if (!std::holds_alternative<bool>(value)) return wrong(key, value, "true or false");
            return value;
        case WorkerKey::Type::list: {
            const auto* list = std::get_if<std::vector<std::int64_t>>(&value);
            if (list == nullptr || list->size() > 64 || !std::all_of(list->begin(), list->end(), inside))
                return wrong(key, value, "a list of at most 64 whole numbers from " + range_text(key));
            return value;
        }
    }
    return value;
}

namespace {

/// The checked value of a key, or its default.
template <class T>
Result<T> setting(const Params& params, std::string_view name, const T* otherwise = nullptr) {
    const WorkerKey* key = find_worker_key(name);
    if (!key) throw Fatal("no such worker key: " + std::string(name));
    const auto found = params.find(std::string(name));
    if (found == params.end()) return otherwise ? *otherwise : std::get<T>(default_value(*key));
    auto checked = checked_value(*key, found->second);
    if (!checked) return checked.error();
    return std::get<T>(*std::move(checked));
}

}  // namespace

Result<std::int64_t> integer_setting(const Params& params, std::string_view name) {
    return setting<std::int64_t>(params, name);
}

Result<double> real_setting(const Params& params, std::string_view name) { return setting<double>(params, name); }

Result<bool> flag_setting(const Params& params, std::string_view name) { return setting<bool>(params, name); }

Result<std::string> text_setting(const Params& params, std::string_view name) {
    return setting<std::string>(params, name);
}

Result<std::vector<std::int64_t>> list_setting(const Params& params, std::string_view name) {
    const std::vector<std::int64_t> none;
    return setting(params, name, &none);
}

Result<std::int64_t> base_width_setting(const Params& params) {
    const auto parametrization = text_setting(params, "parametrization");
    if (!parametrization) return parametrization.error();
    if (*parametrization != "mup") return std::int64_t{0};
    if (!params.contains("base_width"))
        return Error{
            "model.base_width: parametrization: mup needs it: the width at which it is the standard one, such "
            "as that of a search on small models"};
    return integer_setting(params, "base_width");
}

std::string wrong_samples(const SampleShape& samples) {
    return std::visit(
        Overloaded{
            [](const VectorShape&) { return ", and these samples are rows: use type: mlp"; },
            [](const ImageShape&) { return ", and these samples are images: use type: cnn or mlp"; },
            [](const SequenceShape&) {
                return ", and these samples are sequences of numbers: use type: transformer, gru, "
                       "lstm or mlp; arrays of images need channels, (n, height, width, channels)";
            },
            [](const TokenShape&) { return ", and these samples are tokens: use type: transformer, gru or lstm"; }},
        samples);
}

Activation activation_of(std::string_view name) {
    return name == "gelu" ? Activation::gelu : name == "silu" ? Activation::silu : Activation::relu;
}

Result<Activation> activation_setting(const Params& params) {
    const auto name = text_setting(params, "activation");
    if (!name) return name.error();
    if (*name == "swiglu") return Error{"model.activation: swiglu is for type: transformer: use relu, gelu or silu"};
    return activation_of(*name);
}

}  // namespace hpo
