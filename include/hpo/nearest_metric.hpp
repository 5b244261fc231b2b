// Finds the metric that a misspelt or differently written name was meant to be.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/nearest.hpp"
#include "hpo/trial.hpp"

namespace hpo {

namespace detail {

/// Returns the words of a metric's name in lower case: val and acc of "Val_Acc".
inline std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    for (const char c : name)
        if (std::string_view("_/.- ").find(c) == std::string_view::npos)
            words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        else if (!words.back().empty())
            words.emplace_back();
    if (words.back().empty()) words.pop_back();
    return words;
}

}  // namespace detail

/// Returns the name of `metrics` that was meant by `name`: a similar one (nearest.hpp), or the shortest one that has
/// each word of `name`, where "acc" is "accuracy". Returns an empty text if there is none. "loss" is never meant by
/// "val_loss".
inline std::string nearest_metric(std::string_view name, const Metrics& metrics) {
    constexpr std::size_t least = 3;  // letters by which an abbreviation is known
    std::vector<std::string_view> names;
    for (const auto& [known, value] : metrics) names.push_back(known);
    if (const auto similar = nearest(name, names); !similar.empty()) return std::string(similar);
    const auto wanted = detail::words_of(name);
    std::string best;
    for (const std::string_view candidate : names) {
        const auto words = detail::words_of(candidate);
        const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
            return std::any_of(words.begin(), words.end(), [&](const std::string& other) {
                return word == other || (std::min(word.size(), other.size()) >= least &&
                                         (word.starts_with(other) || other.starts_with(word)));
            });
        });
        if (!wanted.empty() && has_all && (best.empty() || candidate.size() < best.size())) best = candidate;
    }
    return best;
}

/// Returns "loss, val_acc; did you mean 'val_acc'?", the names of `metrics` and the one that was meant by `name`, if
/// there is one. A long list is cut to the first names.
inline std::string names_with_nearest(std::string_view name, const Metrics& metrics) {
    constexpr std::size_t most = 12;
    std::string text;
    std::size_t listed = 0;
    for (const auto& [known, value] : metrics) {
        if (++listed > most) break;
        text += (text.empty() ? "" : ", ") + known;
    }
    if (metrics.size() > most) text += " and " + std::to_string(metrics.size() - most) + " more";
    const std::string meant = nearest_metric(name, metrics);
    return meant.empty() ? text : text + "; did you mean '" + meant + "'?";
}

}  // namespace hpo
