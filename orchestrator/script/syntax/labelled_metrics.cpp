#include "orchestrator/script/syntax/labelled_metrics.hpp"

#include <cmath>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/token_line.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

/// Removes the owner of a metric from its words, and returns its name: valid_0 of "valid_0's auc".
string take_owner(std::vector<string_view>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        if (words[i].ends_with("'s")) {
            string owner = join(words, i + 1);
            owner.resize(owner.size() - 2);
            words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            return owner;
        }
    return {};
}

/// Returns true if the first number is the second one, or it with fewer digits, of which at least three are behind the
/// point: "val_acc=0.639]Epoch 0: 'val_acc' reached 0.63918".
bool is_rounded(double first, double second) {
    if (first == second) return true;
    double scale = 1000;
    constexpr double most = 1e9, fine = 1e-9;
    while (scale < most && std::abs(std::round(first * scale) / scale - first) > fine) scale *= 10;
    return std::abs(first - second) * scale <= 0.5 + fine;
}

/// Returns true for the name of a metric in short, as in "Root Mean Squared Error (RMSE)" and "mean average precision
/// (mAP@0.50)".
bool is_abbreviation(const string& qualifier) {
    return has_metric_word(qualifier) || qualifier.find('@') != string::npos;
}

}  // namespace

void LabelledMetrics::set_label(const std::vector<string_view>& words) {
    for (const string_view word : words)
        if (phase_of(word) != Phase::none) {
            label_ = string(word);
            heading_ = true;
            return;
        }
}

void LabelledMetrics::add(const PrintedMetric& printed) {
    std::vector<string_view> words = essence(printed.words);
    if (words.empty()) return;
    const string owner = take_owner(words);
    if (words.size() > 1 && phase_of(words[0]) != Phase::none) {
        label_ = string(words[0]);
        if (is_counter(words.back()) && !is_average_over(words)) words.erase(words.begin(), words.end() - 1);
    }
    const string name = join(words, words.size());
    any_ = any_ || !is_counter(name);
    const string& label = !owner.empty() ? owner : !printed.qualifier.empty() ? printed.qualifier : label_;
    const bool labelled = !label.empty() && !is_general(name) && (&label != &label_ || phase_in(name) == Phase::none);
    const bool qualified = labelled && &label == &printed.qualifier && phase_in(label) == Phase::none;
    string full = labelled ? label + "_" + name : name;
    const string other = is_abbreviation(label) ? label : full;
    if (qualified && !label_.empty() && phase_in(name) == Phase::none) full = label_ + "_" + full;
    NamedNumber* const before = reading_.find(name_of(full));
    // The loss of "best constant's loss" is no model's, as that of "valid_0's loss" is.
    const bool of_other =
        owner.find('_') != string::npos && printed.words.size() > words.size() + 1 && phase_in(owner) == Phase::none;
    reading_.add(full, printed.number, of_other ? full : name);
    if (before != nullptr) {
        if (!is_rounded(before->number, printed.number)) before->doubt = Doubt::several_times;
    } else if (NamedNumber* const added = reading_.find(name_of(full))) {
        added->unit = printed.unit;
        added->doubt = printed.doubt;
        if (qualified) added->other = other;
    }
}

}  // namespace hpo::script
