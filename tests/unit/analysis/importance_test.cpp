// The analysis of a study's parameters and of its best trial.
#include "orchestrator/analysis/importance.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "hpo/random.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::analysis {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Returns trials of 20 steps whose loss falls with x and does not depend on y. With `stopped` a rule ends every other
/// trial at step 2, and its loss is larger by `shift`. `noise` varies from step to step.
struct Made {
    Study study;
    StudyRecord record;
};
Made made(std::int64_t trials, bool stopped = false, double noise = 0.001, double shift = 0) {
    Made all;
    all.study.name = "s";
    all.study.objective = {"loss", Direction::minimize, Objective::At::best};
    all.study.space = {Dimension{.name = "x"}, Dimension{.name = "y"}};
    all.study.worker = ScriptWorker{.command = {"train"}};
    for (std::int64_t n = 1; n <= trials; ++n) {
        const auto number = static_cast<std::uint64_t>(n);
        const double u = draw_unit(1, Purpose::synthetic, number, 0), x = 1 - u * u;  // denser near 1
        const double y = draw_unit(1, Purpose::synthetic, number, 1);
        TrialRecord trial;
        trial.number = n;
        trial.params = {{"x", x}, {"y", y}};
        trial.state = stopped && n % 2 == 0 ? TrialState::stopped : TrialState::complete;
        trial.rule = trial.state == TrialState::stopped ? "asha" : "";
        const std::int64_t steps = trial.state == TrialState::stopped ? 2 : 20;
        for (std::int64_t step = 1; step <= steps; ++step) {
            Report report;
            report.step = step;
            report.metrics["loss"] =
                1.5 - x + (trial.state == TrialState::stopped ? shift : 0) + 1.0 / static_cast<double>(step) +
                noise * draw_unit(2, Purpose::synthetic, number, 10 + static_cast<std::uint64_t>(step));
            trial.curve.push_back(report);
            score_step(trial, report, all.study.objective);
        }
        all.record.trials.push_back(std::move(trial));
    }
    return all;
}

TEST(Importance, TellsTheParameterThatMattersAndThatItsBestLieAtItsBound) {
    const Made all = made(80);
    const Importance importance = importance_of(all.study, all.record);
    EXPECT_TRUE(importance.tells());
    ASSERT_THAT(importance.effects, SizeIs(2));
    EXPECT_EQ(importance.effects[0].name, "x");
    EXPECT_GT(importance.effects[0].all.share, 0.8);
    EXPECT_LT(importance.effects[1].all.share, 0.05);
    EXPECT_EQ(importance.best, 12);
    ASSERT_TRUE(importance.effects[0].best);
    EXPECT_GT(importance.effects[0].best->share, importance.effects[1].best->share);
    ASSERT_THAT(importance.bounds, SizeIs(1));
    EXPECT_THAT(bound_text(importance.bounds[0]), AllOf(HasSubstr("x: "), Mentions("upper", "1.0")));
    const auto lines = short_text(all.study, importance);
    EXPECT_LE(lines.size(), 6u);
    EXPECT_THAT(lines.at(0), HasSubstr("What matters  x "));
    EXPECT_THAT(lines.at(0), ::testing::Not(HasSubstr("y")));
    EXPECT_THAT(whole_text(all.study, importance), Mentions("80 trials"));
}

/// Trials of one step, whose loss is x, which is denser near 0.
Made large(std::int64_t trials) {
    Made all = made(0);
    all.study.budget.epochs = 1;
    for (std::int64_t n = 1; n <= trials; ++n) {
        const auto number = static_cast<std::uint64_t>(n);
        TrialRecord trial;
        trial.number = n;
        const double u = draw_unit(1, Purpose::synthetic, number, 0);
        trial.params = {{"x", u * u}, {"y", draw_unit(1, Purpose::synthetic, number, 1)}};
        trial.value = std::get<double>(trial.params.at("x"));
        trial.best_step = 1;
        trial.state = TrialState::complete;
        trial.curve.push_back({.step = 1, .metrics = {{"loss", *trial.value}}});
        all.record.trials.push_back(std::move(trial));
    }
    return all;
}

TEST(Importance, OfALargeStudyASampleIsAnalysedAndTheReportSaysSo) {
    Made all = large(most_analysed + 1);
    const auto drawn = analysed_trials(all.study, all.record);
    EXPECT_THAT(drawn, SizeIs(most_analysed));
    const Ends ends = ends_of(all.study, all.record);
    EXPECT_EQ(ends.trained, most_analysed);
    EXPECT_EQ(ends.drawn_from, most_analysed + 1);
    EXPECT_EQ(std::count_if(ends.of.begin(), ends.of.end(), [](const auto& end) { return end.has_value(); }),
              most_analysed);
    EXPECT_THAT(whole_text(all.study, {.ends = ends}), Mentions("4000 trials", "4001"));

    all.record.trials.pop_back();
    EXPECT_THAT(analysed_trials(all.study, all.record), SizeIs(most_analysed));
    const Ends whole = ends_of(all.study, all.record);
    EXPECT_EQ(whole.drawn_from, 0);
    EXPECT_THAT(whole_text(all.study, {.ends = whole}), Mentions("4000 trials", "ended"));
}

TEST(Importance, AtOnceFewerTrialsOfALargeStudyAreAnalysedAndAllOfAnOther) {
    Made all = large(most_analysed_at_once + 1);
    const Importance few = importance_of(all.study, all.record, {}, most_analysed_at_once);
    EXPECT_EQ(few.ends.trained, most_analysed_at_once);
    EXPECT_EQ(few.ends.drawn_from, most_analysed_at_once + 1);
    EXPECT_GT(few.effects.front().all.share, 0.9);
    EXPECT_EQ(importance_of(all.study, all.record).ends.drawn_from, 0);

    all.record.trials.pop_back();
    EXPECT_EQ(whole_text(all.study, importance_of(all.study, all.record, {}, most_analysed_at_once)),
              whole_text(all.study, importance_of(all.study, all.record)));
}

TEST(Importance, TheBestTrialsAreATenthButAThousandAtMost) {
    const Made few = large(30), some = large(3000), many = large(20'000);
    EXPECT_THAT(best_trials(few.study, few.record), SizeIs(20));
    EXPECT_THAT(best_trials(some.study, some.record), SizeIs(300));
    EXPECT_THAT(best_trials(many.study, many.record), SizeIs(1000));
    EXPECT_LE(*best_trials(many.study, many.record).front()->value,
              *best_trials(many.study, many.record).back()->value);
}

TEST(Importance, TheSampleIsDrawnAmongTrialsThatHaveEndedByTheSeedAlone) {
    Made all = large(1000);
    for (std::size_t i = 0; i < 1000; i += 2) all.record.trials[i].state = TrialState::running;
    const auto drawn = analysed_trials(all.study, all.record, 100);
    EXPECT_THAT(drawn, SizeIs(100));
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
    EXPECT_TRUE(std::all_of(drawn.begin(), drawn.end(), [](std::int64_t n) { return n % 2 == 0; }));
    const auto early = std::count_if(drawn.begin(), drawn.end(), [](std::int64_t n) { return n <= 500; });
    EXPECT_GT(early, 30) << "not by their numbers";
    EXPECT_LT(early, 70);
    EXPECT_EQ(analysed_trials(all.study, all.record, 100), drawn);
    all.study.seed += 1;
    EXPECT_NE(analysed_trials(all.study, all.record, 100), drawn);
    EXPECT_THAT(analysed_trials(all.study, all.record, 499), SizeIs(499));
    EXPECT_THAT(analysed_trials(all.study, all.record, 500), SizeIs(1000)) << "none needs to be left out";
}

TEST(Importance, WhereOneParameterDecidesNearlyAllNoOtherIsCalledUseless) {
    Made all = made(30);
    const auto advice = [&] { return ::testing::PrintToString(importance_of(all.study, all.record).next); };
    // x explains 5 % of the variance, and all of the rest where z is small.
    all.study.space.push_back(Dimension{.name = "z"});
    for (TrialRecord& trial : all.record.trials) {
        const auto z = static_cast<double>(trial.number % 2);
        trial.params["z"] = z;
        trial.value.reset();
        trial.best_step = 0;
        for (Report& report : trial.curve) {
            report.metrics["loss"] += 5 * z;
            score_step(trial, report, all.study.objective);
        }
    }
    EXPECT_GT(importance_of(all.study, all.record).effects.front().all.share, 0.9);
    EXPECT_THAT(advice(), ::testing::Not(HasSubstr("fix x")));
}

TEST(Importance, NeverAdvisesToWidenARangeBeyondItsNaturalEnd) {
    Made all = made(80);
    const auto advice = [&] {
        std::string text;
        for (const std::string& line : short_text(all.study, importance_of(all.study, all.record))) text += line + '\n';
        return text;
    };
    EXPECT_THAT(advice(), Mentions("let x", "above 1.0"));
    // The same study with x turned, so that its best lie at 0.
    for (TrialRecord& trial : all.record.trials) trial.params["x"] = 1 - number_or(trial.params.at("x"), 0);
    EXPECT_THAT(advice(), ::testing::Not(HasSubstr("let x go")));
    EXPECT_THAT(advice(), ::testing::Not(HasSubstr("Bounds")));
    EXPECT_THAT(whole_text(all.study, importance_of(all.study, all.record)), HasSubstr("x: "));
}

TEST(Importance, StoppedTrialsCountByTheirPredictedEndsWhereCurvesTellThem) {
    const Made all = made(60, true);
    const Ends ends = ends_of(all.study, all.record);
    EXPECT_EQ(ends.trained, 30);
    EXPECT_EQ(ends.predicted, 30);
    EXPECT_EQ(ends.left_out, 0);
    for (std::size_t i = 1; i < 60; i += 2) {
        const double x = number_or(all.record.trials[i].params.at("x"), 0);
        EXPECT_NEAR(ends.of[i]->loss, 1.5 - x + 0.05, 0.02) << i;
    }
    EXPECT_THAT(whole_text(all.study, importance_of(all.study, all.record)), Mentions("30 trials", "30 stopped"));
}

/// Returns 40 trials of a study that stops most of them at step 2: the end depends on x alone, and the first steps by
/// `fading` on y, too.
Made mostly_stopped(double fading) {
    Made all = made(40);
    std::vector<double> early;
    const auto early_of = [](const TrialRecord& trial) { return trial.curve[1].metrics.at("loss"); };
    for (TrialRecord& trial : all.record.trials) {
        const double y = number_or(trial.params.at("y"), 0);
        trial.value.reset();
        for (Report& report : trial.curve) {
            report.metrics["loss"] += fading * y * std::exp(-static_cast<double>(report.step) / 4);
            score_step(trial, report, all.study.objective);
        }
        early.push_back(early_of(trial));
    }
    std::nth_element(early.begin(), early.begin() + 6, early.end());
    for (TrialRecord& trial : all.record.trials) {
        if (early_of(trial) < early[6]) continue;
        trial.curve.resize(2);
        trial.state = TrialState::stopped;
        trial.rule = "extrapolation";
        trial.value.reset();
        for (const Report& report : trial.curve) score_step(trial, report, all.study.objective);
    }
    return all;
}

TEST(Importance, OfAStudyThatStopsMostOfItsTrialsTellsTheParameterThatMatters) {
    const Made all = mostly_stopped(0);
    const Importance importance = importance_of(all.study, all.record);
    EXPECT_EQ(importance.ends.trained, 6);
    EXPECT_EQ(importance.ends.predicted, 34);
    ASSERT_TRUE(importance.tells());
    EXPECT_EQ(importance.effects.front().name, "x");
    EXPECT_TRUE(importance.effects.front().all.sure());
    EXPECT_FALSE(importance.effects.back().all.sure());
}

TEST(Importance, WhereNoTrialWasTrainedToItsEndTheValuesAtACommonStepAreAnalysed) {
    Made all = made(60, true);
    for (TrialRecord& trial : all.record.trials) {  // a tenth after step 2, and the others after step 6 or 18
        const std::size_t steps = trial.number % 10 == 0 ? 2 : trial.number % 3 == 0 ? 18 : 6;
        if (trial.curve.size() > steps) trial.curve.resize(steps);
        while (trial.curve.size() < steps) {
            Report next = trial.curve.back();
            ++next.step;
            score_step(trial, next, all.study.objective);
            trial.curve.push_back(std::move(next));
        }
        trial.state = TrialState::stopped;
        trial.rule = "asha";
    }
    const Ends ends = ends_of(all.study, all.record);
    EXPECT_EQ(ends.at_step, 6);
    EXPECT_EQ(ends.reached, 54);
    EXPECT_EQ(ends.left_out, 6);
    for (std::size_t i = 0; i < 60; ++i) {
        ASSERT_EQ(ends.of[i].has_value(), i % 10 != 9) << i;
        if (!ends.of[i]) continue;
        double best = INFINITY;
        for (std::size_t step = 0; step < 6; ++step)
            best = std::min(best, all.record.trials[i].curve[step].metrics.at("loss"));
        EXPECT_EQ(ends.of[i]->loss, best) << "what comes later does not count";
    }
    const Importance importance = importance_of(all.study, all.record);
    ASSERT_TRUE(importance.tells());
    EXPECT_EQ(importance.effects.front().name, "x");
    EXPECT_THAT(short_text(all.study, importance), ::testing::Contains(HasSubstr("step 6: x")));
    EXPECT_THAT(whole_text(all.study, importance), Mentions("s:", "loss", "step 6", "54 trials", "6 that"));
    for (const std::string& next : importance.next) EXPECT_THAT(next, ::testing::Not(StartsWith("fix ")));

    all.record.trials[2].state = TrialState::failed;  // counts as the worst, and is no reason to look elsewhere
    for (std::size_t i = 4; i < 12; i += 2) all.record.trials[i].state = TrialState::complete;
    EXPECT_EQ(ends_of(all.study, all.record).at_step, 0) << "four trials to their end tell those of the others";
}

TEST(Importance, AParameterThatDecidesWhichTrialsPassTheFirstRungIsNotCalledUnimportant) {
    Made all = made(80);
    for (TrialRecord& trial : all.record.trials) {
        // Trials with y above 0.6 are bad and end at the first rung, and x decides among the others.
        const bool bad = number_or(trial.params.at("y"), 0) > 0.6;
        trial.curve.resize(bad ? 2 : 6);
        trial.value.reset();
        for (Report& report : trial.curve) {
            report.metrics["loss"] += bad ? 2 : 0;
            score_step(trial, report, all.study.objective);
        }
        trial.state = TrialState::stopped;
        trial.rule = "asha";
    }
    const Importance importance = importance_of(all.study, all.record);
    EXPECT_EQ(importance.ends.at_step, 2);
    EXPECT_EQ(importance.ends.reached, 80);
    EXPECT_EQ(importance.ends.left_out, 0);
    ASSERT_TRUE(importance.tells());
    EXPECT_EQ(importance.effects.front().name, "y");
    EXPECT_GT(importance.effects.front().all.share, 0.8);
    EXPECT_THAT(whole_text(all.study, importance), Mentions("80 trials", "ends"));
}

TEST(Importance, WhatOnlyTheFirstStepsDependOnIsNotClaimed) {
    const Made all = mostly_stopped(3);
    const Importance importance = importance_of(all.study, all.record);
    for (const std::string& line : short_text(all.study, importance))
        EXPECT_THAT(line, ::testing::Not(AllOf(HasSubstr("What matters"), HasSubstr("y "))));
}

TEST(Importance, FewTrialsAreSaidToBeFewAndNothingIsClaimed) {
    const Made all = made(6);
    const Importance importance = importance_of(all.study, all.record);
    EXPECT_FALSE(importance.tells());
    EXPECT_THAT(importance.effects, IsEmpty());
    EXPECT_THAT(whole_text(all.study, importance), Mentions("Too few", "6", "at least 16"));
    for (const std::string& line : short_text(all.study, importance))
        EXPECT_THAT(line, ::testing::Not(HasSubstr("What matters")));
    EXPECT_THAT(short_text(all.study, importance_of(all.study, StudyRecord{})), IsEmpty());
}

TEST(Importance, WhatMattersDoesNotDependOnHowManyTrialsTheSamplerSpentNearTheBest) {
    // x matters everywhere. Y matters little, but where x is best it decides, and three quarters of the trials are
    // there.
    Study study;
    study.name = "s";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}, Dimension{.name = "y"}};
    StudyRecord record;
    for (std::int64_t n = 1; n <= 80; ++n) {
        const auto draw = [&](std::uint64_t of) {
            return draw_unit(1, Purpose::synthetic, static_cast<std::uint64_t>(n), of);
        };
        const double x = n % 4 == 0 ? draw(0) : 0.45 + 0.1 * draw(0), y = draw(1);
        TrialRecord trial;
        trial.number = n;
        trial.params = {{"x", x}, {"y", y}};
        trial.state = TrialState::complete;
        trial.curve.push_back(
            {.step = study.budget.epochs, .metrics = {{"loss", 4 * (x - 0.5) * (x - 0.5) + 0.1 * y}}});
        score_step(trial, trial.curve.back(), study.objective);
        record.trials.push_back(std::move(trial));
    }
    const Importance importance = importance_of(study, record);
    EXPECT_EQ(importance.effects.front().name, "x");
    EXPECT_GT(importance.effects.front().all.share, 0.8) << "0.99 in truth";
}

TEST(Importance, EqualAndHugeValuesAndNoneAreSaidInWords) {
    Made all = made(20);
    const auto text = [&] { return whole_text(all.study, importance_of(all.study, all.record)); };
    const auto set = [&](double value) {
        for (TrialRecord& trial : all.record.trials) {
            trial.value.reset();
            trial.best_step = 0;
            trial.curve = {{.step = 20, .metrics = {{"loss", trial.number % 2 == 0 ? value : 0}}}};
            score_step(trial, trial.curve.back(), all.study.objective);
        }
    };
    set(0);
    EXPECT_THAT(text(), HasSubstr("same"));
    set(1e308);
    EXPECT_THAT(text(), Mentions("%", "variance"));
    EXPECT_THAT(text(), ::testing::Not(HasSubstr("-9")));
    for (TrialRecord& trial : all.record.trials) trial.state = TrialState::failed, trial.value.reset();
    EXPECT_THAT(text(), Mentions("20 trials", "all"));
}

TEST(Importance, HowFarTheWorstValuesExplodeDoesNotMatter) {
    // The loss is 3 - x + a tenth of y, but of every tenth trial, whose y is larger than 0.9.
    const auto found = [](double exploded) {
        Made all = made(60);
        for (TrialRecord& trial : all.record.trials) {
            const double x = number_or(trial.params.at("x"), 0), y = number_or(trial.params.at("y"), 0);
            trial.value.reset();
            trial.best_step = 0;
            trial.curve = {{.step = 20, .metrics = {{"loss", y > 0.9 ? exploded : 3 - x + 0.1 * y}}}};
            score_step(trial, trial.curve.back(), all.study.objective);
        }
        return importance_of(all.study, all.record);
    };
    const Importance much = found(1e3);
    ASSERT_THAT(much.effects, SizeIs(2));
    EXPECT_GT(much.effects[0].all.share + much.effects[1].all.share, 0.8);
    for (const double exploded : {1e12, 1e160, 1e300}) {
        const Importance more = found(exploded);
        ASSERT_THAT(more.effects, SizeIs(2));
        EXPECT_NEAR(more.explained, much.explained, 1e-6) << exploded;
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_NEAR(more.effects[i].all.share, much.effects[i].all.share, 1e-6) << exploded;
            EXPECT_NEAR(more.effects[i].best->share, much.effects[i].best->share, 1e-6) << exploded;
        }
    }
}

TEST(Importance, FailedTrialsAreSaidToHaveFailed) {
    Made all = made(40);
    all.record.trials[3].state = TrialState::failed;
    EXPECT_THAT(whole_text(all.study, importance_of(all.study, all.record)), Mentions("40 trials", "1 of"));
}

TEST(Importance, RepeatsThatWereTrainedAreNotAdvisedAgain) {
    const Made all = made(40, false, 0.2);
    const auto advice = [&](const Repeats& repeats) { return importance_of(all.study, all.record, repeats).next; };
    EXPECT_THAT(advice({.deviation = 0.1, .of_best = 4}), ::testing::Contains(HasSubstr("--repeat 5")));
    EXPECT_THAT(advice({.deviation = 0.1, .of_best = 6}), ::testing::Not(::testing::Contains(HasSubstr("--repeat"))));
    EXPECT_THAT(advice({.deviation = {}, .of_best = 6}), ::testing::Not(::testing::Contains(HasSubstr("--repeat"))));
}

TEST(Importance, AJumpOfSmoothCurvesIsNotNoise) {
    Made all = made(40, false, 0.0001);
    for (TrialRecord& trial : all.record.trials)
        for (Report& report : trial.curve) report.metrics["loss"] -= report.step >= 15 ? 0.3 : 0;
    const Importance importance = importance_of(all.study, all.record);
    ASSERT_TRUE(importance.noise);
    EXPECT_LT(importance.noise->deviation, 0.0003);
    EXPECT_LT(importance.tied.size(), 5u);
}

TEST(Importance, AdvisesOnlyWhatTheStudyCanDo) {
    Made all = made(80, false, 0.2);
    const auto advice = [&] { return ::testing::PrintToString(importance_of(all.study, all.record).next); };
    EXPECT_THAT(advice(), HasSubstr("hpo best s --repeat 5"));
    all.study.worker = NoWorker{};  // trained by another program: hpo ask-tell
    EXPECT_THAT(advice(), HasSubstr("seeds"));
    EXPECT_THAT(advice(), ::testing::Not(HasSubstr("hpo run")));
    all.study.objective.further.push_back({"size", Direction::minimize});
    EXPECT_THAT(importance_of(all.study, all.record).next, IsEmpty()) << "another objective may depend on y alone";
}

TEST(Importance, TrialsThatNoiseCouldHaveOrderedOtherwiseAreTies) {
    const Made all = made(40, false, 0.2);
    const Importance importance = importance_of(all.study, all.record);
    ASSERT_TRUE(importance.noise);
    EXPECT_EQ(importance.noise->source, Noise::Source::steps);
    EXPECT_NEAR(importance.noise->deviation, 0.2 / std::sqrt(12), 0.015);
    EXPECT_FALSE(importance.tied.empty());
    const Importance repeated = importance_of(all.study, all.record, {.deviation = 1e-9});
    EXPECT_EQ(repeated.noise->source, Noise::Source::repeats);
    EXPECT_THAT(repeated.tied, IsEmpty());
}

TEST(Importance, TrialsWithinTwoStandardErrorsOfTheirDifferenceAreTies) {
    Made all = made(40, false, 0);
    // The best trial has loss L and error 0.003, the others 0.004: the error of a difference is 0.005.
    for (TrialRecord& trial : all.record.trials)
        for (Report& report : trial.curve) report.metrics["loss_se"] = 0.004;
    const auto best = std::min_element(all.record.trials.begin(), all.record.trials.end(),
                                       [](const auto& a, const auto& b) { return *a.value < *b.value; });
    best->curve.back().metrics["loss_se"] = 0.003;
    std::vector<std::int64_t> near;
    for (const TrialRecord& trial : all.record.trials)
        if (&trial != &*best && *trial.value - *best->value <= 0.01) near.push_back(trial.number);
    const Importance importance = importance_of(all.study, all.record);
    ASSERT_TRUE(importance.noise);
    EXPECT_EQ(importance.noise->source, Noise::Source::standard_errors);
    EXPECT_EQ(importance.noise->deviation, 0.003);
    EXPECT_THAT(importance.tied, ::testing::UnorderedElementsAreArray(near));
    EXPECT_THAT(near, ::testing::SizeIs(::testing::AllOf(::testing::Gt(0u), ::testing::Lt(39u))));
    EXPECT_THAT(short_text(all.study, importance), ::testing::Contains(Mentions("loss", "0.003")));
}

TEST(Importance, TrialsWithTheValueOfTheBestAreTiesAndRoundingIsNoNoise) {
    Made all = made(40, false, 0);
    std::int64_t others = 0;
    for (TrialRecord& trial : all.record.trials) {
        // Curves that vary by rounding alone.
        for (Report& report : trial.curve) report.metrics["loss"] = trial.number <= 3 ? 0.3 : 0.4;
        for (std::size_t i = 0; i < trial.curve.size(); i += 2)
            trial.curve[i].metrics["loss"] = std::nextafter(trial.curve[i].metrics["loss"], 0);
        trial.value = trial.curve.back().metrics["loss"];
        if (trial.number == 2) trial.value = std::nextafter(*trial.value, 1);
        others += trial.number > 3 ? 1 : 0;
    }
    const Importance importance = importance_of(all.study, all.record);
    EXPECT_FALSE(importance.noise);
    EXPECT_THAT(importance.tied, ::testing::SizeIs(2));
    EXPECT_EQ(others, 37);
    EXPECT_THAT(short_text(all.study, importance), ::testing::Contains(HasSubstr("equals")));
    EXPECT_THAT(short_text(all.study, importance), ::testing::Not(::testing::Contains(HasSubstr("e-1"))));
}

TEST(Importance, AParameterWhoseRangeShouldBeWiderIsNotToBeFixed) {
    Made all = made(80);
    EXPECT_THAT(importance_of(all.study, all.record).next, ::testing::Contains(HasSubstr("fix y")));
    for (TrialRecord& trial : all.record.trials)
        if (trial.number % 10 != 0) trial.params["y"] = 1.0;
    const Importance importance = importance_of(all.study, all.record);
    EXPECT_THAT(importance.next, ::testing::Contains(Mentions("let y", "above 1.0")));
    EXPECT_THAT(importance.next, ::testing::Not(::testing::Contains(HasSubstr("fix "))));
}

TEST(Importance, AnUnstableTrialMakesNoTies) {
    Made all = made(80);
    all.record.trials[0].curve[14].metrics["loss"] = 1000;
    const Importance importance = importance_of(all.study, all.record);
    ASSERT_TRUE(importance.noise);
    EXPECT_LT(importance.noise->deviation, 0.001);
    EXPECT_LT(importance.tied.size(), 20u);
}

TEST(Importance, HowWellEarlyValuesToldTheOrderOfTheEndsIsSaidWhereFullTrainingsTellIt) {
    const Made all = made(60, true);
    const auto rules = agreement_of_ranks(all.study, all.record);
    ASSERT_EQ(rules.size(), 1u);
    EXPECT_EQ(rules.at("asha").step, 2);
    EXPECT_EQ(rules.at("asha").trials, 30);
    EXPECT_THAT(stopping_text(all.study, all.record), ::testing::Contains(HasSubstr("(of 30 trials")));
    EXPECT_THAT(stopping_text(all.study, all.record, 40), ::testing::Contains(HasSubstr("of 40 drawn")));
    EXPECT_GT(rules.at("asha").share, 0.95);  // all curves have the same shape

    Made opposed = made(60, true);
    for (TrialRecord& trial : opposed.record.trials)
        trial.curve[1].metrics["loss"] = trial.curve[0].metrics["loss"] = -*trial.value;
    for (TrialRecord& trial : opposed.record.trials) trial.curve[0].metrics["loss"] += 0.5;
    EXPECT_LT(agreement_of_ranks(opposed.study, opposed.record).at("asha").share, 0.05);

    Made noisy = made(60, true, 50);
    const double share = agreement_of_ranks(noisy.study, noisy.record).at("asha").share;
    EXPECT_GT(share, 0.3);
    EXPECT_LT(share, 0.8);

    const Made few = made(10, true), none = made(30);
    EXPECT_THAT(agreement_of_ranks(few.study, few.record), IsEmpty());
    EXPECT_THAT(agreement_of_ranks(none.study, none.record), IsEmpty());
}

TEST(Stopping, NoCostIsEstimatedWhereNoStoppedTrialIsPredictedToEndNearTheBest) {
    const Made all = made(60, true, 0.001, 5);  // stopped trials are worse by 5, completed ones differ by 1 at most
    const Cost cost = cost_of_stopping(all.study, all.record).at("asha");
    EXPECT_EQ(cost.trials, 30);
    EXPECT_EQ(cost.about, 0);
    EXPECT_THAT(stopping_text(all.study, all.record),
                ::testing::Contains(Mentions("asha:", "30 trials", "none", "better than")));
}

/// Names the metric score, which may have any value.
Made renamed(Made all) {
    all.study.objective.metric = "score";
    for (TrialRecord& trial : all.record.trials)
        for (Report& report : trial.curve) report.metrics = {{"score", report.metrics.at("loss")}};
    return all;
}

TEST(Stopping, CostsAboutWhatTheTrialThatMightHaveEndedBestWouldHaveGained) {
    const Made all = renamed(made(60, true, 0.001, -0.5));  // stopped trials are better by half
    const Cost cost = cost_of_stopping(all.study, all.record).at("asha");
    double least = INFINITY, best = INFINITY;
    std::int64_t nearest = 0;
    for (const TrialRecord& trial : all.record.trials) {
        best = std::min(best, *trial.value);
        if (trial.state != TrialState::stopped || *trial.value >= least) continue;
        least = *trial.value;
        nearest = trial.number;
    }
    EXPECT_EQ(cost.nearest, nearest);
    EXPECT_NEAR(cost.predicted, least - 0.45, 0.1);  // losses still fall by 1/2 - 1/20
    EXPECT_NEAR(cost.about, best - (cost.predicted - cost.deviation), 1e-12);
    EXPECT_GT(cost.about, 0.3);
    EXPECT_THAT(stopping_text(all.study, all.record), ::testing::Contains(HasSubstr("asha: estimated")));

    Made negated = renamed(made(60, true, 0.001, -0.5));  // the same curves, of a metric that is to be large
    negated.study.objective.direction = Direction::maximize;
    for (TrialRecord& trial : negated.record.trials) {
        for (Report& report : trial.curve) report.metrics["score"] *= -1;
        trial.value = -*trial.value;
    }
    const Cost mirrored = cost_of_stopping(negated.study, negated.record).at("asha");
    EXPECT_EQ(mirrored.nearest, nearest);
    EXPECT_NEAR(mirrored.about, cost.about, 1e-12);
    EXPECT_NEAR(mirrored.predicted, -cost.predicted, 1e-12);
}

TEST(Stopping, ItsCostIsNotEstimatedFromFewerThanFiveFullTrainingsNorForTheUsersOwnStops) {
    const Made few = made(8, true);
    EXPECT_THAT(cost_of_stopping(few.study, few.record), IsEmpty());
    Made by_user = made(60, true);
    for (TrialRecord& trial : by_user.record.trials)
        if (trial.state == TrialState::stopped) trial.rule = "user";
    EXPECT_THAT(cost_of_stopping(by_user.study, by_user.record), IsEmpty());
}

}  // namespace
}  // namespace hpo::analysis
