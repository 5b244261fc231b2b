// Counts of an evaluation, row by row, for metrics of classes that need more than the number of correct rows.
#pragma once

#include <cstdint>
#include <optional>
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
    /// Adds labels, of which a row may have any number: `labels` has 0 or 1 for each of `logits`; logits above 0
    /// predict the label. A tally takes either these or classes.
    void add(std::span<const float> logits, std::span<const float> labels);

    struct Metrics {
        double f1 = 0;                             ///< macro_f1
        std::optional<double> top5, exact, auc{};  ///< of classes; of labels; macro_auc, with `ranks`
    };
    [[nodiscard]] Metrics metrics() const;
    /// The fraction of rows whose label is among the five greatest logits.
    [[nodiscard]] double top5() const;
    /// The fraction of rows whose labels are all predicted right.
    [[nodiscard]] double exact() const;
    /// The mean over classes of 2 TP / (2 TP + FP + FN), of those that are some row's label or prediction: each class
    /// counts alike, however rare it is.
    [[nodiscard]] double macro_f1() const;
    /// Returns the mean over classes of the area under the ROC curve of each class against all others: the chance that
    /// a row of the class has a larger predicted probability for it than a row of another class, where equal ones count
    /// half (Mann and Whitney 1947). The mean is over the classes that some rows have and others have not; 0.5 if there
    /// are none.
    [[nodiscard]] double macro_auc() const;

   private:
    struct Counts {
        std::int64_t labels = 0, predictions = 0, correct = 0;
    };
    std::vector<Counts> classes_;
    bool ranks_;
    bool several_ = false;      ///< a row may have several labels
    std::vector<float> odds_;   ///< with `ranks`: of each row, the logarithm of each class's odds
    std::vector<bool> truths_;  ///< the same: whether the row is of the class
    std::int64_t rows_ = 0, among_five_ = 0, exact_ = 0;
};

}  // namespace hpo
