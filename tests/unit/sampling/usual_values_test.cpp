#include "orchestrator/sampling/usual_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hpo/text.hpp"
#include "tests/support/mentions.hpp"
#include "tests/unit/sampling/support.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Dimension between(const std::string& name, double low, double high, Kind kind = Kind::real) {
    Dimension d = number(name, kind, high);
    d.low = low;
    return d;
}

Dimension one_of_texts(const std::string& name, std::vector<Value> choices) {
    Dimension d = number(name, Kind::categorical);
    d.choices = std::move(choices);
    return d;
}

TEST(UsualValues, AreTheDefaultsOfLibraries) {
    const Params values = usual_values({between("svc__C", 1e-3, 1e3), between("optimizer.beta_2", 0, 1),
                                        between("min-samples-leaf", 1, 20, Kind::integer),
                                        one_of_texts("kernel", {std::string("poly"), std::string("rbf")}),
                                        one_of_texts("bootstrap", {true, false})});
    EXPECT_EQ(values, (Params{{"svc__C", 1.0},
                              {"optimizer.beta_2", 0.999},
                              {"min-samples-leaf", std::int64_t{1}},
                              {"kernel", std::string("rbf")},
                              {"bootstrap", true}}));
}

TEST(UsualValues, AreAbsentForOtherNamesAndWhereTheStudyPrefersAValue) {
    Dimension preferred = between("momentum", 0, 1);
    preferred.prior = 0.5;
    Dimension dependent = between("dropout", 0, 1);
    dependent.high_of = "momentum";
    EXPECT_TRUE(usual_values({preferred, dependent, between("c", 0, 9), between("temperature", 0, 9),
                              one_of_texts("kernel", {std::string("linear"), std::string("poly")}),
                              one_of_texts("degree", {std::string("rbf")})})
                    .empty());
}

TEST(UsualValues, StayWithinTheRangeAndOnItsSteps) {
    Dimension stepped = between("batch.n_estimators", 10, 95, Kind::integer);
    stepped.step = 20;
    const Params values = usual_values({stepped, between("momentum", 0, 0.5), between("weight_decay", 0.1, 1)});
    EXPECT_EQ(values, (Params{{"batch.n_estimators", std::int64_t{90}}, {"momentum", 0.5}, {"weight_decay", 0.1}}));
}

TEST(UsualValues, OfALearningRateAndADepthFollowFromTheModel) {
    const auto of = [](const Space& space, const std::string& name) { return to_text(usual_values(space).at(name)); };
    const Dimension rate = between("learning_rate", 1e-5, 1), depth = between("max_depth", 1, 20, Kind::integer);
    const Dimension alpha = between("alpha", 1e-6, 10);
    EXPECT_EQ(of({rate}, "learning_rate"), "0.001");
    EXPECT_EQ(of({rate, depth}, "learning_rate"), "0.1");
    EXPECT_EQ(of({rate, depth}, "max_depth"), "6");
    EXPECT_EQ(of({depth}, "max_depth"), "20");
    EXPECT_EQ(of({alpha}, "alpha"), "1.0");
    EXPECT_EQ(of({alpha, rate}, "alpha"), "1e-04");
}

Study study_with(const Space& space) {
    Study study;
    study.space = space;
    study.policy.scaled = false;
    return study;
}

TEST(UsualValues, AreTheSecondTrialOfAutoAndOthersAreInTheMiddle) {
    const Dimension loss = one_of_texts("loss", {std::string("hinge"), std::string("log"), std::string("squared")});
    const Study study = study_with({between("C", 0, 10), between("x", 2, 4), loss});
    const auto trials = played(study, 2, [](const TrialRecord&) { return 0.0; });
    EXPECT_EQ(trials.at(0).params, (Params{{"C", 5.0}, {"x", 3.0}, {"loss", std::string("hinge")}}));
    EXPECT_EQ(trials.at(1).params, (Params{{"C", 1.0}, {"x", 3.0}, {"loss", std::string("hinge")}}));
    EXPECT_THAT(make_proposer(study).about(), Mentions("second", "defaults"));
}

TEST(UsualValues, AreNotTriedWhereTheyAreNotAllowedNorWithAnotherSampler) {
    Study study = study_with({between("C", 0, 10), between("x", 2, 4)});
    study.where = {"C > 2"};
    for (const TrialRecord& trial : played(study, 2, [](const TrialRecord&) { return 0.0; }))
        EXPECT_GT(number_or(trial.params.at("C"), 0), 2);
    EXPECT_THAT(make_proposer(study).about(), Not(HasSubstr("defaults")));
    study.where.clear();
    study.sampler.type = "sobol";
    for (const TrialRecord& trial : played(study, 2, [](const TrialRecord&) { return 0.0; }))
        EXPECT_NE(number_or(trial.params.at("C"), 0), 1);
}

TEST(UsualValues, ThatAreTheMiddleAreTriedOnceAndNotAnnounced) {
    const Study study = study_with({between("C", 0, 2)});
    EXPECT_THAT(make_proposer(study).about(), Not(HasSubstr("defaults")));
    const auto trials = played(study, 2, [](const TrialRecord&) { return 0.0; });
    EXPECT_EQ(trials.at(0).params, (Params{{"C", 1.0}}));
    EXPECT_NE(trials.at(1).params, (Params{{"C", 1.0}}));
}

}  // namespace
}  // namespace hpo
