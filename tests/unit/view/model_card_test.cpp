#include "orchestrator/output/model_card.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ModelCard, HasDataScoresBesideAConstantPredictionConfigurationAndUse) {
    Study study;
    study.name = "rents";
    study.source = "study: rents\n# ``` in a comment\n";
    study.worker = NativeWorker{};
    study.fixed = {{"type", std::string("mlp")},
                   {"format", std::string("csv")},
                   {"path", std::string("my rents.csv")},
                   {"target", std::string("rent")}};
    const std::string card =
        model_card(study, {{"test_r2", 0.75}, {"baseline_r2", 0.0}, {"test_loss", 0.5}}, "my model.safetensors");
    EXPECT_THAT(card, AllOf(HasSubstr("\n# rents\n"), HasSubstr("hpo predict 'my model.safetensors' DATA"),
                            Mentions("`my rents.csv`", "predicts", "`rent`"), HasSubstr("| test_r2 | 0.7500 | 0 |\n"),
                            HasSubstr("| test_loss | 0.5000 |  |\n")));
    EXPECT_THAT(card, Not(HasSubstr("validation"))) << "no score is of it";
    EXPECT_THAT(card, HasSubstr("\n````yaml\nstudy: rents\n# ``` in a comment\n````\n"))
        << "the fence ends where it should";
}

TEST(ModelCard, EachScoreStandsBelowThePartThatItIsOf) {
    const std::string card = model_card({}, {{"test_accuracy", 0.75}, {"val_accuracy", 0.875}, {"loss", 0.25}}, "m");
    EXPECT_THAT(card, HasSubstr(" |\n|---|---|\n| val_accuracy | 0.8750 |\n\n"));
    EXPECT_THAT(card, AllOf(HasSubstr("training"), HasSubstr(" |\n|---|---|\n| loss | 0.2500 |\n\n")));
    EXPECT_THAT(card, AllOf(HasSubstr("constant"), HasSubstr(" |\n|---|---|---|\n| test_accuracy | 0.7500 |  |\n\n")));
}

}  // namespace
}  // namespace hpo
