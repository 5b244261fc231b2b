#include "worker/training/class_tally.hpp"

#include <gtest/gtest.h>

namespace hpo {
namespace {

/// Rows of `classes` logits that predict these classes.
void add_predictions(ClassTally& tally, std::int32_t classes, const std::vector<std::int32_t>& predicted,
                     const std::vector<std::int32_t>& labels) {
    std::vector<float> logits(predicted.size() * static_cast<std::size_t>(classes));
    for (std::size_t row = 0; row < predicted.size(); ++row)
        logits[row * static_cast<std::size_t>(classes) + static_cast<std::size_t>(predicted[row])] = 1;
    tally.add(logits, labels);
}

TEST(ClassTally, MacroF1IsTheMeanOverClassesThatOccur) {
    ClassTally tally(4);
    // Class 0: 2 TP, 1 FP, 1 FN. Class 1: 1 TP, 1 FP, 1 FN. Classes 2 and 3 do not occur.
    add_predictions(tally, 4, {0, 0, 1}, {0, 0, 0});
    add_predictions(tally, 4, {1, 0}, {1, 1});
    EXPECT_NEAR(tally.macro_f1(), (2 * 2.0 / 6 + 2 * 1.0 / 4) / 2, 1e-12);
    add_predictions(tally, 4, {1}, {2});
    EXPECT_NEAR(tally.macro_f1(), (4.0 / 6 + 2.0 / 5 + 0) / 3, 1e-12);
}

TEST(ClassTally, TopFiveCountsLabelsAmongTheFiveGreatestLogits) {
    ClassTally tally(7);
    const std::vector<float> logits{7, 6, 5, 4, 3, 2, 1};
    tally.add(logits, std::vector<std::int32_t>{4});
    EXPECT_EQ(tally.top5(), 1);
    tally.add(logits, std::vector<std::int32_t>{5});
    EXPECT_EQ(tally.top5(), 0.5);
    // Of equal logits the first ones count.
    const std::vector<float> equal(7, 0.0F);
    tally.add(equal, std::vector<std::int32_t>{4});
    tally.add(equal, std::vector<std::int32_t>{6});
    EXPECT_EQ(tally.top5(), 0.5);
}

TEST(ClassTally, NothingIsZero) {
    EXPECT_EQ(ClassTally(3).top5(), 0);
    EXPECT_EQ(ClassTally(3).macro_f1(), 0);
}

}  // namespace
}  // namespace hpo
