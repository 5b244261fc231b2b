// The trials that are nearly as good as the best one and quicker.
#include "orchestrator/analysis/quicker.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A study of complete trials with these losses and seconds.
struct TimedStudy {
    Study study;
    StudyRecord record;
    explicit TimedStudy(const std::vector<std::pair<double, double>>& trials) {
        study.objective = {"loss", Direction::minimize, Objective::At::best};
        for (const auto& [loss, seconds] : trials) {
            TrialRecord trial;
            trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
            trial.state = TrialState::complete;
            Report report{.step = 1, .seconds = seconds};
            report.metrics["loss"] = loss;
            report.iteration = 1;
            trial.curve.push_back(report);
            score_step(trial, report, study.objective);
            record.trials.push_back(std::move(trial));
        }
    }
    [[nodiscard]] std::vector<std::int64_t> front() const {
        std::vector<std::int64_t> numbers;
        for (const Timed& one : front_of_time(study, record)) numbers.push_back(one.trial->number);
        return numbers;
    }
};

const std::vector<std::pair<double, double>> sample{{0.10, 100}, {0.105, 90}, {0.11, 50}, {0.12, 20},  {0.13, 19},
                                                    {0.45, 1},   {0.50, 90},  {0.55, 9},  {0.60, 100}, {0.90, 5}};

TEST(FrontOfTime, HoldsTheBestAndThoseThatAreNearlyAsGoodInMuchLessTime) {
    EXPECT_THAT(TimedStudy(sample).front(), ElementsAre(1, 3, 4)) << "2 and 5 are hardly quicker, 6 is not near";
}

TEST(FrontOfTime, IsEmptyWhereTheBestTookLessThanASecond) {
    auto quick = sample;
    for (auto& [loss, seconds] : quick) seconds /= 101;
    EXPECT_THAT(TimedStudy(quick).front(), IsEmpty());
}

TEST(FrontOfTime, IsToldWithItsTimes) {
    const TimedStudy searched(sample);
    EXPECT_THAT(quicker_text(front_of_time(searched.study, searched.record)),
                Mentions("trial 3", "0.1100", "50.0 s", "trial 4", "0.1200", "20.0 s", "best", "1m 40s"));
    EXPECT_EQ(quicker_text({}), "");
}

TEST(FrontOfTime, ComparesTimesOfOneDeviceAlone) {
    TimedStudy searched(sample);
    Allocation elsewhere;
    elsewhere.device = "GPU-1";
    searched.record.trial(3).allocation = elsewhere;
    EXPECT_THAT(searched.front(), ElementsAre(1, 4));
}

TEST(FrontOfTime, IsEmptyWhereNothingIsCertain) {
    TimedStudy untimed(sample);
    untimed.record.trial(1).curve.back().seconds.reset();
    EXPECT_THAT(untimed.front(), IsEmpty());
    EXPECT_THAT(TimedStudy({sample.begin(), sample.begin() + 7}).front(), IsEmpty()) << "too few";
    TimedStudy several(sample);
    several.study.objective.further.push_back({"size", Direction::minimize});
    EXPECT_THAT(several.front(), IsEmpty());
    TimedStudy stopped(sample);
    stopped.record.trial(4).state = TrialState::stopped;
    EXPECT_THAT(stopped.front(), ElementsAre(1, 3, 5));
    std::vector<std::pair<double, double>> equal(10, {0.5, 10});
    equal[3].second = 2;
    EXPECT_THAT(TimedStudy(equal).front(), ElementsAre(1, 4)) << "it is as good";
}

}  // namespace
}  // namespace hpo::analysis
