// The rules percentile, hyperband and pasha.
#include <gmock/gmock.h>

#include <map>

#include "tests/unit/stopping/curves.hpp"

#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_curves::feed;
using testing_curves::rule;
using testing_curves::trial;
using testing_curves::upto;
using to_worker::Action;

TEST(Percentile, EndsWhatIsNotAmongTheBestSoManyPercent) {
    auto percentile = rule("percentile", {{"best", 25.0}, {"min_trials", std::int64_t{4}}});
    for (std::int64_t n = 1; n <= 4; ++n)
        EXPECT_EQ(feed(*percentile, trial(n, {0.5 + 0.1 * static_cast<double>(n)})).first, 0) << n;
    const auto [step, verdict] = feed(*percentile, trial(5, {0.81}));
    EXPECT_EQ(step, 1);
    EXPECT_EQ(verdict.action, Action::stop);
    EXPECT_THAT(verdict.reason, MentionsInOrder("val_accuracy 0.81", "1 step", "0.825", "25 %", "4 trials"));
    EXPECT_EQ(feed(*percentile, trial(6, {0.9})).first, 0);
}

TEST(Percentile, ItsReasonShowsAsManyDigitsAsTellTheNumbersApart) {
    auto percentile = rule("percentile", {});
    for (std::int64_t n = 1; n <= 5; ++n) (void)feed(*percentile, trial(n, {0.8250004}));
    EXPECT_THAT(feed(*percentile, trial(6, {0.8250003})).second.reason, Mentions("0.8250003 after 1", "0.8250004"));
}

TEST(Percentile, CountsTheBestSoFarAndLooksAtTheMetricItIsGiven) {
    auto percentile = rule("percentile", {{"best", 50.0}, {"metric", std::string("val_loss")}});
    for (std::int64_t n = 1; n <= 5; ++n) (void)feed(*percentile, trial(n, {0.4, 0.5}, "val_loss"));
    EXPECT_EQ(feed(*percentile, trial(6, {0.3, 0.9}, "val_loss")).first, 0);
    EXPECT_EQ(feed(*percentile, trial(7, {0.41}, "val_loss")).first, 1);
}

TEST(Hyperband, BracketsBeginLaterAndLaterAndCostAboutTheSame) {
    const auto hyperband = rule("hyperband", {}, 81);
    EXPECT_EQ(hyperband->plan("epoch"),
              "of 143 trials 81 pause after epochs 1, 3, 9 and 27; 34 pause after epochs 3, 9 and 27; 15 pause after "
              "epochs 9 and 27; 8 pause after epoch 27; 5 run to their end; one in 3 continues");
    std::map<std::int64_t, int> paused;  // by step; 0 stands for trials that never paused
    for (std::int64_t n = 1; n <= 143; ++n) {
        auto alone = rule("hyperband", {}, 81);
        ++paused[feed(*alone, trial(n, std::vector<double>(80, 0.5))).first];
    }
    EXPECT_EQ(paused, (std::map<std::int64_t, int>{{1, 81}, {3, 34}, {9, 15}, {27, 8}, {0, 5}}));
}

TEST(Hyperband, ATrialIsComparedWithThoseOfItsBracketAlone) {
    auto hyperband = rule("hyperband", {}, 4);  // rungs 1 and 3: brackets of 9, 5 and 3
    std::string reasons;
    for (std::int64_t n = 1; n <= 17; ++n) reasons += feed(*hyperband, trial(n, {0.5, 0.5, 0.5})).second.reason + "\n";
    EXPECT_THAT(reasons, Mentions("bracket 1 of 3", "1st of 1", "rung 1 (1 step)", "before 3 trials"));
    EXPECT_THAT(reasons, Mentions("bracket 2 of 3", "1st of 1", "rung 1 (3 steps)", "before 3 trials"));
    EXPECT_THAT(hyperband->promotions(), ElementsAre(2, 1, 3, 5)) << "one of 5 at step 3, three of 9 at step 1";
    EXPECT_THAT(hyperband->promotions(2), ElementsAre(2, 1));
}

TEST(Hyperband, OfThoseThatComeToAStepItsGatesTellTheShareThatGoesOn) {
    const auto gates = rule("hyperband", {}, 4)->gates();  // 9, 5 and 3 trials
    ASSERT_EQ(gates.size(), 2u);
    EXPECT_NEAR(gates[0].share, (3.0 + 5 + 3) / 17, 1e-12);
    EXPECT_NEAR(gates[1].share, (1 + 5.0 / 3 + 3) / 11, 1e-12);
}

/// Trains trials one after the other, each until the rule ends it. Returns the reasons of those that paused at the
/// step.
std::vector<std::string> paused_at(StoppingRule& judge, std::int64_t step, const std::vector<TrialRecord>& trials) {
    std::vector<std::string> reasons;
    std::map<std::int64_t, std::size_t> seen;
    std::vector<std::int64_t> going;
    const auto go = [&](const TrialRecord& one) {
        for (std::size_t& at = seen[one.number]; at < one.curve.size();) {
            const Verdict verdict = judge.report(upto(one, ++at));
            if (verdict.action == Action::go_on) continue;
            if (static_cast<std::int64_t>(at) == step) reasons.push_back(verdict.reason);
            return;
        }
    };
    for (const TrialRecord& one : trials) {
        go(one);
        for (const std::int64_t number : judge.promotions()) {
            judge.promoted(number);
            go(trials[static_cast<std::size_t>(number) - 1]);
        }
    }
    return reasons;
}

TEST(Pasha, WhileRanksStayNoTrialGoesBeyondTheSecondRung) {
    auto pasha = rule("pasha", {}, 40);
    std::vector<TrialRecord> trials;
    for (std::int64_t n = 1; n <= 27; ++n) {
        std::vector<double> curve;
        for (int step = 1; step < 40; ++step) curve.push_back(0.01 * static_cast<double>(n) + 0.001 * step);
        trials.push_back(trial(n, curve));
    }
    const auto reasons = paused_at(*pasha, 3, trials);
    EXPECT_GE(reasons.size(), 8u);
    for (const std::string& reason : reasons) EXPECT_THAT(reason, Mentions("rung 2 (3 steps)", "last"));
    EXPECT_THAT(paused_at(*pasha, 9, trials), IsEmpty());
    pasha->expect_trials(false);
    const auto last = pasha->promotions();
    ASSERT_FALSE(last.empty());
    EXPECT_EQ(last.front(), 27) << "the best is trained to its end";
    pasha->promoted(27);
    for (std::size_t step = 4; step < 40; ++step)
        EXPECT_EQ(pasha->report(upto(trials[26], step)).action, Action::go_on) << step;
}

TEST(Pasha, RanksThatChangeBringTheNextRungIntoForce) {
    auto pasha = rule("pasha", {}, 40);
    EXPECT_THAT(pasha->plan("epoch"), MentionsInOrder("in 3", "epochs 1 and 3", "epochs 9 and 27", "alone"));
    std::vector<TrialRecord> trials;
    for (std::int64_t n = 1; n <= 27; ++n) {  // each begins better than those before and ends worse
        std::vector<double> curve;
        for (int step = 1; step < 40; ++step) curve.push_back(0.01 * static_cast<double>(step < 3 ? n : 60 - n));
        trials.push_back(trial(n, curve));
    }
    (void)paused_at(*pasha, 0, trials);
    const auto gates = pasha->gates();
    ASSERT_EQ(gates.size(), 4u);
    EXPECT_TRUE(gates[2].certain) << "the third rung is in force";
}

TEST(Pasha, RanksThatChangeBetweenTrialsThatCrossAgainAndAgainDoNot) {
    const auto third_rung_in_force = [](const std::vector<double>& curve) {
        Objective last;
        last.at = Objective::At::last;
        auto pasha = rule("pasha", {{"grace", std::int64_t{3}}}, 40, last);
        std::vector<TrialRecord> trials{trial(1, std::vector<double>(39, 0.85))};
        for (std::int64_t n = 2; n <= 5; ++n) trials.push_back(trial(n, std::vector<double>(39, 0.5)));
        trials.push_back(trial(6, curve));
        (void)paused_at(*pasha, 0, trials);
        return pasha->gates().back().certain;
    };
    std::vector<double> curve(39, 0.84);  // at the second rung, step 9, worse than the first trial's
    curve[0] = curve[1] = curve[2] = 0.86;
    EXPECT_TRUE(third_rung_in_force(curve)) << "better at the first rung, step 3: their order has changed";
    curve[5] = 0.86;
    EXPECT_FALSE(third_rung_in_force(curve)) << "the order changed three times: what is left between them is noise";
}

TEST(Plans, SayWhereEachRulePausesTrials) {
    EXPECT_THAT(rule("asha")->plan("epoch"), MentionsInOrder("in 3", "epochs 1, 3 and 9"));
    EXPECT_THAT(rule("asha", {{"grace", std::int64_t{20}}})->plan("step"),
                Mentions("no rung", "below", "budget", "every"));
    EXPECT_THAT(rule("extrapolation")->plan("epoch"),
                MentionsInOrder("in 3", "epochs 2 and 7", "predicted", "epoch 1,"));
    EXPECT_EQ(rule("plateau")->plan("epoch"), "");
}

}  // namespace
}  // namespace hpo
