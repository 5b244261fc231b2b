// The trials and values that a study learns from an earlier one.
#include "orchestrator/sampling/prior_study.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "orchestrator/sampling/expectation.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;

Dimension varied(std::string name, double low, double high) {
    Dimension d;
    d.name = std::move(name);
    d.low = low;
    d.high = high;
    return d;
}

Study learner(Space space, const std::string& sampler = "gp") {
    Study study;
    study.name = "new";
    study.space = std::move(space);
    study.sampler.type = sampler;
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.policy.scaled = false;
    study.worker = ScriptWorker{.command = {"train"}};
    return study;
}

TrialRecord told_trial(std::int64_t number, Params params, std::optional<double> value,
                       TrialState state = TrialState::complete) {
    TrialRecord trial;
    trial.number = number;
    trial.params = std::move(params);
    trial.value = value;
    trial.state = state;
    return trial;
}

StudyRecord told_record(std::vector<TrialRecord> trials) {
    StudyRecord record;
    record.trials.assign(trials.begin(), trials.end());
    return record;
}

TEST(PriorStudy, RanksItsTrialsByItsOwnObjective) {
    Study other = learner({varied("x", 0, 1)});
    other.objective.direction = Direction::maximize;
    const PriorStudy prior = prior_study(
        learner({varied("x", 0, 1)}), other,
        told_record({told_trial(1, {{"x", 0.1}}, 10.0), told_trial(2, {{"x", 0.2}}, 1000.0),
                     told_trial(3, {{"x", 0.3}}, 20.0), told_trial(4, {{"x", 0.4}}, 2000.0, TrialState::failed),
                     told_trial(5, {{"x", 0.5}}, 30.0, TrialState::running)}));
    ASSERT_EQ(prior.trials.size(), 4u) << "the one that has not ended tells nothing";
    EXPECT_LT(prior.trials[1].score, prior.trials[2].score);
    EXPECT_LT(prior.trials[2].score, prior.trials[0].score);
    EXPECT_LT(prior.trials[0].score, prior.trials[3].score) << "a failure is worst whatever it reached";
    EXPECT_NEAR(prior.trials[1].score, -1.1503, 1e-3) << "an eighth of a normal distribution lies below";
    EXPECT_NEAR(prior.trials[1].score + prior.trials[3].score, 0, 1e-9);
}

TEST(PriorStudy, TakesWhatBothStudiesVaryAndLeavesOutWhatLiesOutside) {
    Study other = learner({varied("x", 0, 1), varied("gone", 0, 1)});
    other.fixed["fixed"] = 0.5;
    const Study study = learner({varied("x", 0.5, 2), varied("fixed", 0, 1), varied("fresh", 0, 1)});
    const PriorStudy prior = prior_study(study, other,
                                         told_record({told_trial(1, {{"x", 0.75}, {"gone", 0.1}}, 1.0),
                                                      told_trial(2, {{"x", 0.25}, {"gone", 0.1}}, 2.0)}));
    ASSERT_EQ(prior.trials.size(), 1u);
    EXPECT_EQ(prior.trials[0].params, (Params{{"x", 0.75}, {"fixed", 0.5}}));
    EXPECT_EQ(prior.outside, 1);
    EXPECT_THAT(prior.common, ElementsAre("x"));
    EXPECT_THAT(prior.drawn, ElementsAre("fresh"));
    EXPECT_THAT(describe(prior), MentionsInOrder("new: 1 trial; x in", "1 outside", "; fresh", "drawn"));
}

TEST(PriorStudy, ANativeStudyThatDidNotVaryAParameterHadTheWorkersDefault) {
    Study other = learner({varied("lr", 0, 1)}), study = learner({varied("lr", 0, 1), varied("dropout", 0, 0.5)});
    for (Study* one : {&other, &study})
        one->worker = NativeWorker{}, one->fixed["task"] = std::string("classification");
    const PriorStudy prior = prior_study(study, other, told_record({told_trial(1, {{"lr", 0.5}}, 1.0)}));
    EXPECT_EQ(prior.trials.at(0).params, (Params{{"lr", 0.5}, {"dropout", 0.0}}));
    EXPECT_TRUE(prior.drawn.empty());
}

TEST(PriorStudy, IsWrittenAndReadBackAsTheSame) {
    PriorStudy prior{
        "old", {{{{"x", 0.1}, {"n", std::int64_t{3}}, {"c", std::string("a")}}, -0.123456789012345}}, 2, {"x"}, {"y"}};
    const auto again = read_prior_studies(write_prior_studies({prior}));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->at(0).trials.at(0).params, prior.trials[0].params);
    EXPECT_EQ(again->at(0).trials.at(0).score, prior.trials[0].score);
    EXPECT_EQ(describe(again->at(0)), describe(prior));
    EXPECT_FALSE(read_prior_studies("[{}]"));
    EXPECT_FALSE(read_prior_studies("oops"));
}

/// Returns the least value that a study finds in `trials` trials of a bowl with its minimum at `centre`.
double least_found(const std::vector<PriorStudy>& priors, const std::string& sampler, double centre,
                   std::int64_t trials, std::uint64_t seed) {
    Study study = learner({varied("a", 0, 1), varied("b", 0, 1), varied("c", 0, 1), varied("d", 0, 1)}, sampler);
    study.seed = seed;
    study.budget.trials = trials;
    if (!priors.empty()) study.warm_start = {"old"};
    Proposer proposer = *Proposer::make(study, priors);
    double least = INFINITY;
    for (std::int64_t number = 1; number <= trials; ++number) {
        const Proposal proposal = *proposer.propose(number);
        double value = 0;
        for (const double x : proposal.point) value += (x - centre) * (x - centre);
        least = std::min(least, value);
        TrialRecord trial = told_trial(number, proposal.params, value);
        trial.point = proposal.point;
        proposer.proposed(trial);
        proposer.tell(trial);
    }
    return least;
}

/// Returns a study with 60 random trials of a bowl with its minimum at `centre`.
PriorStudy bowl(double centre) {
    const Study old = learner({varied("a", 0, 1), varied("b", 0, 1), varied("c", 0, 1), varied("d", 0, 1)}, "random");
    Proposer proposer = *Proposer::make(old);
    StudyRecord record;
    for (std::int64_t number = 1; number <= 60; ++number) {
        const Proposal proposal = *proposer.propose(number);
        double value = 0;
        for (const double x : proposal.point) value += (x - centre) * (x - centre);
        record.trials.push_back(told_trial(number, proposal.params, 100 + 7 * value));
    }
    return prior_study(old, old, record);
}

TEST(WarmStart, FindsTheBestSoonerWhereTheOtherStudyIsLikeThisOne) {
    for (const char* sampler : {"gp", "tpe"}) {
        double with = 0, without = 0;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            with += std::log(least_found({bowl(0.3)}, sampler, 0.32, 12, seed));
            without += std::log(least_found({}, sampler, 0.32, 12, seed));
        }
        EXPECT_LT(with, without - 5 * std::log(1.5)) << sampler << ": a geometric mean of less than two thirds";
    }
}

TEST(WarmStart, DoesLittleHarmWhereTheOtherStudyMisleads) {
    for (const char* sampler : {"gp", "tpe"}) {
        double with = 0, without = 0;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            with += std::log(std::max(1e-4, least_found({bowl(0.9)}, sampler, 0.1, 40, seed)));
            without += std::log(std::max(1e-4, least_found({}, sampler, 0.1, 40, seed)));
        }
        EXPECT_LT(with, without + 5 * std::log(2.0)) << sampler << ": a geometric mean of less than twice";
    }
}

TEST(WarmStart, TriesTheBestOfTheOtherStudyAfterTheConfigurationsOfStart) {
    Study study = learner({varied("x", 0, 1)});
    study.start = {{{"x", 0.5}}};
    study.warm_start = {"old"};
    PriorStudy prior{"old", {{{{"x", 0.75}}, 1.0}, {{{"x", 0.25}}, -1.0}, {{{"x", 0.1}}, 0.0}}, 0, {"x"}, {}};
    Proposer proposer = *Proposer::make(study, {prior});
    EXPECT_EQ(proposer.propose(1)->params, study.start[0]);
    EXPECT_EQ(proposer.propose(2)->params, (Params{{"x", 0.25}}));
    EXPECT_EQ(proposer.propose(3)->params, (Params{{"x", 0.1}}));
    EXPECT_EQ(proposer.about(), "gp; learns from ended trials of other studies: 3 of old");
}

TEST(WarmStart, DoesNotTryTwoOfTheBestThatHardlyDifferNorABadOneInTheirPlace) {
    Study study = learner({varied("x", 0, 1)});
    study.warm_start = {"old"};
    PriorStudy prior{
        "old", {{{{"x", 0.25}}, 0.0}, {{{"x", 0.2501}}, 1.0}, {{{"x", 0.7}}, 2.0}, {{{"x", 0.95}}, 3.0}}, 0, {"x"}, {}};
    Proposer proposer = *Proposer::make(study, {prior});
    EXPECT_NE(proposer.propose(3)->params, (Params{{"x", 0.7}})) << "it is not of the best quarter";
    for (int more = 0; more < 8; ++more) prior.trials.push_back({{{"x", 0.9}}, 4.0 + more});
    proposer = *Proposer::make(study, {prior});
    EXPECT_EQ(proposer.propose(1)->params, (Params{{"x", 0.25}}));
    EXPECT_EQ(proposer.propose(3)->params, (Params{{"x", 0.7}}));
    EXPECT_NE(proposer.propose(4)->params, (Params{{"x", 0.95}}));
}

TEST(WarmStart, TriesTheMiddleOfTheSpaceSecondSinceTheOtherStudyMayMislead) {
    Study study = learner({varied("x", 0, 1)}, "auto");
    study.warm_start = {"old"};
    PriorStudy prior{"old", {{{{"x", 0.75}}, 1.0}, {{{"x", 0.25}}, -1.0}, {{{"x", 0.1}}, 0.0}}, 0, {"x"}, {}};
    Proposer proposer = *Proposer::make(study, {prior});
    EXPECT_EQ(proposer.propose(1)->params, (Params{{"x", 0.25}}));
    EXPECT_EQ(proposer.propose(2)->params, (Params{{"x", 0.5}}));
    EXPECT_EQ(proposer.propose(3)->params, (Params{{"x", 0.1}}));
    EXPECT_THAT(proposer.about(), Mentions("second", "middle"));
}

/// The slopes for targets at points of a line, where two other studies predict scores.
std::vector<double> slopes(const std::vector<double>& first, const std::vector<double>& second,
                           const std::vector<double>& targets) {
    SearchSpace space{{0}, {false}, [](const Point&) { return std::vector<bool>{true}; }};
    space.expected.resize(2);
    Inputs inputs{targets.size(), {false, false, false}, std::vector<double>(targets.size(), 0.5)};
    for (const auto& scores : {first, second})
        for (const double score : scores) inputs.values.push_back(score / 4);
    return slopes_along_expected(inputs, space, targets);
}

TEST(WarmStart, SlopesOfTheMeanFollowFromHowWellOtherStudiesAgree) {
    const std::vector<double> rising{-1, 0, 1}, falling{1, 0, -1}, apart{1, -2, 1};
    const std::vector<double> agrees = slopes(rising, apart, rising);
    ASSERT_EQ(agrees.size(), 3U);
    EXPECT_EQ(agrees[0], 0);
    // By hand: precision 2 / .5 + 4 = 8 and 6 / .5 + 4 = 16, pull .35 * 4 + 2 / .5 = 5.4 and .35 * 4 = 1.4.
    EXPECT_NEAR(agrees[1], 4 * 5.4 / 8, 1e-12);
    EXPECT_NEAR(agrees[2], 4 * 1.4 / 16, 1e-12);
    EXPECT_NEAR(slopes(falling, apart, rising)[1], 4 * (1.4 - 4) / 8, 1e-12);
    // Two studies that say the same share one slope.
    const std::vector<double> twice = slopes(rising, rising, rising);
    EXPECT_NEAR(twice[1], twice[2], 1e-12);
    EXPECT_NEAR(twice[1], 4 * 5.4 / 12, 1e-12);
}

TEST(WarmStart, IsRefusedForASamplerThatLearnsNothing) {
    for (const char* sampler : {"random", "sobol", "grid"}) {
        Study study = learner({varied("x", 0, 1)}, sampler);
        study.warm_start = {"old"};
        const auto refused = Proposer::make(study);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().message,
                  "sampler " + std::string(sampler) +
                      " learns from no trial, so that warm_start would change nothing: leave one of the two out");
    }
}

}  // namespace
}  // namespace hpo
