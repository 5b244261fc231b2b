// Finds the name that a misspelt one stands for.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo {

namespace detail {

inline char folded(char letter) {
    return letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

/// Returns how many insertions, deletions, replacements and swaps of neighbours turn `a` into `b` (optimal string
/// alignment distance).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = folded(a[i - 1]) == folded(b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) && folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::move(last);
        last = row;
    }
    return last[b.size()];
}

}  // namespace detail

/// Returns the candidate that is most similar to `word` by edit distance, or an empty text if none is similar. Ignores
/// case, and the difference between '-' and '_'.
inline std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
    if (word.size() > 64) return {};
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = detail::edit_distance(word, candidate);
        if (distance < best_distance && distance < candidate.size()) best = candidate, best_distance = distance;
    }
    return best;
}

}  // namespace hpo
