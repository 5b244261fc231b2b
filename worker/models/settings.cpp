#include "worker/models/settings.hpp"

#include <cstdlib>

#include "hpo/worker_keys.hpp"

namespace hpo {
namespace {

const Value* find(const Params& params, std::string_view name) {
    const auto found = params.find(std::string(name));
    return found == params.end() ? nullptr : &found->second;
}

const WorkerKey& row(std::string_view name) {
    const WorkerKey* key = find_worker_key(name);
    if (!key) throw Fatal("no such worker key: " + std::string(name));
    return *key;
}

Error refused(const WorkerKey& key, const Value& value, const std::string& wanted) {
    return Error{std::string(key.name) + ": " + to_text(value) + " is not " + wanted};
}

bool inside(const WorkerKey& key, std::int64_t number) {
    return static_cast<double>(number) >= key.low && static_cast<double>(number) <= key.high;
}

std::string range(const WorkerKey& key) {
    return "from " + std::to_string(static_cast<std::int64_t>(key.low)) + " to " +
           std::to_string(static_cast<std::int64_t>(key.high));
}

bool has_word(std::string_view words, std::string_view word) {
    while (true) {
        const auto bar = words.find('|');
        if (words.substr(0, bar) == word) return true;
        if (bar == std::string_view::npos) return false;
        words.remove_prefix(bar + 1);
    }
}

}  // namespace

Result<std::int64_t> integer_setting(const Params& params, std::string_view name) {
    const WorkerKey& key = row(name);
    const Value* value = find(params, name);
    if (!value) return std::strtoll(std::string(key.fallback).c_str(), nullptr, 10);
    const auto* number = std::get_if<std::int64_t>(value);
    if (!number || !inside(key, *number)) return refused(key, *value, "a whole number " + range(key));
    return *number;
}

Result<std::string> text_setting(const Params& params, std::string_view name) {
    const WorkerKey& key = row(name);
    const Value* value = find(params, name);
    if (!value) return std::string(key.fallback);
    const auto* text = std::get_if<std::string>(value);
    if (!text || !has_word(key.choices, *text)) return refused(key, *value, "one of " + std::string(key.choices));
    return *text;
}

Result<std::vector<std::int64_t>> list_setting(const Params& params, std::string_view name) {
    const WorkerKey& key = row(name);
    const Value* value = find(params, name);
    if (!value) return std::vector<std::int64_t>{};
    const auto* list = std::get_if<std::vector<std::int64_t>>(value);
    if (!list) return refused(key, *value, "a list of whole numbers");
    for (auto item : *list)
        if (!inside(key, item)) return refused(key, *value, "a list of whole numbers " + range(key));
    return *list;
}

}  // namespace hpo
