#include "orchestrator/script/syntax/metric_name.hpp"

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

string metric_name_of(string_view name) {
    string fit;
    for (const char c : name) {
        const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;  // a character of UTF-8
        const bool is_kept = is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '/';
        if (!continues) fit += is_kept ? c : '_';
    }
    if (!fit.empty() && !is_letter(fit.front())) fit.insert(0, 1, '_');
    return fit.substr(0, max_name_bytes);
}

void add(Metrics& metrics, const string& name, double number) {
    if (name.empty()) return;
    const auto found = metrics.find(name);
    if (found != metrics.end())
        found->second = number;
    else if (metrics.size() < max_metrics)
        metrics.emplace(name, number);
}

}  // namespace hpo::script
