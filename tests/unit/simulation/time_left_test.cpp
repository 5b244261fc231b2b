// The predicted time left against the truth: whole studies are simulated with their rules, and at each moment
// after the first quarter the prediction is compared with the time that the study then took.
#include "orchestrator/simulation/time_left.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "hpo/random.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "tests/support/played_study.hpp"

namespace hpo {
namespace {

using testing::play_study;
using testing::PlayedStudy;

/// The quality of the predictions after the first quarter of a study.
struct Score {
    double worst = 1;    ///< largest factor by name the truth missed the predicted range; 1 if it never did
    double inside = 0;   ///< share of predictions whose range held the truth
    double middle = 0;   ///< share of predictions whose expected value was within a factor of two
    double moments = 0;  ///< number of predictions
};

Score score(const PlayedStudy& played) {
    Score score;
    StudyRecord record;
    const double end = played.events.back().time;
    for (const StoredEvent& stored : played.events) {
        apply(record, stored, played.study.objective);
        const double left = end - stored.time;
        if (stored.time < end / 4 || left < end / 50 || stored.sequence % 23 != 0) continue;
        const auto predicted = time_left(played.study, record, stored.time);
        if (!predicted) return {1e9};
        ++score.moments;
        score.inside += predicted->least <= left && left <= predicted->most ? 1 : 0;
        score.middle += predicted->expected < 2 * left && left < 2 * predicted->expected ? 1 : 0;
        score.worst = std::max({score.worst, predicted->least / left, left / predicted->most});
    }
    score.inside /= score.moments;
    score.middle /= score.moments;
    return score;
}

Study study_with(std::vector<PartSpec> rules, std::int64_t trials, std::int64_t epochs) {
    Study study;
    study.name = "played";
    study.budget.trials = trials;
    study.budget.epochs = epochs;
    study.stopping = std::move(rules);
    return study;
}

/// Adds a simulation's score to the average of several. `share` is its weight; the worst of all is kept.
void add(Score& all, const Score& one, double share) {
    all.inside += share * one.inside;
    all.middle += share * one.middle;
    all.worst = std::max(all.worst, one.worst);
}

TEST(TimeLeft, AfterAQuarterOfTheStudyTheRangeHoldsAndItsMiddleIsWithinAFactorOfTwo) {
    const PartSpec asha{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}, plateau{"plateau", {}};
    const PartSpec divergence{"divergence", {}}, extrapolation{"extrapolation", {}};
    for (const auto& rules : {std::vector<PartSpec>{}, {plateau}, {asha}, {plateau, asha}, {divergence, extrapolation}})
        for (const std::int64_t trials : {40, 64, 200})
            for (const bool from_start : {false, true}) {
                const bool rungs = !rules.empty() && rules.back().type != "plateau";
                if (from_start && !rungs) continue;
                Score total{1, 0, 0, 0};
                const std::vector<std::uint64_t> seeds =
                    trials == 200 ? std::vector<std::uint64_t>{1, 2} : std::vector<std::uint64_t>{1, 2, 3, 4};
                for (const std::uint64_t seed : seeds)
                    for (const std::size_t workers : {1u, 4u})
                        add(total,
                            score(play_study(study_with(rules, trials, 20),
                                             {.workers = workers, .from_start = from_start, .seed = seed})),
                            0.5 / static_cast<double>(seeds.size()));
                const std::string name = std::to_string(rules.size()) + " rules, " +
                                         (rules.empty() ? "" : rules.back().type) + ", " + std::to_string(trials) +
                                         " trials" + (from_start ? ", scripts that start over" : "");
                EXPECT_GT(total.inside, 0.8) << name;
                EXPECT_GT(total.middle, rungs ? 0.8 : 0.93) << name;
                // In a study with rungs, a single promotion near the end takes most of the time left, and it cannot be
                // predicted.
                EXPECT_LT(total.worst, rungs ? 8 : 2.5) << name;
                if (std::getenv("HPO_DRAW"))
                    std::printf("%-50s range off by %.2f, inside %.2f, middle within two %.2f\n", name.c_str(),
                                total.worst, total.inside, total.middle);
            }
}

TEST(TimeLeft, OfTrialsThatEndByThemselvesFollowsFromTheStepsOfThoseThatHaveEnded) {
    auto played = play_study(study_with({}, 40, 20), {.workers = 2});
    const double end = played.events.back().time;
    played.study.budget.open = true;
    played.study.budget.epochs = Budget::most_epochs;
    StudyRecord record;
    auto event = played.events.begin();
    for (; event->time < end / 2; ++event) {
        apply(record, *event, played.study.objective);
        if (std::any_of(record.trials.begin(), record.trials.end(),
                        [](const TrialRecord& trial) { return is_final(trial.state); }))
            continue;
        EXPECT_FALSE(time_left(played.study, record, event->time));
    }
    const auto left = time_left(played.study, record, event->time);
    ASSERT_TRUE(left);
    EXPECT_LT(left->least, 2 * (end - event->time));
    EXPECT_GT(left->most, (end - event->time) / 2);
}

TEST(TimeLeft, PatienceMayEndAStudySooner) {
    auto played = play_study(study_with({}, 100, 20), {.workers = 2});
    StudyRecord record;
    const double half = played.events.back().time / 2;
    for (const StoredEvent& stored : played.events)
        if (stored.time < half) apply(record, stored, played.study.objective);
    const auto before = *time_left(played.study, record, half);
    played.study.budget.patience = 1;
    const auto with_patience = *time_left(played.study, record, half);
    EXPECT_LT(with_patience.least, before.least / 2);
    EXPECT_LE(with_patience.most, before.most);
}

}  // namespace
}  // namespace hpo
