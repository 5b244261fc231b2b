// What an evaluation counts, row by row, for the metrics of classes that need more than the number of correct rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hpo {

class ClassTally {
   public:
    explicit ClassTally(std::int64_t classes);

    /// `logits` has a row of all classes for each of `labels`. The greatest one is the prediction, the first of equals.
    void add(std::span<const float> logits, std::span<const std::int32_t> labels);

    /// The fraction of rows whose label is among the five greatest logits.
    [[nodiscard]] double top5() const;
    /// The mean over classes of 2 TP / (2 TP + FP + FN), of those that are some row's label or prediction: each class
    /// counts alike, however rare it is.
    [[nodiscard]] double macro_f1() const;

   private:
    struct Counts {
        std::int64_t labels = 0, predictions = 0, correct = 0;
    };
    std::vector<Counts> classes_;
    std::int64_t rows_ = 0, among_five_ = 0;
};

}  // namespace hpo
