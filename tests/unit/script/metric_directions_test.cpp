#include "orchestrator/script/syntax/metric_directions.hpp"

#include <gtest/gtest.h>

namespace hpo::script {
namespace {

TEST(MetricDirections, AreThoseOfTheWordsInAName) {
    for (const char* name : {"val_accuracy", "AUC", "test-F1", "Dice"}) EXPECT_EQ(better_of(name), Better::higher);
    for (const char* name : {"loss", "Test RMSE", "eval/perplexity"}) EXPECT_EQ(better_of(name), Better::lower);
}

TEST(MetricDirections, AreUnknownWhereTheNameDoesNotTell) {
    for (const char* name : {"reward", "neg_mse", "accuracy_gap", "accuracy_loss", "time_per_loss"})
        EXPECT_EQ(better_of(name), Better::unknown) << name;
}

}  // namespace
}  // namespace hpo::script
