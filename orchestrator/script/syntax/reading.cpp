#include <algorithm>

#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/metrics.hpp"

namespace hpo::script {

NamedNumber* Reading::find(std::string_view name) {
    const auto found =
        std::find_if(metrics.begin(), metrics.end(), [&](const NamedNumber& one) { return one.name == name; });
    return found == metrics.end() ? nullptr : &*found;
}

void Reading::add(std::string_view name, double number, std::string_view bare) {
    std::string full = name_of(name);
    if (name.size() > max_name_bytes && too_long.empty()) too_long = name;
    if (full.empty() || find(full) != nullptr) return;
    if (metrics.size() >= max_line_metrics) {
        if (beyond.empty()) beyond = full;
        return;
    }
    std::string short_name = bare.empty() ? full : name_of(bare);
    metrics.push_back({.name = std::move(full), .bare = std::move(short_name), .number = number});
}

void Reading::set(std::string_view name, double number) {
    const std::string full = name_of(name);
    if (NamedNumber* found = find(full))
        found->number = number;
    else
        add(full, number);
}

}  // namespace hpo::script
