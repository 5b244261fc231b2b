#include "orchestrator/script/syntax/metric_directions.hpp"

#include <algorithm>
#include <string>

#include "hpo/nearest_metric.hpp"

namespace hpo::script {

namespace {

// A further word of a metric is an entry of one of these tables.
constexpr std::string_view better_higher[] = {"acc",    "accuracy", "auc",  "auroc", "f1",   "precision",
                                              "recall", "iou",      "dice", "r2",    "bleu", "rouge"};
constexpr std::string_view better_lower[] = {"loss", "mse", "mae", "rmse", "error", "perplexity", "ppl", "wer"};
constexpr std::string_view turning[] = {"neg", "negative", "gap", "drop", "diff", "std", "var", "variance", "time"};

}  // namespace

Better better_of(std::string_view metric) {
    const auto words = hpo::detail::words_of(metric);
    const auto has = [&](const auto& names) {
        return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
            return std::find(std::begin(names), std::end(names), word) != std::end(names);
        });
    };
    if (has(turning) || has(better_higher) == has(better_lower)) return Better::unknown;
    return has(better_higher) ? Better::higher : Better::lower;
}

}  // namespace hpo::script
