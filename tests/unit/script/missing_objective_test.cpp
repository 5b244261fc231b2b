#include "orchestrator/script/syntax/missing_objective.hpp"

#include <gmock/gmock.h>

#include "hpo/nearest_metric.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MissingObjective, TheNamesThatWerePrintedAreListedWithTheOneThatWasMeant) {
    const std::string text = missing_objective("val_accuracy", MetricsFrom::output, "",
                                               {{{"epoch", 1}, {"loss", 2}, {"val_acc", 0.5}}, "", "x"});
    EXPECT_THAT(text, Mentions("'val_accuracy'", "'val_acc'", "objective.metric"));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("nearest")), Not(HasSubstr("{number}"))));
}

TEST(MissingObjective, WithoutASimilarNameTheNearestLineAndThePatternAreTheCure) {
    EXPECT_THAT(missing_objective("val_loss", MetricsFrom::output, "", {{{"loss", 2}}, "", "validation 0.5"}),
                AllOf(Mentions("0.5"), HasSubstr("(?<val_loss>{number})"), Not(HasSubstr("mean"))));
    EXPECT_THAT(missing_objective("val_loss", MetricsFrom::file, "/a/b.csv", {{}, "it is a directory", ""}),
                Mentions("never", "/a/b.csv", "directory"));
    EXPECT_THAT(missing_objective("val_loss", MetricsFrom::shim, "", {}), HasSubstr("worker.shim"));
}

TEST(MissingObjective, OfACommandThatPrintedNothingSaysSoAndAsksForNoPattern) {
    ReadInstead nothing;
    nothing.silent = true;
    EXPECT_THAT(missing_objective("loss", MetricsFrom::output, "", nothing),
                AllOf(Mentions("nothing", "'loss'", "file"), Not(HasSubstr("{number}"))));
    EXPECT_THAT(missing_objective("loss", MetricsFrom::output_of_rank_0, "", nothing),
                AllOf(Mentions("'loss'", "rank 0", "nothing"), Not(HasSubstr("{number}"))));
    EXPECT_THAT(missing_objective("loss", MetricsFrom::file, "/a/b.csv", nothing), Mentions("never", "/a/b.csv"));
}

TEST(NearestMetric, AbbreviationsAndLongerNamesAreMeantAndNeverAnotherSplit) {
    const Metrics metrics{{"epoch", 0}, {"loss", 0}, {"val_acc", 0}, {"test/f1", 0}};
    EXPECT_EQ(nearest_metric("val_accuracy", metrics), "val_acc");
    EXPECT_EQ(nearest_metric("accuracy", metrics), "val_acc");
    EXPECT_EQ(nearest_metric("Val-Acc", metrics), "val_acc");
    EXPECT_EQ(nearest_metric("F1", metrics), "test/f1");
    EXPECT_EQ(nearest_metric("val_loss", metrics), "");
    EXPECT_EQ(nearest_metric("rmse", metrics), "");
}

}  // namespace
}  // namespace hpo::script
