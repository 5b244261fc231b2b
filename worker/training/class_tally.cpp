#include "worker/training/class_tally.hpp"

#include <algorithm>
#include <cassert>

namespace hpo {

ClassTally::ClassTally(std::int64_t classes) : classes_(static_cast<std::size_t>(classes)) {}

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
    }
}

double ClassTally::top5() const {
    return rows_ > 0 ? static_cast<double>(among_five_) / static_cast<double>(rows_) : 0;
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
