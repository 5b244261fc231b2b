// The number of trials that a study runs.
#include <gmock/gmock.h>

#include "orchestrator/preview/samples.hpp"

namespace hpo {
namespace {

Study choices_of(std::vector<Value> choices) {
    Study study;
    study.worker = ScriptWorker{.command = {"train"}};
    study.space = {{.name = "a", .kind = Kind::categorical, .choices = std::move(choices)}};
    study.budget.trials = 64;
    return study;
}

TEST(TrialsOfAStudy, AreNoMoreThanTheConfigurationsOfItsSpace) {
    EXPECT_EQ(trials_of(choices_of({1.0})), 1);
    EXPECT_EQ(trials_of(choices_of({1.0, 2.0, 3.0})), 3);
    Study study = choices_of({1.0, 2.0, 3.0});
    study.budget.trials = 2;
    EXPECT_EQ(trials_of(study), 2);
    study.space.push_back({.name = "x", .low = 0, .high = 1});
    study.budget.trials = 64;
    EXPECT_EQ(trials_of(study), 64);
    EXPECT_EQ(trials_of(Study{.space = {}}), 1);
}

TEST(TrialsOfAStudy, CountConfigurationsThatAreAllowedEachWithItsSeeds) {
    Study study = choices_of({1.0, 2.0, 3.0});
    study.where = {"a >= 2"};
    EXPECT_EQ(trials_of(study), 2);
    study.repeats = 3;
    EXPECT_EQ(trials_of(study), 6);
}

}  // namespace
}  // namespace hpo
