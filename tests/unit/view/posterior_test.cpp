// The ranking of configurations by a model, as hpo best --by model and the end of hpo run show it.
#include "orchestrator/view/posterior.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo::view {
namespace {

class Posterior : public ::testing::Test {
   protected:
    Posterior() {
        study_.name = "noisy";
        study_.objective = {"loss", Direction::minimize, Objective::At::best};
        for (std::int64_t n = 1; n <= 3; ++n) {
            TrialRecord trial;
            trial.number = n;
            trial.state = TrialState::complete;
            trial.value = 0.1 * static_cast<double>(n);
            trial.params["lr"] = 0.5;
            record_.trials.push_back(trial);
        }
        record_.trials[1].seeds = {0.1, 0.3};
    }
    Study study_;
    StudyRecord record_;
    PosteriorRanking ranking_{{{2, 0.21, 0.02, 0.6}, {1, 0.26, 0.05, 0.3}, {3, 0.31, 0.04, 0.1}}, 0.07};
};

TEST_F(Posterior, IsATableWithTheMostThatAreWanted) {
    const std::string table = draw_posterior(study_, record_, ranking_, 2, {.width = 100});
    EXPECT_THAT(table, ::testing::AllOf(Mentions("noisy", "loss"), Mentions("2", "0.2100", "0.02000", "60 %", "lr=0.5"),
                                        Mentions("1", "0.2600", "30 %"), Mentions("0.07000")));
    EXPECT_THAT(table, ::testing::Not(::testing::HasSubstr("0.3100")));
}

TEST_F(Posterior, AnotherChoiceIsNamedWhereItIsTwiceAsLikelyTheBest) {
    EXPECT_THAT(better_choice_text(study_, record_, ranking_),
                Mentions("noisy", "trial 2", "0.2100 +- 0.02000", "0.2600 +- 0.05000", "trial 1", "60 %", "30 %",
                         "hpo best noisy --by model"));
    ranking_.configurations[1].value = 0.23;
    EXPECT_EQ(better_choice_text(study_, record_, ranking_), "") << "both are expected to be as good";
    ranking_.configurations[1].value = 0.26;
    ranking_.configurations[0].chance = 0.59;
    EXPECT_EQ(better_choice_text(study_, record_, ranking_), "");
}

TEST_F(Posterior, NoChoiceIsNamedWhereBothAgreeOrNothingIsRanked) {
    std::swap(ranking_.configurations[0], ranking_.configurations[1]);
    ranking_.configurations[0].chance = 0.9;
    EXPECT_EQ(better_choice_text(study_, record_, ranking_), "");
    ranking_.configurations.clear();
    EXPECT_EQ(better_choice_text(study_, record_, ranking_), "");
}

}  // namespace
}  // namespace hpo::view
