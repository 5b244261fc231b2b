#include "worker/training/class_weights.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

ClassWeights parsed(const std::string& text) {
    const auto weights = parse_class_weights(text);
    if (!weights) throw std::runtime_error(weights.error().message);
    return *weights;
}

TEST(ClassWeights, AreNoneOrBalancedOrANumberForEachClass) {
    EXPECT_FALSE(parsed("none").any());
    EXPECT_TRUE(parsed("balanced").balanced);
    EXPECT_THAT(parsed("1, 2.5,0 ,1e-1").given, ElementsAre(1, 2.5, 0, 0.1));
    for (const char* text : {"", "balance", "1 2", "1,,2", "1,-2", "nan", "inf", "1, x", "0, 0"})
        EXPECT_THAT(parse_class_weights(text).error().message, HasSubstr("training.class_weights: ")) << text;
}

TEST(ClassWeights, BalancedClassesCountAlikeAndTheMeanOverTargetsIsOne) {
    const std::int64_t counts[] = {80, 20, 0};
    const auto weights = class_weights_of(parsed("balanced"), Task::classification, counts, 100);
    EXPECT_FLOAT_EQ(80 * weights[0], 20 * weights[1]);
    EXPECT_FLOAT_EQ(80 * weights[0] + 20 * weights[1], 100);
}

TEST(ClassWeights, GivenWeightsOfClassesKeepTheirRatioAndOfLabelsTheirSize) {
    const std::int64_t counts[] = {75, 25};
    EXPECT_THAT(class_weights_of(parsed("1, 5"), Task::classification, counts, 100),
                ElementsAre(FloatEq(.5), FloatEq(2.5)));
    EXPECT_THAT(class_weights_of(parsed("1, 5"), Task::multi_label, counts, 100), ElementsAre(1, 5));
}

TEST(ClassWeights, ABalancedLabelCountsAsMuchAsItsAbsence) {
    const std::int64_t counts[] = {20, 50, 0, 100};
    EXPECT_THAT(class_weights_of(parsed("balanced"), Task::multi_label, counts, 100), ElementsAre(4, 1, 1, 1));
}

TEST(ClassWeights, MustSuitTheData) {
    DataShape shape;
    shape.outputs = 3;
    EXPECT_TRUE(check_class_weights(parsed("1, 2, 3"), shape));
    EXPECT_EQ(check_class_weights(parsed("1, 2"), shape).error().message,
              "training.class_weights: 2 numbers for 3 classes");
    shape.task = Task::regression;
    EXPECT_TRUE(check_class_weights(parsed("none"), shape));
    EXPECT_THAT(check_class_weights(parsed("balanced"), shape).error().message, HasSubstr("target"));
}

}  // namespace
}  // namespace hpo
