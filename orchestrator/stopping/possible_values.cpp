#include "orchestrator/stopping/possible_values.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "hpo/nearest_metric.hpp"

namespace hpo {

namespace {

constexpr std::array<std::string_view, 12> shares{"accuracy", "acc", "auc",  "auroc", "f1",   "precision",
                                                  "recall",   "iou", "dice", "top1",  "top5", "match"};
constexpr std::array<std::string_view, 6> losses{"loss", "mse", "mae", "rmse", "error", "perplexity"};
constexpr std::array<std::string_view, 2> signs{"neg", "negative"};  // as of scikit-learn's neg_mean_squared_error

template <class Names>
bool any_of(const std::vector<std::string>& words, const Names& names) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
        return std::find(names.begin(), names.end(), word) != names.end();
    });
}

}  // namespace

std::vector<PossibleValues> possible_values(const std::string& metric, Direction direction) {
    const std::vector<std::string> words = detail::words_of(metric);
    std::vector<PossibleValues> ranges;
    if (any_of(words, signs)) return ranges;
    if (any_of(words, losses))
        ranges = {{.low = 0}};
    else if (any_of(words, shares))
        ranges = {{0, 1}, {0, 100}};
    else if (any_of(words, std::array<std::string_view, 1>{"r2"}))
        ranges = {{.high = 1}};
    if (direction == Direction::maximize)
        for (PossibleValues& range : ranges) range = {-range.high, -range.low};
    return ranges;
}

}  // namespace hpo
