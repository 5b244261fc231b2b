#include "worker/training/class_tally.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "hpo/random.hpp"

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
    // Among equal logits the first ones count.
    const std::vector<float> equal(7, 0.0F);
    tally.add(equal, std::vector<std::int32_t>{4});
    tally.add(equal, std::vector<std::int32_t>{6});
    EXPECT_EQ(tally.top5(), 0.5);
}

TEST(ClassTally, TheAreaUnderTheCurveIsTheShareOfPairsInOrder) {
    ClassTally tally(2, true);
    // The odds of class 1 are 1, 2, 2, 4 and -3; labels 0, 1, 0, 1, 0.
    const std::vector<float> logits{5, 6, 0, 2, 1, 3, -4, 0, 3, 0};
    tally.add(std::span(logits).first(6), std::vector<std::int32_t>{0, 1, 0});
    tally.add(std::span(logits).subspan(6), std::vector<std::int32_t>{1, 0});
    // One of six pairs is of equals, and the others are in order; the same for class 0.
    EXPECT_NEAR(tally.macro_auc(), 5.5 / 6, 1e-12);
}

TEST(ClassTally, TheAreaOfSeveralClassesIsTheMeanOfEachAgainstAllOthers) {
    ClassTally tally(4, true);  // of which the last has no rows
    std::vector<float> logits;
    std::vector<std::int32_t> labels;
    for (std::uint64_t row = 0; row < 60; ++row) {
        labels.push_back(static_cast<std::int32_t>(row % 3));
        for (std::uint64_t c = 0; c < 4; ++c)
            logits.push_back(static_cast<float>(draw_unit(1, Purpose::synthetic, row, c) * 4 + (row % 3 == c ? 1 : 0)));
    }
    tally.add(logits, labels);
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
        const auto probability = [&](std::size_t row) {
            double all = 0;
            for (std::size_t j = 0; j < 4; ++j) all += std::exp(logits[row * 4 + j]);
            return std::exp(logits[row * 4 + c]) / all;
        };
        double in_order = 0, pairs = 0;
        for (std::size_t a = 0; a < 60; ++a)
            for (std::size_t b = 0; b < 60; ++b)
                if (a % 3 == c && b % 3 != c) {
                    in_order += probability(a) > probability(b) ? 1 : 0;
                    pairs += 1;
                }
        sum += in_order / pairs;
    }
    EXPECT_NEAR(tally.macro_auc(), sum / 3, 1e-12);
    EXPECT_GT(tally.macro_auc(), 0.6);
}

TEST(ClassTally, NearlyCertainPredictionsKeepTheirOrder) {
    ClassTally tally(2, true);
    tally.add(std::vector<float>{-50, 50, -60, 60}, std::vector<std::int32_t>{0, 1});
    EXPECT_EQ(tally.macro_auc(), 1);
}

TEST(ClassTally, NothingIsZero) {
    EXPECT_EQ(ClassTally(3, true).macro_auc(), 0.5);
    EXPECT_EQ(ClassTally(3).top5(), 0);
    EXPECT_EQ(ClassTally(3).macro_f1(), 0);
}

TEST(ClassTally, OfLabelsARowMayHaveSeveral) {
    ClassTally tally(3, true);
    const std::vector<float> logits = {2, -1, 3, /**/ -1, -2, 1, /**/ 1, 1, -1, /**/ -3, -1, -2};
    const std::vector<float> labels = {1, 0, 1, /**/ 0, 0, 0, /**/ 1, 0, 0, /**/ 1, 0, 0};
    tally.add(logits, std::span<const float>(labels));
    const ClassTally::Metrics metrics = tally.metrics();
    EXPECT_DOUBLE_EQ(*metrics.exact, 0.25);  // the first row
    EXPECT_FALSE(metrics.top5);
    // The first label has 2 of 3, one missed; the second is predicted once and wrongly; the third 1 right and 1 wrong.
    EXPECT_DOUBLE_EQ(metrics.f1, (4.0 / 5 + 0 + 2.0 / 3) / 3);
    // For the first label, the rows with 2 and 1 are above -1, the one with -3 is below; no row has the second; the row
    // of the third is above all others.
    EXPECT_DOUBLE_EQ(*metrics.auc, (2.0 / 3 + 1) / 2);
}

}  // namespace
}  // namespace hpo
