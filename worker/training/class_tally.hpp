// What an evaluation counts, row by row, for the metrics of classes that need more than the number of correct rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hpo {

class ClassTally {
   public:
    /// `ranks`: all logits are kept, for macro_auc.
    explicit ClassTally(std::int64_t classes, bool ranks = false);
    /// With more classes than this, the area under the curve would take much memory and be of little use.
    static constexpr std::int64_t most_ranked = 100;

    /// `logits` has a row of all classes for each of `labels`. The greatest one is the prediction, the first of equals.
    void add(std::span<const float> logits, std::span<const std::int32_t> labels);

    /// The fraction of rows whose label is among the five greatest logits.
    [[nodiscard]] double top5() const;
    /// The mean over classes of 2 TP / (2 TP + FP + FN), of those that are some row's label or prediction: each class
    /// counts alike, however rare it is.
    [[nodiscard]] double macro_f1() const;
    /// The mean over classes of the area under the ROC curve of each class against all others: the chance that a row of
    /// the class has a larger predicted probability of it than a row of another class, where equal ones count half
    /// (Mann and Whitney 1947). Of classes that some rows have and others have not; 0.5 if there are none.
    [[nodiscard]] double macro_auc() const;

   private:
    struct Counts {
        std::int64_t labels = 0, predictions = 0, correct = 0;
    };
    std::vector<Counts> classes_;
    bool ranks_;
    std::vector<float> odds_;           ///< with `ranks`: of each row, the logarithm of each class's odds
    std::vector<std::int32_t> labels_;  ///< the same rows'
    std::int64_t rows_ = 0, among_five_ = 0;
};

}  // namespace hpo
