#include "orchestrator/script/syntax/metric_groups.hpp"

namespace hpo::script {

bool MetricGroups::read_several(std::size_t at) {
    const auto [names, slashes] = names_in(words_);
    if (names.empty()) return false;
    std::vector<double> numbers;
    const std::size_t end = numbers_at(at, slashes, numbers);
    if (numbers.size() != names.size()) return false;
    const string label = metrics_.label();
    for (std::size_t i = 0; i < names.size(); ++i) {
        metrics_.add({names[i], qualifier_, numbers[i]});
        metrics_.label_again(label);
    }
    words_.clear();
    qualifier_.clear();
    at_ = end;
    return true;
}

bool MetricGroups::read_phases(std::size_t at) {
    const std::size_t end = phases_end(at);
    if (end == at) return false;
    for (; at + 4 < end; at += 4) metrics_.add({words_, string(tokens_[at + 1].text), tokens_[at + 3].number});
    words_.clear();
    at_ = end;
    return true;
}

bool MetricGroups::read_tuple() {
    constexpr std::size_t most_names = 12;
    std::vector<Words> names;
    std::size_t at = at_;
    do {
        names.emplace_back();
        for (++at; is(at, Kind::word); ++at) names.back().push_back(tokens_[at].text);
    } while (!names.back().empty() && is(at, Kind::comma) && names.size() < most_names);
    if (!is(at, Kind::close, ")") || !is_separator(at + 1) || !is(at + 2, Kind::open, "(") || names.size() < 2)
        return false;
    std::vector<double> numbers;
    const std::size_t end = numbers_at(at + 3, false, numbers);
    if (numbers.size() != names.size() || !is(end, Kind::close, ")") || names.back().empty()) return false;
    end_part();
    for (const Words& name : names) metrics_.add({name, {}, numbers[static_cast<std::size_t>(&name - names.data())]});
    at_ = end + 1;
    return true;
}

bool MetricGroups::read_quoted_pair() {
    const string_view quote = is(at_ + 1, Kind::quote) ? tokens_[at_ + 1].text : string_view{};
    Words name;
    std::size_t at = at_ + 2;
    for (; !quote.empty() && is(at, Kind::word) && name.size() < max_words; ++at) name.push_back(tokens_[at].text);
    if (name.empty() || !is(at, Kind::quote, quote) || !is(at + 1, Kind::comma)) return false;
    const auto value = value_at(at + 2);
    if (!value || !is(value->end, Kind::close, ")")) return false;
    end_part();
    metrics_.add({name, {}, value->number});
    at_ = value->end + 1;
    return true;
}

bool MetricGroups::holds_pairs(std::size_t word) const {
    return is(word, Kind::word) && is(word + 1, Kind::open, "(") && tokens_[word + 1].gap == 0 &&
           is(word + 2, Kind::open, "[") && is(word + 3, Kind::open, "(") && is(word + 4, Kind::quote);
}

}  // namespace hpo::script
