#include "orchestrator/script/syntax/words.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "orchestrator/script/syntax/metric_names.hpp"

namespace hpo::script {

namespace {

using std::string_view;

constexpr string_view levels[] = {"INFO", "DEBUG", "WARN", "WARNING", "ERROR", "TRACE", "NOTICE", "CRITICAL"};
constexpr string_view fillers[] = {"the",       "a",        "an",   "and",      "with",    "now",      "then",
                                   "has",       "had",      "got",  "achieved", "reached", "finished", "done",
                                   "completed", "complete", "end",  "of",       "after",   "at",       "in",
                                   "for",       "gives",    "gave", "so",       "results", "metrics",  "scores"};
constexpr string_view copulas[] = {"is",      "was", "are", "were",   "of",     "equals",
                                   "reached", "now", "=",   "became", "becomes"};
constexpr string_view samples[] = {"images",       "pictures",     "samples", "examples",    "instances", "points",
                                   "observations", "records",      "rows",    "items",       "sentences", "documents",
                                   "tokens",       "words",        "pairs",   "queries",     "users",     "nodes",
                                   "graphs",       "molecules",    "batches", "minibatches", "episodes",  "games",
                                   "rollouts",     "trajectories", "inputs",  "data",        "set",       "dataset"};
constexpr string_view prepositions[] = {"at",   "after", "in",    "for",    "on",   "from",  "to",  "by",    "than",
                                        "with", "of",    "until", "within", "over", "using", "per", "below", "above"};
constexpr string_view label_words[] = {
    "set", "phase", "results", "result", "metrics",     "data",   "loop", "summary", "dataset", "split",    "subset",
    "on",  "the",   "stats",   "report", "performance", "scores", "net",  "output",  "begin",   "reported", "error"};
constexpr string_view units[] = {"s",    "sec",     "secs", "second", "seconds", "ms",  "us",       "min",
                                 "mins", "minutes", "h",    "hours",  "nats",    "nat", "bits",     "bit",
                                 "bpc",  "bpd",     "dB",   "db",     "px",      "pts", "points",   "percent",
                                 "pct",  "%",       "mm",   "m",      "cm",      "K",   "eV",       "meV",
                                 "W",    "k",       "M",    "G",      "B",       "T",   "thousand", "million"};
constexpr string_view metric_words[] = {"loss",   "error",   "err",    "acc",  "accuracy", "auc",
                                        "f1",     "score",   "mse",    "rmse", "mae",      "precision",
                                        "recall", "logloss", "merror", "ndcg", "map",      "reward"};
constexpr string_view average_words[] = {"mean", "avg", "average", "cv"};
constexpr string_view shares[] = {"acc", "accuracy", "precision", "recall"};
constexpr string_view wrappers[] = {"tensor", "float", "array",  "int",      "uint",  "some",      "decimal", "scalar",
                                    "number", "f",     "double", "variable", "param", "parameter", "ndarray", "bfloat"};
constexpr string_view number_types[] = {"tensor",  "array",   "float", "float16", "float32",
                                        "float64", "decimal", "int",   "int32",   "int64"};

constexpr string_view progress_words[] = {"e",    "i",    "n",      "t",       "ts",    "gen",   "generation",
                                          "game", "epi",  "update", "updates", "cycle", "sweep", "date",
                                          "day",  "hour", "year",   "frames",  "evals"};
constexpr string_view progress_parts[] = {"step", "iter", "epoch", "time", "episode", "progress", "elapsed"};

template <std::size_t n>
bool is_one_of(string_view word, const string_view (&words)[n]) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

std::vector<string_view> essence(const std::vector<string_view>& words) {
    auto begin = words.begin(), end = words.end();
    for (auto word = begin; word != end; ++word)
        if (is_one_of(*word, levels) && word + 1 != end) begin = word + 1;
    while (begin != end && begin + 1 != end && is_one_of(lower_case(*begin), fillers)) ++begin;
    while (begin != end && begin + 1 != end && is_one_of(lower_case(*(end - 1)), copulas)) --end;
    return {begin, end};
}

bool is_label(const std::vector<string_view>& words) {
    constexpr std::size_t max_label_words = 5;
    Phase found = Phase::none;
    if (words.size() > max_label_words) return false;
    for (const string_view word : words) {
        const bool phase = phase_of(word) != Phase::none;
        if (phase && found != Phase::none && phase_of(word) != found) return false;  // "train val" heads two columns
        if (phase) found = phase_of(word);
        if (!phase && !is_counter(word) && !is_one_of(lower_case(word), label_words) && !is_one_of(word, levels))
            return false;
    }
    return found != Phase::none;
}

bool is_log_level(string_view word) { return is_one_of(word, levels); }

bool is_preposition(string_view word) { return is_one_of(lower_case(word), prepositions); }

bool is_sample(string_view word) { return is_one_of(lower_case(word), samples); }

bool is_unit(string_view word) {
    const bool rate = word.ends_with("/s") || word.ends_with("/sec") || word.ends_with("/second") ||
                      word.ends_with("/step") || word.ends_with("/it") || word.ends_with("/epoch");
    return rate || is_one_of(word, units);
}

bool is_progress(string_view name) {
    const std::string small = lower_case(name);
    return is_general(name) || is_sample(name) || is_one_of(small, progress_words) ||
           std::any_of(std::begin(progress_parts), std::end(progress_parts),
                       [&](string_view part) { return small.find(part) != std::string::npos; });
}

bool has_metric_word(string_view name) {
    const std::string small = lower_case(name.substr(name.find_last_of("_-/.") + 1));
    return is_one_of(small, metric_words);
}

bool is_average(string_view name) {
    const std::string small = lower_case(name);
    return std::any_of(std::begin(average_words), std::end(average_words),
                       [&](string_view word) { return small.find(word) != std::string::npos; });
}

bool is_share(string_view name) {
    const std::string small = lower_case(name.substr(name.find_last_of("_-/.") + 1));
    return is_one_of(small, shares);
}

bool contains_metric_word(string_view name) {
    const std::string small = lower_case(name);
    return std::any_of(std::begin(metric_words), std::end(metric_words),
                       [&](string_view one) { return small.find(one) != std::string::npos; });
}

bool is_number_type(string_view function) {
    return is_one_of(lower_case(function.substr(function.rfind('.') + 1)), number_types);
}

bool wraps_a_number(string_view function) {
    const auto is_upper = [&](std::size_t at) { return function[at] >= 'A' && function[at] <= 'Z'; };
    const auto is_lower = [&](std::size_t at) { return function[at] >= 'a' && function[at] <= 'z'; };
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= function.size(); ++at) {
        const bool end = at == function.size();
        const bool sign = !end && (function[at] == '.' || function[at] == '_');
        const bool capital = !end && at > begin && is_upper(at) &&  // of FloatTensor and NDArray
                             (!is_upper(at - 1) || (at + 1 < function.size() && is_lower(at + 1)));
        if (!end && !sign && !capital) continue;
        string_view word = function.substr(begin, at - begin);
        const std::size_t letters = word.find_last_not_of("0123456789") + 1;  // of float32
        if (word != "f" && is_one_of(lower_case(word.substr(0, letters)), wrappers)) return true;
        begin = sign ? at + 1 : at;
    }
    return false;
}

std::optional<std::pair<std::int64_t, std::int64_t>> ratio_of(string_view text) {
    std::int64_t part = 0, total = 0;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, part);
    if (first.ec != std::errc()) return {};
    const char* begin = first.ptr;
    while (begin != end && *begin == ' ') ++begin;
    if (begin == end || *begin++ != '/') return {};
    while (begin != end && *begin == ' ') ++begin;
    const auto second = std::from_chars(begin, end, total);
    if (second.ec != std::errc() || second.ptr != end) return {};
    return std::pair{part, total};
}

}  // namespace hpo::script
