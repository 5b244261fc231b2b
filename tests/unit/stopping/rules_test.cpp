#include "orchestrator/stopping/rules.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"
#include "tests/unit/stopping/curves.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_curves::feed;
using testing_curves::rule;
using testing_curves::trial;
using testing_curves::upto;
using to_worker::Action;

const Objective loss_objective{"val_loss", Direction::minimize, Objective::At::best};

Value whole(std::int64_t number) { return number; }

// ---- plateau

TEST(Plateau, StopsAfterPatienceStepsWithoutImprovement) {
    auto plateau = rule("plateau");
    const auto [step, verdict] = feed(*plateau, trial(1, {0.5, 0.7, 0.8, 0.8812, 0.8812, 0.8812, 0.8812, 0.8812}));
    // The median of three values reaches 0.8812 one step later than the values.
    EXPECT_EQ(step, 8);
    EXPECT_EQ(verdict.action, Action::stop);
    EXPECT_EQ(verdict.rule, "plateau");
    EXPECT_THAT(verdict.reason,
                MentionsInOrder("no improvement", "val_accuracy", "0.001", "3 steps", "0.8812", "step 4"));
}

TEST(Plateau, AWindowOfOneStepComparesTheValuesThemselves) {
    auto plateau = rule("plateau", {{"window", whole(1)}});
    EXPECT_EQ(feed(*plateau, trial(1, {0.5, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9})).first, 7);
}

TEST(Plateau, GoesOnWhileSmallImprovementsAddUpToTheLeastThatCounts) {
    std::vector<double> slow(30, 0.8);
    for (std::size_t i = 0; i < slow.size(); ++i) slow[i] += 0.0004 * static_cast<double>(i);
    EXPECT_EQ(feed(*rule("plateau"), trial(1, slow)).first, 0);
    for (std::size_t i = 0; i < slow.size(); ++i) slow[i] = 0.8 + 0.0002 * static_cast<double>(i);
    EXPECT_NE(feed(*rule("plateau"), trial(1, slow)).first, 0);
}

TEST(Plateau, OneLuckyValueDoesNotEndATrialThatStillLearns) {
    EXPECT_EQ(feed(*rule("plateau"), trial(1, {0.5, 0.9, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85})).first, 0);
}

TEST(Plateau, OneUnluckyValueDoesNotEndATrialThatStillLearns) {
    EXPECT_EQ(feed(*rule("plateau"), trial(1, {0.5, 0.6, 0.7, 0.2, 0.75, 0.3, 0.8, 0.82, 0.84})).first, 0);
}

TEST(Plateau, MinimizesWhereTheObjectiveDoes) {
    auto falling = rule("plateau", {}, 20, loss_objective), rising = rule("plateau", {}, 20, loss_objective);
    EXPECT_EQ(feed(*falling, trial(1, {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3}, "val_loss")).first, 0);
    const auto [step, verdict] = feed(*rising, trial(1, {0.3, 0.4, 0.5, 0.6, 0.7}, "val_loss"));
    EXPECT_EQ(step, 4);
    EXPECT_THAT(verdict.reason, MentionsInOrder("no improvement", "val_loss", "0.001", "3 steps", "0.3", "step 1"));
}

TEST(Plateau, WatchesAnotherMetricInTheDirectionItIsGiven) {
    const std::vector<double> rising{0.3, 0.4, 0.5, 0.6, 0.7};
    EXPECT_EQ(feed(*rule("plateau", {{"metric", std::string("loss")}}), trial(1, rising, "loss")).first, 4);
    EXPECT_EQ(feed(*rule("plateau", {{"metric", std::string("f1")}, {"direction", std::string("maximize")}}),
                   trial(1, rising, "f1"))
                  .first,
              0);
}

// ---- divergence

TEST(Divergence, StopsAtOnceWhereTheLossIsNotFinite) {
    auto divergence = rule("divergence");
    const auto [step, verdict] = feed(*divergence, trial(1, {2.3, std::nan("")}, "loss"));
    EXPECT_EQ(step, 2);
    EXPECT_THAT(verdict.reason, Mentions("loss", "not finite", "step 2"));
    EXPECT_THAT(feed(*rule("divergence"), trial(2, {0.5, INFINITY}, "val_accuracy")).second.reason,
                Mentions("val_accuracy", "not finite", "step 2"));
}

TEST(Divergence, StopsWhereTheLossStaysAboveItsFirstValue) {
    const auto [step, verdict] = feed(*rule("divergence"), trial(1, {2, 1, 4, 1, 4, 8}, "loss"));
    EXPECT_EQ(step, 6);
    EXPECT_THAT(verdict.reason, MentionsInOrder("loss", "8", "step 6", "above 1.5", "(2)", "2 reports"));
}

TEST(Divergence, ALossThatMultipliesCloseToZeroHasNotDiverged) {
    EXPECT_EQ(feed(*rule("divergence"), trial(1, {2, 0.001, 0.5, 0.7, 0.9}, "loss")).first, 0);
}

TEST(Divergence, ALossBelowZeroHasNoScaleToMultiply) {
    EXPECT_EQ(feed(*rule("divergence"), trial(1, {-2, -1, -0.5, 3, 5}, "loss")).first, 0);
}

// ---- median

TEST(Median, StopsWhatIsWorseThanTheMedianOfTheOthersRunningAverages) {
    auto median = rule("median", {{"min_trials", whole(3)}});
    for (std::int64_t n = 1; n <= 3; ++n)
        EXPECT_EQ(feed(*median, trial(n, std::vector<double>(3, 0.6 + 0.1 * static_cast<double>(n)))).first, 0);
    EXPECT_EQ(feed(*median, trial(4, {0.85, 0.85, 0.85})).first, 0);
    const auto [step, verdict] = feed(*median, trial(5, {0.9, 0.5, 0.5}));
    EXPECT_EQ(step, 0) << "its best step counts, and that was good";
    const auto [low_step, low] = feed(*median, trial(6, {0.5, 0.5, 0.5}));
    EXPECT_EQ(low_step, 1);
    EXPECT_THAT(low.reason, MentionsInOrder("val_accuracy 0.5", "1 step", "worse", "median 0.85", "5 trials"));
}

TEST(Median, WaitsForEnoughOtherTrialsAtTheStep) {
    auto median = rule("median", {{"min_trials", whole(2)}});
    EXPECT_EQ(feed(*median, trial(1, {0.9, 0.9, 0.9})).first, 0);
    EXPECT_EQ(feed(*median, trial(2, {0.1, 0.1})).first, 0);
    EXPECT_EQ(feed(*median, trial(3, {0.05})).first, 1);
}

// ---- ASHA

TEST(Asha, ATrialPausesAtARungUnlessItIsAmongTheBest) {
    auto asha = rule("asha");
    EXPECT_THAT(asha->report(trial(1, {0.5})).reason, MentionsInOrder("1st of 1", "rung 1 (1 step); none", "3"));
    EXPECT_EQ(asha->report(trial(2, {0.6})).action, Action::pause);
    EXPECT_EQ(asha->report(trial(3, {0.7})).action, Action::go_on);
    EXPECT_THAT(asha->report(trial(4, {0.4})).reason,
                MentionsInOrder("4th of 4", "rung 1 (1 step); ", "best", " is ", "promoted"));
    EXPECT_THAT(asha->promotions(), IsEmpty()) << "the one place is taken";
}

TEST(Asha, PausedTrialsAreListedWhenOthersHaveMovedThemAmongTheBest) {
    auto asha = rule("asha");
    asha->report(trial(1, {0.9}));
    asha->report(trial(2, {0.5}));
    EXPECT_THAT(asha->promotions(), IsEmpty());
    asha->report(trial(3, {0.4}));
    EXPECT_THAT(asha->promotions(), ElementsAre(1));
    asha->promoted(1);
    EXPECT_THAT(asha->promotions(), IsEmpty());
    EXPECT_EQ(asha->report(trial(1, {0.9})).action, Action::go_on) << "it repeats the step it was paused at";
    EXPECT_EQ(asha->report(trial(1, {0.9, 0.9})).action, Action::go_on) << "between the rungs";
    EXPECT_EQ(asha->report(trial(1, {0.9, 0.9, 0.9})).action, Action::pause) << "the next rung, alone";
}

TEST(Asha, HigherRungsAreListedFirstAndThenBetterValues) {
    auto asha = rule("asha", {{"factor", whole(2)}});
    for (std::int64_t n = 1; n <= 8; ++n) asha->report(trial(n, {0.1 * static_cast<double>(9 - n)}));
    EXPECT_THAT(asha->promotions(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(asha->promotions(2), ElementsAre(1, 2));
    for (const std::int64_t n : {1, 2}) {
        asha->promoted(n);
        asha->report(trial(n, {0.1 * static_cast<double>(9 - n), 0.1 * static_cast<double>(n)}));
    }
    EXPECT_THAT(asha->promotions(), ElementsAre(1, 3, 4));
}

TEST(Asha, WhenNoMoreTrialsAreExpectedTheBestOfEachRungGoesOnSoThatOneReachesTheFullBudget) {
    auto asha = rule("asha");
    asha->report(trial(1, {0.5}));
    asha->report(trial(2, {0.6}));
    EXPECT_THAT(asha->promotions(), IsEmpty());
    asha->expect_trials(false);
    EXPECT_THAT(asha->promotions(), ElementsAre(2));
    std::vector<double> curve{0.6};
    for (std::int64_t step = 2; step <= 20; ++step) {
        for (const std::int64_t waiting : asha->promotions())
            if (waiting == 2) asha->promoted(2);
        curve.push_back(0.6);
        const bool rung = step == 3 || step == 9;
        EXPECT_EQ(asha->report(trial(2, curve)).action, rung ? Action::pause : Action::go_on) << step;
    }
    EXPECT_THAT(asha->promotions(), IsEmpty()) << "trial 1 was second of two";
    EXPECT_THAT(asha->verdict_on_paused(1),
                MentionsInOrder("2nd of 2", "rung 1 (1 step); ", "best", " was ", "promoted"));
    EXPECT_EQ(asha->verdict_on_paused(2), "");
}

TEST(Asha, NoMoreThanOneInFactorGoesOnThoughEachTrialIsBetterThanThoseBefore) {
    auto asha = rule("asha");
    std::int64_t gone_on = 0;
    const auto promote_all = [&] {
        for (auto waiting = asha->promotions(); !waiting.empty(); waiting = asha->promotions(), ++gone_on)
            asha->promoted(waiting.front());
    };
    for (std::int64_t n = 1; n <= 30; ++n) {
        gone_on += asha->report(trial(n, {0.01 * static_cast<double>(n)})).action == Action::go_on ? 1 : 0;
        promote_all();
        EXPECT_EQ(gone_on, n / 3) << "after " << n;
    }
    EXPECT_THAT(asha->report(trial(31, {0.9})).reason,
                MentionsInOrder("1st of 31", "rung 1 (1 step); ", "quota", "full"));
    EXPECT_THAT(asha->verdict_on_paused(31), MentionsInOrder("1st of 31", "rung 1 (1 step); ", "best 10", "ended"));

    asha->expect_trials(false);
    EXPECT_EQ(asha->promotions().front(), 31) << "the ranking is final now";
    promote_all();
    for (std::int64_t n = 22; n <= 31; ++n) EXPECT_EQ(asha->verdict_on_paused(n), "") << n << " is among the best ten";

    asha->expect_trials(true);
    EXPECT_EQ(asha->report(trial(32, {0.95})).action, Action::pause) << "more have gone on than there were places";
}

TEST(Asha, AFreePlaceIsForTheBestOfThoseThatWait) {
    auto asha = rule("asha", {{"factor", whole(2)}});
    asha->report(trial(1, {0.8}));
    asha->report(trial(2, {0.5}));
    asha->report(trial(3, {0.4}));
    EXPECT_EQ(asha->report(trial(4, {0.7})).action, Action::go_on) << "a better one waits, but there are two places";
    EXPECT_THAT(asha->report(trial(5, {0.75})).reason,
                MentionsInOrder("2nd of 5", "rung 1 (1 step); ", "quota", "full"))
        << "the last one is for trial 1";
    EXPECT_THAT(asha->promotions(), ElementsAre(1));
    asha->promoted(1);
    EXPECT_THAT(asha->promotions(), IsEmpty());
    EXPECT_EQ(asha->report(trial(6, {0.9})).action, Action::go_on);
    EXPECT_THAT(asha->promotions(), IsEmpty()) << "three of six have gone on";
}

TEST(Asha, MoreTrialsThanBeforeTakeTheLastPromotionsBack) {
    auto asha = rule("asha");
    asha->report(trial(1, {0.5}));
    asha->expect_trials(false);
    EXPECT_THAT(asha->promotions(), ElementsAre(1));
    asha->expect_trials(true);
    EXPECT_THAT(asha->promotions(), IsEmpty());
}

TEST(Asha, AnEndedTrialIsNotPromotedButKeepsItsPlace) {
    auto asha = rule("asha");
    for (std::int64_t n = 1; n <= 3; ++n) asha->report(trial(n, {1.0 - 0.1 * static_cast<double>(n)}));
    EXPECT_THAT(asha->promotions(), ElementsAre(1));
    asha->ended(trial(1, {0.9}));
    EXPECT_THAT(asha->promotions(), IsEmpty());
}

TEST(Asha, RanksByTheBestStepOrTheLastAsTheObjectiveDoes) {
    for (const auto at : {Objective::At::best, Objective::At::last}) {
        auto asha = rule("asha", {{"grace", whole(2)}}, 20, {"val_accuracy", Direction::maximize, at});
        feed(*asha, trial(1, {0.5, 0.5}));
        feed(*asha, trial(2, {0.6, 0.6}));
        EXPECT_EQ(feed(*asha, trial(3, {0.9, 0.1})).first, at == Objective::At::best ? 0 : 2);
    }
}

TEST(Asha, AScriptThatReportsEveryFewStepsIsJudgedAtItsFirstReportBeyondARung) {
    auto asha = rule("asha", {{"grace", whole(3)}}, 100);
    TrialRecord sparse = trial(1, {0.5, 0.6});
    sparse.curve[0].step = 2;
    sparse.curve[1].step = 5;
    EXPECT_EQ(asha->report(upto(sparse, 1)).action, Action::go_on);
    EXPECT_THAT(asha->report(sparse).reason, MentionsInOrder("1st of 1", "rung 1 (3 steps); none", "3"));
}

TEST(Asha, ABudgetThatEndsAtTheFirstRungHasNoRungs) {
    auto asha = rule("asha", {{"grace", whole(5)}}, 5);
    EXPECT_EQ(feed(*asha, trial(1, {0.1, 0.1, 0.1, 0.1, 0.1})).first, 0);
}

// ---- the list

Rules rules_of(std::vector<PartSpec> list) {
    Study study;
    study.stopping = std::move(list);
    auto made = Rules::make(study);
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
}

TEST(Rules, NoRulesLetEveryTrialGoOn) {
    Rules rules = rules_of({});
    EXPECT_EQ(feed(rules, trial(1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5})).first, 0);
    EXPECT_THAT(rules.promotions(), IsEmpty());
    EXPECT_EQ(rules.verdict_on_paused(1), "");
}

TEST(Rules, StopWinsOverPauseAndPauseOverGoingOn) {
    Rules rules = rules_of({{"asha", {{"grace", whole(4)}}}, {"plateau", {{"window", whole(1)}}}});
    const auto [step, verdict] = feed(rules, trial(1, {0.5, 0.5, 0.5, 0.5}));
    EXPECT_EQ(step, 4);
    EXPECT_EQ(verdict.action, Action::stop);
    EXPECT_EQ(verdict.rule, "plateau");
    const auto [pause_step, pause] = feed(rules, trial(2, {0.5, 0.6, 0.7, 0.8}));
    EXPECT_EQ(pause_step, 4);
    EXPECT_EQ(pause.action, Action::pause);
    EXPECT_EQ(pause.rule, "asha");
}

TEST(Rules, ReasonsCountInEpochsForTheNativeWorkerAndInStepsForAScript) {
    Study study;
    study.objective = loss_objective;
    study.budget.epochs = 20;
    study.stopping = {{"plateau", {{"patience", whole(2)}, {"window", whole(1)}}}};
    const auto reason = [&] {
        auto rules = Rules::make(study);
        TrialRecord record = trial(1, {1, 0.5, 0.5, 0.5});
        for (Report& report : record.curve) report.metrics["val_loss"] = report.metrics["val_accuracy"];
        std::string text;
        for (std::int64_t step = 1; step <= 4; ++step)
            if (const Verdict verdict = rules->report(upto(record, step)); verdict.action == Action::stop)
                text = verdict.reason;
        return text;
    };
    EXPECT_THAT(reason(), MentionsInOrder("no improvement", "val_loss", "0.001", "2 steps", "0.5", "step 2"));
    study.worker = NativeWorker{};
    EXPECT_THAT(reason(), MentionsInOrder("no improvement", "val_loss", "0.001", "2 epochs", "0.5", "epoch 2"));
}

TEST(Rules, TheFirstThatStopsIsNamed) {
    Rules rules = rules_of({{"divergence", {}}, {"plateau", {{"metric", std::string("loss")}, {"window", whole(1)}}}});
    EXPECT_EQ(feed(rules, trial(1, {1, 1, 2, 2}, "loss")).second.rule, "divergence");
    EXPECT_EQ(feed(rules, trial(2, {1, 1, 1, 1}, "loss")).second.rule, "plateau");
}

TEST(Rules, ForwardsPromotionsAndVerdictsOnPausedTrials) {
    Rules rules = rules_of({{"plateau", {}}, {"asha", {}}});
    for (std::int64_t n = 1; n <= 3; ++n) rules.report(trial(n, {1.0 - 0.1 * static_cast<double>(n)}));
    EXPECT_THAT(rules.promotions(), ElementsAre(1));
    EXPECT_THAT(rules.verdict_on_paused(2),
                MentionsInOrder("2nd of 3", "rung 1 (1 step); ", "best", " was ", "promoted"));
    rules.promoted(1);
    EXPECT_THAT(rules.promotions(), IsEmpty());
    EXPECT_EQ(rules.report(trial(1, {0.9})).action, Action::go_on);
    rules.expect_trials(false);
    rules.ended(trial(1, {0.9}));
}

// ---- within

/// Returns trial `number` of a model type, after `values`.
TrialRecord typed(std::int64_t number, const std::string& type, const std::vector<double>& values) {
    TrialRecord made = trial(number, values);
    made.params = {{"type", type}};
    return made;
}

/// A native study that searches over two types of models.
Study two_types(std::vector<PartSpec> rules) {
    Study study;
    study.objective = {"val_accuracy", Direction::maximize, Objective::At::best};
    study.worker = NativeWorker{};
    study.budget.epochs = 20;
    Dimension type;
    type.name = "type";
    type.kind = Kind::categorical;
    type.choices = {std::string("trees"), std::string("mlp")};
    study.space = {type};
    study.stopping = std::move(rules);
    return study;
}

TEST(Within, ATypeThatIsBehindInTheBeginningIsComparedWithItsOwn) {
    auto rules = Rules::make(two_types({{"asha", {{"grace", whole(2)}}}}));
    ASSERT_TRUE(rules);
    for (std::int64_t n = 1; n <= 3; ++n) feed(*rules, typed(n, "trees", {0.9, 0.95 - 0.01 * static_cast<double>(n)}));
    std::string reason;
    for (std::int64_t n = 4; n <= 6; ++n)
        reason = feed(*rules, typed(n, "mlp", {0.1, 0.6 - 0.01 * static_cast<double>(n)})).second.reason;
    EXPECT_EQ(reason.substr(0, reason.find(" of 3")), "type mlp: 3rd");
    EXPECT_THAT(rules->promotions(), ElementsAre(4, 1)) << "the best of each type, one after the other";
    EXPECT_THAT(rules->promotions(1), ElementsAre(4));
    EXPECT_TRUE(rules->holds(5));
    rules->promoted(4);
    EXPECT_FALSE(rules->holds(4));
    EXPECT_THAT(rules->promotions(), ElementsAre(1));
    EXPECT_EQ(rules->verdict_on_paused(5).substr(0, 13), "type mlp: 2nd");
}

TEST(Within, TheFirstTrialOfEachTypeIsTrainedToItsEnd) {
    auto rules = Rules::make(two_types({{"extrapolation", {}}}));
    ASSERT_TRUE(rules);
    const std::vector<double> rising{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}, flat(7, 0.9);
    EXPECT_EQ(feed(*rules, typed(1, "trees", flat)).first, 0);
    EXPECT_TRUE(rules->report(typed(5, "mlp", {0.1})).lasting) << "a resumed study must know which was the first";
    EXPECT_EQ(feed(*rules, typed(5, "mlp", rising)).first, 0);
    EXPECT_NE(feed(*rules, typed(6, "mlp", {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6})).first, 0);
}

TEST(Within, ATrialThatHasEndedKeepsItsForecast) {
    auto rules = Rules::make(two_types({{"extrapolation", {}}}));
    ASSERT_TRUE(rules);
    const std::vector<double> rising{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
    for (std::int64_t n = 1; n <= 3; ++n) feed(*rules, typed(n, "mlp", rising));
    const auto before = rules->forecast(3);
    ASSERT_TRUE(before);
    TrialRecord ended = typed(3, "mlp", rising);
    ended.state = TrialState::stopped;
    rules->ended(ended);
    const auto after = rules->forecast(3);
    ASSERT_TRUE(after) << "the sampler learns the predicted end of a trial that was stopped";
    EXPECT_EQ(after->value, before->value);
}

TEST(Within, AScriptNamesTheParameter) {
    Study study = two_types({{"asha", {{"grace", whole(2)}, {"within", std::string("type")}}}});
    study.worker = ScriptWorker{};
    auto rules = Rules::make(study);
    ASSERT_TRUE(rules);
    const std::string reason = feed(*rules, typed(1, "mlp", {0.1, 0.2})).second.reason;
    EXPECT_EQ(reason.substr(0, 8), "type mlp");
    study.stopping[0].options.erase("within");
    rules = Rules::make(study);
    EXPECT_EQ(feed(*rules, typed(1, "mlp", {0.1, 0.2})).second.reason.substr(0, 5), "1st o");
    study.stopping[0].options["within"] = std::string("depth");
    const auto unknown = Rules::make(study);
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, MentionsInOrder("asha: within: \"depth\"", "not a", "categorical"));
}

TEST(Within, ATrialWithoutReportsLeavesNoTrace) {
    auto rules = Rules::make(two_types({{"extrapolation", {}}}));
    ASSERT_TRUE(rules);
    rules->ended(typed(1, "mlp", {}));
    rules->promoted(1);
    EXPECT_TRUE(rules->report(typed(2, "mlp", {0.1})).lasting);
    EXPECT_FALSE(rules->holds(1));
    EXPECT_EQ(rules->verdict_on_paused(1), "");
}

TEST(Rules, RefusesUnknownRulesAndOptionsByName) {
    Study study;
    study.stopping = {{"annealing", {}}};
    const auto unknown = Rules::make(study);
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message,
                MentionsInOrder("unknown", "\"annealing\"",
                                "plateau, divergence, median, percentile, asha, hyperband, pasha, extrapolation"));
    study.stopping = {{"asha", {{"graze", whole(1)}}}};
    const auto option = Rules::make(study);
    ASSERT_FALSE(option);
    EXPECT_THAT(option.error().message, MentionsInOrder("asha", "no option", "\"graze\""));
}

}  // namespace
}  // namespace hpo
