// The rule that promotes the trials whose curves are predicted to end best.
#include <gmock/gmock.h>

#include <functional>

#include "tests/unit/stopping/curves.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using to_worker::Action;

constexpr std::int64_t steps = 54;  // rungs at 1, 2, 6, 18

double uniform(std::int64_t trial, std::uint64_t index) {
    return draw_unit(7, Purpose::synthetic, static_cast<std::uint64_t>(trial), index);
}

struct PlayedStudy {
    std::int64_t trained = 0, complete = 0, paused_at_1 = 0;
    double best = 1;
    std::vector<TrialRecord> trials;
    std::string reason;
    std::vector<Gate> gates;
};

/// Trains one trial at a time, promotions first, for `most` steps in all. `loss` depends on trial and step.
PlayedStudy play(std::int64_t most, const std::function<double(std::int64_t, std::int64_t)>& loss) {
    const Objective objective{"val_loss", Direction::minimize, Objective::At::best};
    auto rule = testing_curves::rule("extrapolation", {}, steps, objective);
    PlayedStudy study;
    while (study.trained < most) {
        const auto promoted = rule->promotions(1);
        if (promoted.empty())
            study.trials.push_back(testing_curves::trial(static_cast<std::int64_t>(study.trials.size()) + 1, {}));
        TrialRecord& trial =
            promoted.empty() ? study.trials.back() : study.trials[static_cast<std::size_t>(promoted.front()) - 1];
        if (!promoted.empty()) rule->promoted(trial.number);
        trial.state = TrialState::running;
        while (trial.state == TrialState::running) {
            Report report;
            report.step = trial.steps() + 1;
            report.metrics["val_loss"] = loss(trial.number, report.step);
            trial.value = std::min(trial.value.value_or(1e9), report.metrics["val_loss"]);
            study.best = std::min(study.best, *trial.value);
            trial.curve.push_back(report);
            ++study.trained;
            if (report.step == steps) {
                trial.state = TrialState::complete;
                ++study.complete;
                rule->ended(trial);
            } else if (const Verdict verdict = rule->report(trial); verdict.action == Action::pause) {
                trial.state = TrialState::paused;
                study.reason = verdict.reason;
                if (report.step == 1) ++study.paused_at_1;
            }
        }
    }
    study.gates = rule->gates();
    return study;
}

double fall(double end, std::int64_t step) { return end + (1 - end) * std::exp(-static_cast<double>(step) / 4); }

TEST(Extrapolation, TheFirstTrialIsTrainedToItsEnd) {
    const PlayedStudy study = play(steps, [](auto trial, auto step) { return fall(uniform(trial, 0), step); });
    EXPECT_EQ(study.trials.front().state, TrialState::complete);
    EXPECT_EQ(study.complete, 1);
}

TEST(Extrapolation, TheFirstTrialIsTrainedToItsEndAlsoIfOthersReachARungBefore) {
    auto rule = testing_curves::rule("extrapolation");
    const auto [fast, paused] = testing_curves::feed(*rule, testing_curves::trial(2, std::vector<double>(20, 0.5)));
    EXPECT_EQ(fast, 2);
    EXPECT_EQ(paused.action, Action::pause);
    const auto [slow, verdict] = testing_curves::feed(*rule, testing_curves::trial(1, std::vector<double>(20, 0.4)));
    EXPECT_EQ(slow, 0) << verdict.reason;
}

TEST(Extrapolation, TheNextTrialIsTrainedToItsEndIfTheFirstFailed) {
    auto rule = testing_curves::rule("extrapolation");
    TrialRecord first = testing_curves::trial(1, {});
    first.state = TrialState::failed;
    rule->ended(first);
    EXPECT_EQ(testing_curves::feed(*rule, testing_curves::trial(2, std::vector<double>(20, 0.5))).first, 0);
    EXPECT_EQ(testing_curves::feed(*rule, testing_curves::trial(3, std::vector<double>(20, 0.6))).first, 2);
}

TEST(Extrapolation, AStudyWhoseEarlyRanksTellIsCutHard) {
    const PlayedStudy study = play(40 * steps, [](auto trial, auto step) { return fall(uniform(trial, 0), step); });
    EXPECT_GT(study.trials.size(), 200u);  // the same steps train 40 trials in full
    EXPECT_LT(study.best, 0.02);
}

TEST(Extrapolation, AStudyWhoseEarlyRanksTellNothingIsTrainedInFull) {
    const PlayedStudy study = play(40 * steps, [](auto trial, auto step) {
        const double noise = 0.01 * uniform(trial, static_cast<std::uint64_t>(step));
        return step < 30 ? 0.9 + noise : fall(uniform(trial, 0), step - 29) + noise;
    });
    EXPECT_GE(study.complete, 32);
}

TEST(Extrapolation, WhereTheBestBeginWorstThosePredictedBestGoOn) {
    const PlayedStudy study = play(40 * steps, [](auto trial, auto step) {
        const double end = uniform(trial, 0);
        return step < 25 ? 1 - 0.1 * end * static_cast<double>(step) / 25 : fall(end, step - 24);
    });
    EXPECT_LT(study.best, 0.03);
    double later = 0;
    std::int64_t count = 0;
    for (const TrialRecord& trial : study.trials)
        if (trial.number > 40 && trial.state == TrialState::complete) later += uniform(trial.number, 0), ++count;
    ASSERT_GT(count, 0);
    EXPECT_LT(later / static_cast<double>(count), 0.35);  // 0.5 for random choices
}

TEST(Extrapolation, NoTrialPausesAtTheFirstStepWhereThatTellsNothing) {
    const PlayedStudy study = play(40 * steps, [](auto trial, auto step) {
        return step == 1 ? 1.0 + uniform(trial, 1) : fall(uniform(trial, 0), step);
    });
    EXPECT_EQ(study.paused_at_1, 0);
    EXPECT_EQ(study.gates.front().step, 1);
    EXPECT_FALSE(study.gates.front().certain);
    EXPECT_TRUE(study.gates.at(1).certain);
}

TEST(Extrapolation, TrialsPauseAtTheFirstStepOnceItIsSeenToTell) {
    const PlayedStudy study = play(40 * steps, [](auto trial, auto step) { return fall(uniform(trial, 0), step); });
    EXPECT_GT(study.paused_at_1, 100);
    EXPECT_EQ(study.gates.front().step, 1);
    EXPECT_TRUE(study.gates.front().certain);
}

TEST(Extrapolation, TrialsOfASingleStepDoNotShowThatTheFirstStepTells) {
    auto rule = testing_curves::rule("extrapolation", {}, steps, {"val_loss", Direction::minimize});
    for (std::int64_t number = 1; number <= 30; ++number) {
        TrialRecord trial = testing_curves::trial(number, {uniform(number, 0)}, "val_loss");
        trial.value = trial.curve[0].metrics["val_loss"];
        EXPECT_EQ(rule->report(trial).action, Action::go_on) << number;
        trial.state = TrialState::complete;
        rule->ended(trial);
    }
}

TEST(Extrapolation, SaysWhereATrialIsPredictedToEndAndItsPlace) {
    const PlayedStudy study = play(20 * steps, [](auto trial, auto step) { return fall(uniform(trial, 0), step); });
    EXPECT_THAT(study.reason,
                testing::MatchesRegex("predicted .*0\\.[0-9]+, [0-9]+(st|nd|rd|th) .*[0-9]+ .*step [0-9]+; .*"));
}

TEST(Extrapolation, PredictsTheEndsOfPausedTrials) {
    const Objective objective{"val_loss", Direction::minimize, Objective::At::best};
    auto rule = testing_curves::rule("extrapolation", {}, steps, objective);
    EXPECT_FALSE(rule->forecast(1));
    auto first = testing_curves::trial(1, {0.9, 0.8}, "val_loss");
    rule->report(testing_curves::upto(first, 1));
    rule->report(first);
    ASSERT_TRUE(rule->forecast(1));
    EXPECT_FALSE(rule->forecast(1)->tells);  // no trial has ended yet
}

/// A rule for which trial 1 is complete, and trial 2 has repeated its first three values.
class RepeatedBest : public ::testing::Test {
   protected:
    RepeatedBest() : rule_(testing_curves::rule("extrapolation", {}, steps, {"val_loss", Direction::minimize, {}})) {
        for (std::int64_t step = 1; step < steps; ++step) report(1);
        report(1, TrialState::complete);
        for (int step = 1; step <= 2; ++step) report(2);
        verdict_ = report(2);
    }
    Verdict report(std::int64_t number, TrialState state = TrialState::running, double end = 0.25) {
        TrialRecord& trial = trials_[number];
        trial.number = number;
        trial.state = state;
        Report report;
        report.step = trial.steps() + 1;
        report.metrics["val_loss"] = fall(end, report.step);
        trial.value = report.metrics["val_loss"];
        trial.curve.push_back(report);
        if (state == TrialState::running) return rule_->report(trial);
        rule_->ended(trial);
        return {};
    }
    /// Trials 2 to `last` repeat trial 1.
    void repeat_up_to(std::int64_t last) {
        for (std::int64_t number = 3; number <= last; ++number)
            for (int step = 1; step <= 3; ++step) report(number);
    }
    /// Trial 2 is promoted and trained to its end.
    void finish_second(double end) {
        rule_->promoted(2);
        for (std::int64_t step = 4; step < steps; ++step) EXPECT_EQ(report(2, TrialState::running, end).action, go);
        report(2, TrialState::complete, end);
    }
    static constexpr Action go = Action::go_on;
    std::unique_ptr<StoppingRule> rule_;
    std::map<std::int64_t, TrialRecord> trials_;
    Verdict verdict_;
};

TEST_F(RepeatedBest, ATrialThatRepeatsAnotherIsPausedAndForecastToEndAsThatDid) {
    EXPECT_EQ(verdict_.action, Action::pause);
    EXPECT_THAT(verdict_.reason, MentionsInOrder("repeats", "trial 1", "every", "same"));
    EXPECT_TRUE(verdict_.lasting);
    EXPECT_TRUE(rule_->holds(2));
    EXPECT_EQ(rule_->verdict_on_paused(2), verdict_.reason);
    const auto forecast = rule_->forecast(2);
    ASSERT_TRUE(forecast);
    EXPECT_TRUE(forecast->repeats);
    EXPECT_DOUBLE_EQ(forecast->value, *trials_[1].value);
}

TEST_F(RepeatedBest, ItGoesOnOnlyOnceNoFurtherTrialsCome) {
    EXPECT_THAT(rule_->promotions(), testing::IsEmpty());
    rule_->expect_trials(false);
    ASSERT_THAT(rule_->promotions(), testing::ElementsAre(2));
    rule_->promoted(2);
    EXPECT_FALSE(rule_->holds(2));
    EXPECT_THAT(rule_->promotions(), testing::IsEmpty());
    for (std::int64_t step = 4; step < steps; ++step) EXPECT_EQ(report(2).action, Action::go_on) << step;
}

TEST_F(RepeatedBest, OneIsTrainedToItsEndOnceThatIsCheapAndIfItEndsAlikeTheOthersStayPaused) {
    repeat_up_to(10);
    EXPECT_THAT(rule_->promotions(), testing::IsEmpty()) << "it would take a third of all steps";
    repeat_up_to(60);
    ASSERT_THAT(rule_->promotions(), testing::ElementsAre(2));
    finish_second(0.25);
    EXPECT_THAT(rule_->promotions(), testing::IsEmpty());
    EXPECT_TRUE(rule_->forecast(3)->repeats);
    EXPECT_THAT(rule_->verdict_on_paused(3), MentionsInOrder("repeats", "trial 1", "every", "same"));
}

TEST_F(RepeatedBest, IfOneEndsDifferentlyTheOthersWaitAtTheirRungsLikeAnyTrial) {
    repeat_up_to(60);
    const std::int64_t forecasts = rule_->forecasts_made();
    finish_second(0.1);
    EXPECT_GT(rule_->forecasts_made(), forecasts) << "the sampler learns anew what paused trials are worth";
    EXPECT_TRUE(rule_->holds(3));
    EXPECT_FALSE(rule_->forecast(3)->repeats);
    EXPECT_THAT(rule_->verdict_on_paused(3), testing::HasSubstr("predicted"));
    const std::vector<std::int64_t> promotable = rule_->promotions();
    EXPECT_THAT(promotable, testing::SizeIs(18)) << "one in three, two of which were trained";
    rule_->promoted(promotable.front());
    EXPECT_EQ(report(promotable.front()).action, go);
    Verdict verdict;
    for (int step = 1; step <= 3 && verdict.action == go; ++step) verdict = report(61);
    EXPECT_THAT(verdict.reason, testing::Not(testing::HasSubstr("repeats"))) << "nor is a new one a repetition";
}

TEST_F(RepeatedBest, OneThatFailsShowsNothing) {
    rule_->expect_trials(false);
    repeat_up_to(4);
    rule_->promoted(2);
    report(2, TrialState::failed);
    EXPECT_TRUE(rule_->forecast(3)->repeats);
    EXPECT_THAT(rule_->promotions(), testing::ElementsAre(3, 4));
}

TEST_F(RepeatedBest, OneThatHasEndedDoesNotGoOn) {
    report(2, TrialState::stopped);
    rule_->expect_trials(false);
    EXPECT_FALSE(rule_->holds(2));
    EXPECT_THAT(rule_->promotions(), testing::IsEmpty());
}

TEST(Extrapolation, ATrialThatRepeatsAnotherIsNotPausedBeforeTheGracePeriodEnds) {
    auto rule = testing_curves::rule("extrapolation", {{"grace", std::int64_t{5}}}, 20,
                                     {"val_accuracy", Direction::maximize, {}});
    const std::vector<double> values{0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    testing_curves::feed(*rule, testing_curves::trial(1, values));
    const auto [step, verdict] = testing_curves::feed(*rule, testing_curves::trial(2, values));
    EXPECT_EQ(step, 5);
    EXPECT_THAT(verdict.reason, MentionsInOrder("repeats", "trial 1", "every", "same"));
}

}  // namespace
}  // namespace hpo
