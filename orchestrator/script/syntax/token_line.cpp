#include "orchestrator/script/syntax/token_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

using Words = std::vector<string_view>;

constexpr std::size_t max_value_depth = 3;  ///< of brackets around a number
constexpr std::size_t max_tensor_tokens = 64;
constexpr std::size_t max_numbers = 12;  ///< of one name

/// Returns true if the ratio is of this number: 9/10 or 9.0/10.0 of 0.9.
bool is_quotient(string_view ratio, double number) {
    constexpr double rounding = 0.005;
    const auto part = number_at_begin(ratio);
    if (!part || !ratio.substr(part->second).starts_with('/')) return false;
    const string_view rest = ratio.substr(part->second + 1);
    const auto whole = number_at_begin(rest);
    return whole && whole->second == rest.size() && whole->first > 0 &&
           std::abs(part->first / whole->first - number) <= rounding;
}

bool is_fraction(string_view number) { return is_digit(number.front()) && number.find('.') != string_view::npos; }

}  // namespace

std::vector<string_view> split_at_slashes(string_view text) {
    std::vector<string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find('/', begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

bool joins_phases(string_view word) {
    const auto parts = split_at_slashes(word);
    return parts.size() > 1 &&
           std::all_of(parts.begin(), parts.end(), [](string_view part) { return phase_of(part) != Phase::none; });
}

string_view phase_word_of(string_view name) {
    for (std::size_t begin = 0; begin < name.size();) {
        const auto end = std::min(name.find_first_of("_.-/", begin), name.size());
        const string_view part = name.substr(begin, end - begin);
        if (phase_of(part) != Phase::none) return part;
        begin = end + 1;
    }
    return phase_in(name) != Phase::none ? name : string_view{};  // "xVal"
}

string join(const Words& words, std::size_t count) {
    string name;
    for (std::size_t i = 0; i < count; ++i) name += (i > 0 ? "_" : "") + string(words[i]);
    return name;
}

bool is_average_over(const Words& words) {
    return words.size() > 1 && (words[words.size() - 2] == "over" || words[words.size() - 2] == "per");
}

JoinedNames names_in(const Words& words) {
    const auto joined = std::find_if(words.begin(), words.end(), [](string_view word) {
        return word.find('/') != string_view::npos && !is_unit(word);
    });
    JoinedNames found{{}, joined != words.end()};
    if (found.slashes) {
        const auto place = static_cast<std::size_t>(joined - words.begin());
        for (const string_view part : split_at_slashes(*joined)) {
            found.names.push_back(words);
            found.names.back()[place] = trim(part);
        }
        const auto is_of_phase = [&](const Words& name) { return phase_in(name[place]) != Phase::none; };
        const auto phases = std::count_if(found.names.begin(), found.names.end(), is_of_phase);
        if (phases != 0 && phases != static_cast<std::ptrdiff_t>(found.names.size())) return {};
        return found;
    }
    // "f1 score" is one name
    const auto is_name = [](string_view word) {
        return has_metric_word(word) && word != "score" && word != "error" && word != "loss";
    };
    if (words.size() < 2 || !std::all_of(words.begin(), words.end(), is_name)) return {};
    for (const string_view word : words) found.names.push_back({word});
    return found;
}

std::optional<TokenLine::Value> TokenLine::value_at(std::size_t at, std::size_t depth) const {
    if (at >= tokens_.size() || depth > max_value_depth) return {};
    const Token& token = tokens_[at];
    if (token.kind == Kind::number) return Value{token.number, at + 1};
    if (token.kind == Kind::quote) {
        if (is(at + 1, Kind::number) && is(at + 2, Kind::quote, token.text))
            return Value{tokens_[at + 1].number, at + 3};
        return {};
    }
    if (token.kind == Kind::open && token.text == "<") {  // <tf.Tensor: shape=(), dtype=float32, numpy=0.5>
        const std::size_t end = std::min(tokens_.size(), at + max_tensor_tokens);
        for (std::size_t i = at + 1; i + 2 < end && !is(i, Kind::close, ">"); ++i)
            if (is(i, Kind::word, "numpy") && is(i + 1, Kind::equals) && is(i + 2, Kind::number))
                return Value{tokens_[i + 2].number, i + 4};
        return {};
    }
    if (token.kind == Kind::open && token.text != "{") {
        const auto inner = value_at(at + 1, depth + 1);
        if (inner && is(inner->end, Kind::close)) return Value{inner->number, inner->end + 1};
        return {};
    }
    if (token.kind != Kind::word || !is(at + 1, Kind::open, "(") || tokens_[at + 1].gap > 0 ||
        !wraps_a_number(token.text))
        return {};
    const auto inner = value_at(at + 2, depth + 1);
    if (!inner) return {};
    std::size_t end = inner->end;
    int open = 1;
    for (; end < tokens_.size() && open > 0; ++end) open += is(end, Kind::open) ? 1 : is(end, Kind::close) ? -1 : 0;
    return Value{inner->number, end};
}

bool TokenLine::is_bar_after(std::size_t number) const {
    if (tokens_[number].kind != Kind::number || !tokens_[number].percent) return false;
    // "100% 4/4 [00:01<00:00, 3.8it/s]", as notebooks show it
    const bool plain = is(number + 1, Kind::junk) && is_ratio(tokens_[number + 1].text) &&
                       is(number + 2, Kind::open, "[") && is(number + 3, Kind::junk) &&
                       tokens_[number + 3].text.find('<') != string_view::npos;
    return plain || (is(number + 1, Kind::bar) && (is(number + 2, Kind::bar) || is(number + 2, Kind::rule)));
}

string_view TokenLine::unit_at(std::size_t at) const {
    if (at > 0 && tokens_[at - 1].kind == Kind::number && tokens_[at - 1].percent) return "%";
    const bool unit =
        is(at, Kind::word) && is_unit(tokens_[at].text) && !is_separator(at + 1) && !is(at + 1, Kind::number);
    return unit ? tokens_[at].text : string_view{};
}

bool TokenLine::goes_on_at(std::size_t at) const {
    if ((is(at, Kind::word, "in") || is(at, Kind::word, "of")) && is(at + 1, Kind::number)) return true;  // "1 in 9"
    if (is(at, Kind::word, "out") && is(at + 1, Kind::word, "of") && is(at + 2, Kind::number)) return true;
    if (is(at, Kind::rule, "+") && is(at + 1, Kind::number)) return true;
    const auto is_of_other = [&](std::size_t i) {
        return is(i, Kind::word) && (is_unit(tokens_[i].text) || is_counter(tokens_[i].text));
    };
    if (is(at, Kind::junk, "/") && is(at + 1, Kind::number) && !is_of_other(at + 2)) return true;  // "0.5 / 0.7"
    const auto is_unit_at = [&](std::size_t i) { return is(i, Kind::word) && is_unit(tokens_[i].text); };
    if (is_unit_at(at) && is(at + 1, Kind::number) && is_unit_at(at + 2)) return true;  // "1 h 2 min"
    return is_list_at(at) || is_second_number(at);
}

bool TokenLine::is_list_at(std::size_t at) const {
    return is(at, Kind::comma) && is(at + 1, Kind::number) && (at + 2 == tokens_.size() || is(at + 2, Kind::comma));
}

bool TokenLine::is_second_number(std::size_t at) const {
    if (!is(at, Kind::number) || is(at + 1, Kind::word)) return false;  // "300 img/s"
    return is(at + 1, Kind::junk, "%") || (unit_at(at + 1).empty() && !is(at + 1, Kind::junk));
}

Doubt TokenLine::doubt_at(std::size_t at) const {
    if (at > 2 && is(at - 1, Kind::close, ")") && is(at - 3, Kind::open, "(") && is_separator(at - 4))
        return Doubt::only_in_brackets;
    if (is_list_at(at)) return Doubt::list;
    if (goes_on_at(at)) return Doubt::several_numbers;
    const bool bracket = is(at, Kind::open, "(") && is(at + 1, Kind::number) && !tokens_[at + 1].percent &&
                         is_fraction(tokens_[at + 1].text) && is(at + 2, Kind::close, ")");
    return bracket ? Doubt::in_brackets : Doubt::none;
}

std::size_t TokenLine::numbers_at(std::size_t at, bool slashes, std::vector<double>& numbers) const {
    if (slashes && is(at, Kind::junk)) {
        for (const string_view printed : split_at_slashes(tokens_[at].text)) {
            const string_view part = trim(printed);
            const string_view plain = part.ends_with('%') ? part.substr(0, part.size() - 1) : part;
            const auto number = leading_number(plain);
            if (!number || number->second != plain.size()) return at;
            numbers.push_back(number->first);
        }
        return at + 1;
    }
    while (is(at, Kind::number) && numbers.size() < max_numbers) {
        numbers.push_back(tokens_[at++].number);
        if (slashes && !is(at, Kind::junk, "/")) break;
        if (slashes || (is(at, Kind::comma) && is(at + 1, Kind::number))) ++at;
    }
    return at;
}

bool TokenLine::joins_names(std::size_t at) const {
    if (!is(at, Kind::junk, "/") || at == 0 || !is(at - 1, Kind::word) || !is(at + 1, Kind::word)) return false;
    std::size_t value = at + 1;
    while ((is(value, Kind::word) || is(value, Kind::junk, "/")) && value < at + 2 * max_numbers) ++value;
    if (!is_separator(value++)) return false;
    const bool numbers = is(value, Kind::number) && is(value + 1, Kind::junk, "/") && is(value + 2, Kind::number);
    return numbers || (is(value, Kind::junk) && is_ratio(tokens_[value].text));
}

std::optional<TokenLine::Value> TokenLine::share_at(std::size_t at, bool of_metric) const {
    if (!is(at, Kind::junk)) return {};
    const bool bracket = is(at + 1, Kind::open, "(") && is(at + 3, Kind::close);
    if ((!bracket && !is(at + 1, Kind::equals)) || !is(at + 2, Kind::number)) return {};
    const Token& share = tokens_[at + 2];
    const bool quotient = bracket && of_metric && is_quotient(tokens_[at].text, share.number);
    if (share.percent ? !is_ratio(tokens_[at].text) : !quotient) return {};
    return Value{share.number, at + (bracket ? 4 : 3)};
}

bool TokenLine::is_scale_at(std::size_t at) const {
    if (at + 3 >= tokens_.size() || !is(at + 2, Kind::close)) return false;
    if (!is_separator(at + 3) && !is(at + 3, Kind::number)) return false;
    string_view scale = tokens_[at + 1].text;
    const bool times = scale.starts_with('x') || scale.starts_with('X');
    if (times) scale.remove_prefix(1);
    if (scale.starts_with("10^") || scale.starts_with("1e") || scale.starts_with("1E"))
        return scale.find_first_not_of("0123456789+-^eE") == string_view::npos;
    return times && scale.starts_with("10") && scale.find_first_not_of('0', 1) == string_view::npos;
}

bool TokenLine::competes(std::size_t at) const {
    const auto has_point = [](const Token& one) { return one.text.find('.') != string_view::npos; };
    return is_second_number(at) && (!has_point(tokens_[at - 1]) || has_point(tokens_[at]));
}

bool TokenLine::is_value_bar(std::size_t at) const {
    return at + 2 == tokens_.size() && is(at + 1, Kind::number) &&
           std::count_if(tokens_.begin(), tokens_.end(), [](const Token& one) { return one.kind == Kind::bar; }) == 1;
}

std::size_t TokenLine::text_end(std::size_t at) const {
    if (is(at, Kind::quote)) {
        std::size_t end = at + 1;
        while (end < tokens_.size() && !is(end, Kind::quote, tokens_[at].text)) ++end;
        return end < tokens_.size() ? end + 1 : at;
    }
    if (!is(at, Kind::word) && !is(at, Kind::junk)) return at;
    ++at;
    while (at < tokens_.size() && tokens_[at].gap == 0 && !is(at, Kind::comma) && !is(at, Kind::close) &&
           !is(at, Kind::bar))
        ++at;
    return at;
}

Words TokenLine::name_of_reversed() const {
    if (!is(0, Kind::number) || !is(1, Kind::equals) || tokens_[0].text.find('.') == string_view::npos) return {};
    Words words;
    std::size_t end = 2;
    while (is(end, Kind::word)) words.push_back(tokens_[end++].text);
    const bool bracket = is(end, Kind::open, "(") && is(tokens_.size() - 1, Kind::close, ")");
    return bracket || end == tokens_.size() ? words : Words{};
}

std::vector<std::pair<Words, double>> TokenLine::reversed_list() const {
    std::vector<std::pair<Words, double>> found;
    bool metric = false;
    for (std::size_t at = is(0, Kind::number) && is(1, Kind::colon) ? 2 : 0; at < tokens_.size();) {
        if (!is(at, Kind::number)) return {};
        const double number = tokens_[at++].number;
        Words words;
        for (; is(at, Kind::word); ++at) words.push_back(tokens_[at].text);
        if (at < tokens_.size() && !is(at++, Kind::comma)) return {};
        const string name = join(words, words.size());
        metric = metric || contains_metric_word(name) || is_average(name);
        if (!words.empty()) found.emplace_back(std::move(words), number);
    }
    return metric && found.size() > 1 ? found : std::vector<std::pair<Words, double>>{};
}

bool TokenLine::counts_sample(string_view word, const Token& count) {
    static constexpr std::array<string_view, 6> articles{"the", "all", "last", "past", "first", "these"};
    const string before = lower_case(word);
    const bool counts = is_preposition(before) || std::find(articles.begin(), articles.end(), before) != articles.end();
    return counts && count.text.find_first_not_of("0123456789,_") == string_view::npos;
}

std::size_t TokenLine::sample_end(std::size_t at, string_view before) const {
    constexpr std::size_t max_sample_words = 3;
    std::size_t end = at;
    while (end <= at + max_sample_words && is(end, Kind::word) && !contains_metric_word(tokens_[end].text)) ++end;
    if (end == at || !is_separator(end) || !value_at(end + 1)) return at;
    const auto of_sample = [&](const Token& one) {
        return is_sample(one.text) || phase_of(one.text) != Phase::none ||
               (lower_case(before) == "after" && is_counter(one.text));
    };
    const auto begin = tokens_.begin();
    const bool sample =
        std::any_of(begin + static_cast<std::ptrdiff_t>(at), begin + static_cast<std::ptrdiff_t>(end), of_sample);
    return sample ? end : at;
}

std::size_t TokenLine::phases_end(std::size_t at) const {
    if (!is(at, Kind::open, "(")) return at;
    std::size_t end = at;
    do {
        const bool phase = is(end + 1, Kind::word) && phase_of(tokens_[end + 1].text) != Phase::none;
        if (!phase || !is_separator(end + 2) || !is(end + 3, Kind::number)) return at;
        end += 4;
    } while (is(end, Kind::comma));
    return is(end, Kind::close, ")") ? end + 1 : at;
}

std::size_t TokenLine::arguments_end(std::size_t at) const {
    if (tokens_[at].gap > 0) return at;
    bool several = false;
    std::size_t end = at + 1;
    constexpr std::size_t max_arguments = 32;  // tokens
    for (int open = 1; end < tokens_.size() && end - at < max_arguments && open > 0; ++end) {
        open += is(end, Kind::open) ? 1 : is(end, Kind::close) ? -1 : 0;
        several = several || is(end, Kind::comma);
    }
    const std::size_t call = end;
    while (is(end, Kind::bar) && is(end + 1, Kind::close, ">") && is(end + 2, Kind::word)) end += 3;  // "f(x) |> round"
    return (several || end > call) && is(end, Kind::equals) ? end : at;
}

std::optional<TokenLine::Average> TokenLine::average_in_brackets(std::size_t at) const {
    static constexpr std::array<string_view, 5> names{"avg", "average", "mean", "avg.", "ave"};
    if (!is(at, Kind::open, "(")) return {};
    std::size_t number = at + 1;
    const bool named = is(number, Kind::word) &&
                       std::find(names.begin(), names.end(), lower_case(tokens_[number].text)) != names.end();
    if (named) number += is_separator(number + 1) ? 2 : 1;
    if (!is(number, Kind::number) || tokens_[number].percent || !is(number + 1, Kind::close, ")")) return {};
    if (tokens_[number].text.starts_with('+')) return {};  // a change
    return Average{tokens_[number].number, named, number + 2};
}

bool TokenLine::is_negative_in_brackets(std::size_t at) const {
    return is(at, Kind::open, "(") && is(at + 1, Kind::number) && !tokens_[at + 1].percent &&
           tokens_[at + 1].text.starts_with('-') && is(at + 2, Kind::close, ")");
}

TokenLine::RatioOf TokenLine::ratio_alone(std::size_t at) const {
    static constexpr std::array<string_view, 15> outer{"fold",  "folds",  "episode", "episodes",   "cycle",
                                                       "trial", "trials", "run",     "runs",       "seed",
                                                       "gen",   "repeat", "stage",   "generation", "task"};
    const auto is_outer = [&](const string& word) {
        return is_epoch(word) || std::find(outer.begin(), outer.end(), word) != outer.end();
    };
    std::size_t before = at;
    while (before > 0 && (is_separator(before - 1) || is(before - 1, Kind::open))) --before;
    const bool behind_number = before > 0 && before < at && is(before - 1, Kind::number);  // "Train: 0 [50/100]"
    const bool named = before > 0 && is(before - 1, Kind::word);
    if (named && is_outer(lower_case(tokens_[before - 1].text))) return RatioOf::outer_rounds;
    if (is(at + 1, Kind::word) && is_outer(lower_case(tokens_[at + 1].text)) && !is(at + 2, Kind::number) &&
        !is_separator(at + 2))
        return RatioOf::outer_rounds;  // "3/10 epochs"
    return named || behind_number ? RatioOf::named : RatioOf::unknown;
}

TokenLine::RatioOf TokenLine::ratio_of_at(std::size_t at) const {
    const RatioOf alone = ratio_alone(at);
    if (alone != RatioOf::unknown) return alone;
    constexpr std::size_t most = 64;                      // tokens
    for (std::size_t i = 0; i < std::min(at, most); ++i)  // "Train: 1/3 (33%) [49/323]"
        if (is(i, Kind::junk) && is_ratio(tokens_[i].text) && ratio_alone(i) != RatioOf::unknown) return RatioOf::named;
    return RatioOf::unknown;
}

}  // namespace hpo::script
