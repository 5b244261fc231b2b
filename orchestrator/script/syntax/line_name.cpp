#include "orchestrator/script/syntax/line_name.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/metric_directions.hpp"
#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

/// Returns true for words that say that something has ended or goes on, such as trained and validating.
bool is_phase_done(string_view word) { return word.ends_with("ed") || word.ends_with("ing") || word == "done"; }

}  // namespace

bool LineName::skip_sample(const Token& count) {
    if (!counts_sample(words_.back(), count)) return false;
    const auto name_end = std::find_if(words_.begin() + 1, words_.end(), is_preposition);
    const auto name_size = static_cast<std::size_t>(name_end - words_.begin());
    const string name = join(words_, name_size);
    if (name_end == words_.end() || (!contains_metric_word(name) && !is_average(name))) return false;
    const std::size_t end = sample_end(at_, words_.back());
    if (end == at_) return false;
    for (std::size_t i = at_; i < end && phase_in(name) == Phase::none; ++i)
        if (phase_of(tokens_[i].text) != Phase::none) qualifier_ = string(tokens_[i].text);
    const string_view preposition = words_[name_size];
    if (preposition == "for" || preposition == "on" || preposition == "with")
        reading_.sample = string(count.text) + ' ' + string(tokens_[at_].text);
    words_.resize(name_size);
    at_ = end;
    return true;
}

bool LineName::take_threshold(const Token& token) {
    const auto is_fraction = [&](std::size_t at) { return tokens_[at].text.find('.') != string_view::npos; };
    const bool threshold = is_fraction(at_ - 1) && token.number > 0 && token.number <= 1 && !token.percent &&
                           token.gap == 1 && !is_progress(words_.back()) && better_of(words_.back()) != Better::lower &&
                           at_ + 1 < tokens_.size() && is_fraction(at_ + 1) && is_separator(at_) &&
                           tokens_[at_].gap == 0 && value_at(at_ + 1) && !is_bar_after(at_ + 1);
    if (threshold) words_.push_back(token.text);
    return threshold;
}

bool LineName::qualify() {
    std::size_t close = at_ + 1;
    Words inner;
    constexpr std::size_t max_inner = 4;
    for (; close < tokens_.size() && !is(close, Kind::close) && close - at_ <= max_inner; ++close) {
        if (is(close, Kind::word))
            inner.push_back(tokens_[close].text);
        else if (!is(close, Kind::junk))
            return false;
    }
    if (!is(close, Kind::close)) return false;
    const bool has_phase = inner.size() == 1 && phase_of(inner[0]) != Phase::none;
    if (has_phase && is_counter(words_.back())) {
        metrics_.set_label(inner);
        words_ = {words_.back()};
    } else {
        const bool named = is_separator(close + 1) || is(close + 1, Kind::number) ||
                           (is(close + 1, Kind::word) && is_preposition(tokens_[close + 1].text));
        if (!named) return false;
        if (inner.size() == 1 && joins_phases(inner[0])) {  // "loss (train/val): 0.5/0.6"
            words_.insert(words_.begin(), inner[0]);
            at_ = close + 1;
            return true;
        }
        for (const string_view word : inner)
            if (!is_unit(word) || (word == "min" && contains_metric_word(words_.back())))
                qualifier_ += (qualifier_.empty() ? "" : "_") + string(word);
    }
    at_ = close + 1;
    return true;
}

bool LineName::take_setting(const Token& bracket) {
    const bool count = is(at_ + 1, Kind::word) && is(at_ + 2, Kind::equals) && is(at_ + 3, Kind::number) &&
                       is(at_ + 4, Kind::close, ")") && is_separator(at_ + 5) && value_at(at_ + 6);
    if (!count || bracket.gap > 0 || is_progress(tokens_[at_ + 1].text) ||
        tokens_[at_ + 3].text.find_first_not_of("0123456789") != string_view::npos)
        return false;
    words_.push_back(tokens_[at_ + 1].text);
    words_.push_back(tokens_[at_ + 3].text);
    at_ += 5;
    return true;
}

bool LineName::skip_arguments() {
    const std::size_t end = arguments_end(at_);
    if (end == at_) return false;
    for (std::size_t i = at_ + 1; i < end && qualifier_.empty(); ++i)
        if (is(i, Kind::word)) qualifier_ = phase_word_of(tokens_[i].text);
    at_ = end;
    return true;
}

bool LineName::skip_budget() {
    const bool budget = is(at_ + 1, Kind::number) && is(at_ + 2, Kind::word) && is_unit(tokens_[at_ + 2].text) &&
                        is(at_ + 3, Kind::close, ")") && is(at_ + 4, Kind::word);
    const string word = lower_case(words_.back());
    const bool tells = is_label(words_) || is_progress(word) || is_phase_done(word);
    if (!budget || tells || words_ != essence(words_)) return false;
    at_ += 4;
    return true;
}

bool LineName::may_hold_value(const Token& bracket) const {
    if (has_metric_word(words_.back())) return true;
    const bool call = is(at_ + 1, Kind::word) && is(at_ + 2, Kind::open);
    const std::size_t number = at_ + (call ? 3 : 1);
    return bracket.gap > 0 && is(number, Kind::number) && tokens_[number].text.find('.') != string_view::npos;
}

}  // namespace hpo::script
