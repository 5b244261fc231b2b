#include "orchestrator/sampling/posterior_ranking.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "hpo/random.hpp"
#include "hpo/standing.hpp"
#include "tests/unit/sampling/support.hpp"

namespace hpo {
namespace {

Dimension unit_dimension(const std::string& name) { return hpo::number(name, Kind::real); }

Study over_unit_square(std::uint64_t seed = 1) {
    Study study;
    study.seed = seed;
    study.sampler.type = "random";
    study.space = {unit_dimension("x"), unit_dimension("y")};
    study.objective.direction = Direction::minimize;
    return study;
}

double merit(const TrialRecord& trial) {
    return std::hypot(number_or(trial.params.at("x"), 0) - 0.3, number_or(trial.params.at("y"), 0) - 0.6);
}

double luck(std::uint64_t seed, std::int64_t trial) {
    const auto element = 2 * static_cast<std::uint64_t>(trial);
    return std::sqrt(-2 * std::log(1 - draw_unit(seed, Purpose::synthetic, 9, element))) *
           std::cos(2 * std::numbers::pi * draw_unit(seed, Purpose::synthetic, 9, element + 1));
}

StudyRecord searched(const Study& study, std::int64_t trials, double noise) {
    StudyRecord record;
    for (TrialRecord& trial : played(
             study, trials, [&](const TrialRecord& one) { return merit(one) + noise * luck(study.seed, one.number); }))
        record.trials.push_back(std::move(trial));
    return record;
}

TEST(PosteriorRanking, NamesABetterConfigurationThanTheBestValueWhereTrainingsAreNoisy) {
    double by_value = 0, by_model = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const Study study = over_unit_square(seed);
        const StudyRecord record = searched(study, 40, 0.2);
        const auto ranking = posterior_ranking(study, record);
        ASSERT_TRUE(ranking);
        by_value += merit(*best_trial(record, study.objective));
        by_model += merit(record.trial(ranking->configurations.front().trial));
        EXPECT_NEAR(ranking->noise, 0.2, 0.1) << seed;
    }
    EXPECT_LT(by_model, 0.85 * by_value);
}

TEST(PosteriorRanking, WithoutNoiseTheBestValueIsNearlyCertain) {
    const Study study = over_unit_square();
    StudyRecord record = searched(study, 30, 0);
    for (TrialRecord& trial : record.trials) trial.value = merit(trial) * merit(trial);
    const auto ranking = posterior_ranking(study, record);
    const Expected& first = ranking->configurations.front();
    EXPECT_EQ(first.trial, best_trial(record, study.objective)->number);
    EXPECT_NEAR(first.value, *record.trial(first.trial).value, 1e-3);
    EXPECT_LT(ranking->noise, 1e-3);
}

TEST(PosteriorRanking, ChancesAreAShareOfOneAndLargestNearTheTop) {
    const Study study = over_unit_square();
    const auto ranking = posterior_ranking(study, searched(study, 40, 0.1));
    double sum = 0;
    for (const Expected& one : ranking->configurations) sum += one.chance;
    EXPECT_NEAR(sum, 1, 1e-9);
    EXPECT_GT(ranking->configurations[0].chance, ranking->configurations[30].chance);
}

TEST(PosteriorRanking, ALargerObjectiveIsBetterWhereItIsMaximized) {
    Study study = over_unit_square();
    StudyRecord record = searched(study, 30, 0.05);
    const auto least = posterior_ranking(study, record);
    study.objective.direction = Direction::maximize;
    for (TrialRecord& trial : record.trials) trial.value = 10 - *trial.value;
    const auto largest = posterior_ranking(study, record);
    EXPECT_EQ(largest->configurations[0].trial, least->configurations[0].trial);
    EXPECT_NEAR(largest->configurations[0].value, 10 - least->configurations[0].value, 1e-6);
}

TEST(PosteriorRanking, FurtherSeedsOfALuckyConfigurationCount) {
    const Study study = over_unit_square();
    StudyRecord record = searched(study, 30, 0.05);
    TrialRecord& lucky = record.trials[11];
    lucky.value = -0.2;
    const auto expected_of = [&](std::int64_t trial) {
        const auto ranking = posterior_ranking(study, record);
        for (const Expected& one : ranking->configurations)
            if (one.trial == trial) return one;
        return Expected{};
    };
    const Expected before = expected_of(lucky.number);
    const double truth = merit(lucky);
    std::vector<double> seeds{-0.2};
    for (int seed = 0; seed < 4; ++seed) {
        TrialRecord again = record.trials[11];
        again.number = static_cast<std::int64_t>(record.trials.size()) + 1;
        again.repeat_of = record.trials[11].number;
        again.value = truth;
        seeds.push_back(truth);
        record.trials.push_back(again);
    }
    record.trials[11].seeds = seeds;
    record.trials[11].value = (-0.2 + 4 * truth) / 5;
    const Expected after = expected_of(record.trials[11].number);
    EXPECT_GT(after.value, before.value);
    const auto ranking = posterior_ranking(study, record);
    for (const Expected& one : ranking->configurations)
        EXPECT_LE(one.trial, 30) << "a further seed is no configuration of its own";
}

TEST(PosteriorRanking, TrialsThatFailedOrBreakConstraintsAreNotNamed) {
    Study study = over_unit_square();
    study.objective.constraints = {{.metric = "size", .max = 1}};
    StudyRecord record = searched(study, 30, 0.01);
    for (TrialRecord& trial : record.trials) {
        trial.curve = {{.step = 1, .metrics = {{"loss", *trial.value}, {"size", trial.number % 2 == 0 ? 0.5 : 2}}}};
        trial.best_step = 1;
    }
    record.trials[27].state = TrialState::failed;
    const auto ranking = posterior_ranking(study, record);
    ASSERT_EQ(ranking->configurations.size(), 14u);
    for (const Expected& one : ranking->configurations) {
        EXPECT_EQ(one.trial % 2, 0);
        EXPECT_NE(one.trial, 28);
    }
}

TEST(PosteriorRanking, IsEmptyWhereNoTrialKeepsTheConstraints) {
    Study study = over_unit_square();
    study.objective.constraints = {{.metric = "size", .max = 1}};
    StudyRecord record = searched(study, 20, 0);
    for (TrialRecord& trial : record.trials) {
        trial.curve = {{.step = 1, .metrics = {{"loss", *trial.value}, {"size", 2.0}}}};
        trial.best_step = 1;
    }
    const auto ranking = posterior_ranking(study, record);
    EXPECT_THAT(ranking->configurations, ::testing::IsEmpty());
    EXPECT_NE(ranking->why_empty, "");
}

TEST(PosteriorRanking, PenaltiesAndDivergencesHideNoGoodConfiguration) {
    for (const double penalty : {1e3, 1e200, std::numeric_limits<double>::max()}) {
        const Study study = over_unit_square();
        StudyRecord record = searched(study, 40, 0.01);
        for (TrialRecord& trial : record.trials)
            if (number_or(trial.params.at("x"), 0) > 0.4)
                trial.value = penalty / (1 + static_cast<double>(trial.number));
        const auto ranking = posterior_ranking(study, record);
        ASSERT_THAT(ranking->configurations, ::testing::Not(::testing::IsEmpty())) << penalty;
        const Expected& first = ranking->configurations.front();
        EXPECT_LT(merit(record.trial(first.trial)), merit(*best_trial(record, study.objective)) + 0.1) << penalty;
        EXPECT_NEAR(first.value, merit(record.trial(first.trial)), 0.2) << penalty;
    }
}

TEST(PosteriorRanking, ValuesTooLargeForAModelAreNoRanking) {
    const Study study = over_unit_square();
    StudyRecord record = searched(study, 20, 0);
    for (TrialRecord& trial : record.trials) trial.value = trial.number % 2 == 0 ? 1e308 : -1e308;
    EXPECT_THAT(posterior_ranking(study, record)->configurations, ::testing::IsEmpty());
}

TEST(PosteriorRanking, ClaimsNoMoreThanItsPredictionsHold) {
    Study study = over_unit_square();
    study.space.clear();
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"})
        study.space.push_back(unit_dimension(name));
    StudyRecord record;
    for (TrialRecord& trial : played(study, 100, [&](const TrialRecord& one) {
             return number_or(one.params.at("a"), 0) + 0.2 * luck(study.seed, one.number);
         }))
        record.trials.push_back(std::move(trial));
    const auto ranking = posterior_ranking(study, record);
    EXPECT_GT(ranking->noise, 0.1);
    const Expected& first = ranking->configurations.front();
    EXPECT_LT(std::abs(first.value - number_or(record.trial(first.trial).params.at("a"), 0)), 4 * first.deviation);
}

TEST(PosteriorRanking, IsEmptyForFewTrialsAndForSeveralObjectives) {
    Study study = over_unit_square();
    EXPECT_THAT(posterior_ranking(study, searched(study, 9, 0))->configurations, ::testing::IsEmpty());
    EXPECT_THAT(posterior_ranking(study, searched(study, 10, 0))->configurations, ::testing::SizeIs(10));
    StudyRecord record = searched(study, 12, 0);
    study.objective.further = {{"size", Direction::minimize}};
    EXPECT_THAT(posterior_ranking(study, record)->configurations, ::testing::IsEmpty());
}

TEST(PosteriorRanking, OfALargeStudyTheBetterConfigurationsAreRanked) {
    const Study study = over_unit_square();
    StudyRecord record;
    for (std::int64_t n = 1; n <= 300; ++n) {
        TrialRecord trial;
        trial.number = n;
        for (const char* name : {"x", "y"})
            trial.params[name] = draw_unit(5, Purpose::synthetic, static_cast<std::uint64_t>(n), name[0] - 'x');
        trial.state = TrialState::complete;
        trial.value = merit(trial);
        record.trials.push_back(trial);
    }
    const auto ranking = posterior_ranking(study, record);
    EXPECT_THAT(ranking->configurations.size(), ::testing::AllOf(::testing::Ge(100), ::testing::Le(200)));
    EXPECT_EQ(ranking->configurations[0].trial, best_trial(record, study.objective)->number);
}

}  // namespace
}  // namespace hpo
