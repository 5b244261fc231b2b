#include "orchestrator/script/syntax/metric_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hpo::script {

namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_part(char c) {
    return is_upper(c) || is_lower(c) || (c >= '0' && c <= '9') || static_cast<std::uint8_t>(c) >= 0x80;
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& words) {
    return std::find(words.begin(), words.end(), lower_case(word)) != words.end();
}

/// Returns the parts of a name in lower case: val, loss for "val_loss", "Val Loss" and "valLoss".
std::vector<std::string> parts_of(std::string_view name) {
    std::vector<std::string> parts;
    char before = ' ';
    for (const char c : name) {
        if (is_part(c)) {
            if (!is_part(before) || (is_lower(before) && is_upper(c))) parts.emplace_back();
            parts.back() += is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
        }
        before = c;
    }
    return parts;
}

enum class Synonyms { none, of_printed, of_wanted };

/// Returns the name's parts in one text, the phase first.
std::string normal_form(std::string_view name, Synonyms synonyms) {
    std::vector<std::string> parts = parts_of(name);
    const auto phase =
        std::find_if(parts.begin(), parts.end(), [](const std::string& part) { return phase_of(part) != Phase::none; });
    if (phase != parts.end()) {
        const auto set = phase + 1;  // "Test set accuracy"
        if (synonyms != Synonyms::none && set != parts.end() && set + 1 != parts.end() && *set == "set")
            parts.erase(set);
        std::rotate(parts.begin(), phase, phase + 1);
        const std::string first = parts[0];  // "Eval metrics/eval/accuracy"
        parts.erase(std::remove(parts.begin() + 1, parts.end(), first), parts.end());
    }
    if (synonyms != Synonyms::none) {
        // A study that wants lm_loss_value does not mean lm_loss, which Megatron prints of training data.
        const bool printed = synonyms == Synonyms::of_printed;
        if (parts.size() > 1 && (parts.back() == "score" || (printed && parts.back() == "value"))) parts.pop_back();
        for (std::string& part : parts) {
            if (part == "validation" || part == "valid" || part == "validate") part = "val";
            if (part == "training") part = "train";
            if (part == "testing") part = "test";
            if (part == "evaluation") part = "eval";
            if (part == "accuracy") part = "acc";
        }
    }
    std::string form;
    for (const std::string& part : parts) form += part;
    return form;
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string small(text);
    for (char& c : small)
        if (is_upper(c)) c = static_cast<char>(c + ('a' - 'A'));
    return small;
}

Phase phase_of(std::string_view word) {
    static constexpr std::array<std::string_view, 5> validation{"val", "valid", "validation", "validate", "validating"};
    static constexpr std::array<std::string_view, 4> evaluation{"eval", "evaluation", "evaluating", "dev"};
    static constexpr std::array<std::string_view, 2> test{"test", "testing"};
    static constexpr std::array<std::string_view, 2> training{"train", "training"};
    if (is_one_of(word, validation)) return Phase::validation;
    if (is_one_of(word, evaluation)) return Phase::evaluation;
    if (is_one_of(word, test)) return Phase::test;
    return is_one_of(word, training) ? Phase::training : Phase::none;
}

Phase phase_in(std::string_view name) {
    for (const std::string& part : parts_of(name))
        if (const Phase phase = phase_of(part); phase != Phase::none) return phase;
    return Phase::none;
}

bool is_split_key(std::string_view word) {
    static constexpr std::array<std::string_view, 9> words{"phase", "split", "mode",      "stage",  "subset",
                                                           "set",   "part",  "partition", "dataset"};
    return is_one_of(word, words);
}

bool is_rank_key(std::string_view word) {
    static constexpr std::array<std::string_view, 4> words{"rank", "local_rank", "global_rank", "process_index"};
    return std::find(words.begin(), words.end(), word) != words.end();  // "Rank 1 accuracy" is a metric of retrieval
}

std::string rank_label(std::int64_t rank) { return "rank" + std::to_string(rank) + '_'; }

bool has_rank_label(std::string_view name) {
    if (!name.starts_with("rank")) return false;
    const auto end = name.find_first_not_of("0123456789", 4);
    return end != std::string_view::npos && end > 4 && name[end] == '_';
}

bool is_epoch(std::string_view word) {
    static constexpr std::array<std::string_view, 3> words{"epoch", "epochs", "ep"};
    return is_one_of(word, words);
}

bool is_counter(std::string_view word) {
    static constexpr std::array<std::string_view, 17> words{
        "step",  "steps",  "global_step", "iter",  "iters", "iteration", "iterations", "batch", "batches",
        "round", "rounds", "it",          "trial", "fold",  "#iter",     "itn",        "itn."};
    return is_epoch(word) || is_one_of(word, words);
}

bool is_general(std::string_view name) {
    static constexpr std::array<std::string_view, 16> words{
        "lr",   "learning_rate", "time",       "elapsed", "time_elapsed", "eta", "duration", "dur",
        "data", "data_time",     "batch_time", "runtime", "speed",        "fps", "seed",     "memory"};
    return is_counter(name) || is_one_of(name, words);
}

std::string name_of(std::string_view text) {
    const auto outer = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"' || c == '\''; };
    while (!text.empty() && outer(text.front())) text.remove_prefix(1);
    while (!text.empty() && outer(text.back())) text.remove_suffix(1);
    if (text.empty() || text.size() > max_name_bytes) return {};
    const char first = text.front();
    if (!is_upper(first) && !is_lower(first) && first != '_' && static_cast<std::uint8_t>(first) < 0x80) return {};
    std::string name;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t';
        if (!blank && (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f || c == '"' || c == '\'' || c == '\\'))
            return {};
        if (!blank) name += c;
        if (blank && name.back() != '_') name += '_';
    }
    return name;
}

bool is_metric_name(std::string_view name) {
    constexpr std::string_view signs = "._-/@%^+&():#";
    return name_of(name) == name && !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
               return is_part(c) || signs.find(c) != std::string_view::npos;
           });
}

Fit fit_but_for_phase(std::string_view printed, std::string_view wanted) {
    std::string name;
    bool found = false;
    for (const std::string& part : parts_of(printed)) {
        const bool is_phase = !found && phase_of(part) != Phase::none;
        found = found || is_phase;
        if (!is_phase) name += (name.empty() ? "" : "_") + part;
    }
    return found ? fit(name, wanted) : Fit::none;
}

Fit fit(std::string_view printed, std::string_view wanted) {
    if (printed == wanted) return Fit::exact;
    if (normal_form(printed, Synonyms::none) == normal_form(wanted, Synonyms::none)) return Fit::spelling;
    const bool same = normal_form(printed, Synonyms::of_printed) == normal_form(wanted, Synonyms::of_wanted);
    return same ? Fit::synonym : Fit::none;
}

}  // namespace hpo::script
