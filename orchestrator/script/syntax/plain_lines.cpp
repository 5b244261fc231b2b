// Reads metrics from lines of output in the forms that scripts commonly print.
#include "orchestrator/script/syntax/json_metrics.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr string_view tune_metric = "[tune-metric]:";

/// Returns the position at which the name begins that ends at `end`.
std::size_t begin_of_name(string_view line, std::size_t end) {
    while (end > 0 && is_name_byte(line[end - 1])) --end;
    return end;
}

/// Reads name=0.3 and name = 0.3.
void add_assigned(string_view line, std::size_t sign, Metrics& metrics) {
    std::size_t end = sign;
    while (end > 0 && line[end - 1] == ' ') --end;
    const std::size_t begin = begin_of_name(line, end);
    string_view value = line.substr(sign + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (const auto number = leading_number(value)) add(metrics, line.substr(begin, end - begin), number->first);
}

/// Reads name: 0.3, 'name': 0.3 and name:0.3 (but not cuda:0). Words before a plain name are a part of it: in "val
/// loss: 0.3" the name is val_loss, not loss.
void add_after_colon(string_view line, std::size_t colon, Metrics& metrics) {
    string_view value = line.substr(colon + 1);
    const bool apart = value.starts_with(' ') || value.starts_with('\t');
    while (value.starts_with(' ') || value.starts_with('\t')) value.remove_prefix(1);
    const auto number = leading_number(value);
    if (!number) return;
    if (!apart && value.substr(0, number->second).find_first_not_of("+-0123456789") == string_view::npos) return;
    const bool quoted = colon > 0 && (line[colon - 1] == '\'' || line[colon - 1] == '"');
    const std::size_t end = quoted ? colon - 1 : colon;
    std::size_t begin = begin_of_name(line, end);
    string name(line.substr(begin, end - begin));
    const bool plain = !quoted && name.find_first_of("_/.-") == string::npos;
    while (plain && begin > 1 && line[begin - 1] == ' ' && name.size() <= max_name_bytes) {
        const std::size_t before = begin_of_name(line, begin - 1);
        const string_view word = line.substr(before, begin - 1 - before);
        if (!is_name(word)) break;
        name.insert(0, string(word) + '_');
        begin = before;
    }
    add(metrics, name, number->first);
}

/// Reads lines such as "epoch 3 loss 0.5": names of up to three words, each followed by a number, and nothing else.
void add_pairs(string_view line, Metrics& metrics) {
    constexpr string_view separators = " \t\r,;|()[]:";
    constexpr std::size_t max_words = 3;
    Metrics found;
    string name;
    std::size_t words = 0;
    while (!line.empty()) {
        const char first = line.front();
        if (separators.find(first) != string_view::npos) {
            line.remove_prefix(1);
            if (words == 0 || first == ' ' || first == '\t' || first == '\r') continue;
            if (first != ':') return;  // words without a number
            name.clear(), words = 0;   // a label: "test set: loss 0.5"
            continue;
        }
        const auto end = line.find_first_of(" \t\r,;|()[]");
        string_view token = line.substr(0, end);
        line.remove_prefix(token.size());
        const bool label = token.size() > 1 && token.ends_with(':');
        if (label) token.remove_suffix(1);
        const auto number = leading_number(token);
        if (number && words > 0 && (number->second == token.size() || token.substr(number->second) == "%")) {
            add(found, name, number->first);
            name.clear(), words = 0;
        } else if (is_name(token)) {
            if (++words > max_words) return;
            name += (words > 1 ? "_" : "") + string(token);
            if (label) name.clear(), words = 0;
        } else if (is_digit(token.front()) || (token.size() > 1 && is_digit(token[1]))) {
            name.clear(), words = 0;  // not a metric's value: 3/10, 12ms, #5, 2024-05-01
        } else if (words > 0) {
            return;
        }
    }
    if (words > 0) return;
    for (const auto& [known, value] : found) add(metrics, known, value);
}

class PlainReader final : public LineReader {
   public:
    void read(string_view line, Metrics& metrics) override {
        if (const auto at = line.find(tune_metric); at != string_view::npos) {
            add_json(line.substr(at + tune_metric.size()), metrics);
            return;
        }
        if (trim(line).starts_with('{') && add_json(line, metrics)) return;
        const std::size_t before = metrics.size();
        for (auto at = line.find_first_of("=:"); at != string_view::npos; at = line.find_first_of("=:", at + 1))
            line[at] == '=' ? add_assigned(line, at, metrics) : add_after_colon(line, at, metrics);
        if (metrics.size() == before) add_pairs(line, metrics);
    }
};

}  // namespace

Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<string>& patterns) {
    if (patterns.empty()) return std::unique_ptr<LineReader>(std::make_unique<PlainReader>());
    return make_pattern_reader(patterns);
}

}  // namespace hpo::script
