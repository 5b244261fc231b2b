#include "worker/training/class_tally.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace hpo {

namespace {

/// log(p / (1 - p)) of each class: unlike p, it does not become 1 for all that are nearly certain.
void add_odds(std::span<const float> logits, std::vector<float>& to) {
    const double greatest = *std::max_element(logits.begin(), logits.end());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        double others = 0;
        for (std::size_t j = 0; j < logits.size(); ++j)
            if (j != i) others += std::exp(logits[j] - greatest);
        to.push_back(static_cast<float>(logits[i] - greatest - std::log(others)));
    }
}

}  // namespace

ClassTally::ClassTally(std::int64_t classes, bool ranks) : classes_(static_cast<std::size_t>(classes)), ranks_(ranks) {}

void ClassTally::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
    assert(logits.size() == labels.size() * classes_.size());
    for (std::size_t row = 0; row < labels.size(); ++row) {
        const auto its = logits.subspan(row * classes_.size(), classes_.size());
        const auto label = static_cast<std::size_t>(labels[row]);
        const auto predicted = static_cast<std::size_t>(std::max_element(its.begin(), its.end()) - its.begin());
        std::int64_t before = 0;  // logits that are greater than the label's, or equal and earlier
        for (std::size_t i = 0; i < its.size(); ++i)
            before += its[i] > its[label] || (its[i] == its[label] && i < label) ? 1 : 0;
        ++rows_;
        among_five_ += before < 5 ? 1 : 0;
        ++classes_[label].labels;
        ++classes_[predicted].predictions;
        if (predicted == label) ++classes_[label].correct;
        if (ranks_) {
            add_odds(its, odds_);
            for (std::size_t i = 0; i < its.size(); ++i) truths_.push_back(i == label);
        }
    }
}

void ClassTally::add(std::span<const float> logits, std::span<const float> labels) {
    assert(logits.size() == labels.size() && logits.size() % classes_.size() == 0);
    several_ = true;
    for (std::size_t first = 0; first < logits.size(); first += classes_.size()) {
        std::size_t right = 0;
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            const bool truth = labels[first + i] > 0.5F, predicted = logits[first + i] > 0;
            right += truth == predicted ? 1 : 0;
            classes_[i].labels += truth ? 1 : 0;
            classes_[i].predictions += predicted ? 1 : 0;
            classes_[i].correct += truth && predicted ? 1 : 0;
            if (ranks_) truths_.push_back(truth);
        }
        ++rows_;
        exact_ += right == classes_.size() ? 1 : 0;
    }
    if (ranks_) odds_.insert(odds_.end(), logits.begin(), logits.end());
}

ClassTally::Metrics ClassTally::metrics() const {
    Metrics metrics{.f1 = macro_f1()};
    (several_ ? metrics.exact : metrics.top5) = several_ ? exact() : top5();
    if (ranks_) metrics.auc = macro_auc();
    return metrics;
}

double ClassTally::exact() const { return rows_ > 0 ? static_cast<double>(exact_) / static_cast<double>(rows_) : 0; }

double ClassTally::top5() const {
    return rows_ > 0 ? static_cast<double>(among_five_) / static_cast<double>(rows_) : 0;
}

double ClassTally::macro_auc() const {
    std::vector<std::size_t> order(truths_.size() / classes_.size());
    double sum = 0, present = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
        const auto odds = [&](std::size_t row) { return odds_[row * classes_.size() + c]; };
        const auto all = static_cast<double>(order.size()), own = static_cast<double>(classes_[c].labels);
        if (own == 0 || own == all || order.empty()) continue;
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return odds(a) < odds(b); });
        double ranks = 0;  // of the class's rows; equal rows have their mean
        for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
            std::int64_t here = 0;
            for (end = first; end < order.size() && !(odds(order[first]) < odds(order[end])); ++end)
                here += truths_[order[end] * classes_.size() + c] ? 1 : 0;
            ranks += static_cast<double>(here) * (static_cast<double>(first + end + 1) / 2);
        }
        sum += (ranks - own * (own + 1) / 2) / (own * (all - own));
        present += 1;
    }
    return present > 0 ? sum / present : 0.5;
}

double ClassTally::macro_f1() const {
    double sum = 0, present = 0;
    for (const Counts& counts : classes_) {
        const std::int64_t occurrences = counts.labels + counts.predictions;  // 2 TP + FP + FN
        if (occurrences == 0) continue;
        sum += 2 * static_cast<double>(counts.correct) / static_cast<double>(occurrences);
        present += 1;
    }
    return present > 0 ? sum / present : 0;
}

}  // namespace hpo
