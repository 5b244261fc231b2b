// The contract of every stopping rule. New rules in the registry are tested without a change here.
#include <gmock/gmock.h>

#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "tests/support/mentions.hpp"
#include "tests/unit/stopping/curves.hpp"

namespace hpo {
namespace {

using testing_curves::feed;
using testing_curves::trial;
using testing_curves::upto;
using to_worker::Action;

struct Call {
    TrialRecord trial;
    Verdict verdict;
};

/// A rule, and whether it compares trials within kinds. `trial` leaves all of them of one kind.
struct Ruled {
    std::string name;
    bool within = false;
};

class EveryRule : public ::testing::TestWithParam<Ruled> {
   protected:
    [[nodiscard]] static std::string name() { return GetParam().name; }
    [[nodiscard]] std::unique_ptr<StoppingRule> rule(const Params& options = {}) const {
        Study study;
        study.objective = Objective{};
        study.budget.epochs = 20;
        PartSpec spec{name(), options};
        if (GetParam().within) {
            Dimension model;
            model.name = "model";
            model.kind = Kind::categorical;
            model.choices = {std::string("linear"), std::string("deep")};
            study.space = {model};
            spec.options["within"] = std::string("model");
        }
        auto made = make_rule(spec, study);
        return made ? *std::move(made) : nullptr;
    }

    /// Trains `trials` random curves in turn, one step each, until the rule ends or pauses them. Promoted trials
    /// resume.
    static std::vector<Call> run(StoppingRule& rule, std::int64_t trials) {
        std::vector<Call> calls;
        std::vector<TrialRecord> all;
        for (std::int64_t n = 1; n <= trials; ++n) all.push_back(trial(n, {}));
        for (int round = 0; round < 60; ++round) {
            for (TrialRecord& one : all) {
                if (one.state != TrialState::running) continue;
                Report report;
                report.step = one.steps() + 1;
                const double value = testing_curves::accuracy(one.number, report.step);
                report.metrics = {{"val_accuracy", value}, {"loss", 1 - value}};
                one.curve.push_back(report);
                const Verdict verdict = rule.report(one);
                calls.push_back({one, verdict});
                if (verdict.action == Action::pause) one.state = TrialState::paused;
                if (verdict.action == Action::stop || one.steps() == 20) {
                    one.state = TrialState::complete;
                    rule.ended(one);
                }
            }
            for (const std::int64_t number : rule.promotions()) {
                TrialRecord& one = all[static_cast<std::size_t>(number) - 1];
                EXPECT_EQ(one.state, TrialState::paused) << number;
                one.state = TrialState::running;
                rule.promoted(number);
                calls.push_back({one, {Action::go_on, "promoted", ""}});
            }
        }
        return calls;
    }
};

std::vector<Ruled> all_rules() {
    std::vector<Ruled> all;
    for (const PartOptions& part : rule_vocabulary()) {
        all.push_back({std::string(part.name)});
        if (find_option(part.options, "within")) all.push_back({std::string(part.name), true});
    }
    return all;
}
INSTANTIATE_TEST_SUITE_P(Rule, EveryRule, ::testing::ValuesIn(all_rules()),
                         [](const auto& suite) { return suite.param.name + (suite.param.within ? "_within" : ""); });

TEST_P(EveryRule, WithSeveralObjectivesLooksAtATrialAloneOrIsRefusedWithTheCure) {
    Objective several;
    several.further = {{"latency", Direction::minimize}};
    const auto made = make_rule({name(), {}}, several, 20);
    if (judges_alone(name())) {
        EXPECT_TRUE(made);
    } else {
        ASSERT_FALSE(made);
        EXPECT_THAT(made.error().message, Mentions("plateau", "divergence", "alone"));
    }
}

TEST_P(EveryRule, ActsWithItsNameAndAReason) {
    auto judge = rule();
    for (const Call& call : run(*judge, 30)) {
        if (call.verdict.rule == "promoted") continue;
        EXPECT_EQ(call.verdict.rule, call.verdict.action == Action::go_on ? "" : name());
        EXPECT_EQ(call.verdict.reason.empty(), call.verdict.action == Action::go_on);
    }
}

TEST_P(EveryRule, AReplayGivesEveryVerdictAgain) {
    auto first = rule(), second = rule();
    const auto calls = run(*first, 30);
    const auto replayed = run(*second, 30);
    ASSERT_EQ(calls.size(), replayed.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        EXPECT_EQ(calls[i].trial.number, replayed[i].trial.number);
        EXPECT_EQ(calls[i].verdict.reason, replayed[i].verdict.reason);
    }
}

TEST_P(EveryRule, AStepReportedAgainGetsTheSameAnswerWhateverOthersDidMeanwhile) {
    auto judge = rule();
    std::vector<Call> calls;
    for (std::int64_t n = 1; n <= 20; ++n) {
        TrialRecord one = trial(n, {});
        for (std::int64_t step = 1; step <= 8; ++step) {
            Report report;
            report.step = step;
            report.metrics = {{"val_accuracy", testing_curves::accuracy(n, step)}};
            one.curve.push_back(report);
            calls.push_back({one, judge->report(one)});
            if (calls.back().verdict.action != Action::go_on) break;
        }
    }
    for (const Call& call : calls) {
        const Verdict again = judge->report(call.trial);
        EXPECT_EQ(again.action, call.verdict.action) << call.trial.number << " at " << call.trial.steps();
        EXPECT_EQ(again.reason, call.verdict.reason);
    }
}

TEST_P(EveryRule, AnAttemptThatBeginsAgainFromTheFirstStepIsNotJudgedTwice) {
    auto judge = rule();
    const TrialRecord rising = trial(1, {0.5, 0.6, 0.7});
    for (std::size_t steps = 1; steps <= 3; ++steps) {
        if (judge->report(upto(rising, steps)).action == Action::pause) judge->promoted(1);
    }
    for (std::size_t steps = 1; steps <= 3; ++steps)
        EXPECT_EQ(judge->report(upto(rising, steps)).action, Action::go_on) << steps;
}

TEST_P(EveryRule, LooksAtEachReportOnceSoThatAStepCostsTheSameInALongTrial) {
    auto clean = rule(), blind = rule();
    for (std::int64_t n = 1; n <= 30; ++n) {
        TrialRecord whole = trial(n, {}), seen = whole;  // in `seen`, judged steps are made unreadable
        for (std::int64_t step = 1; step < 20; ++step) {
            Report report;
            report.step = step;
            const double value = testing_curves::accuracy(n, step);
            report.metrics = {{"val_accuracy", value}, {"loss", 1 - value}};
            for (Report& earlier : seen.curve) earlier.metrics.clear();
            whole.curve.push_back(report);
            seen.curve.push_back(report);
            const Verdict verdict = clean->report(whole), again = blind->report(seen);
            ASSERT_EQ(verdict.reason, again.reason) << n << " at " << step;
            if (verdict.action != Action::go_on) break;
        }
    }
}

TEST_P(EveryRule, AnAttemptThatGoesBackIsJudgedByWhatItReportsThen) {
    auto judge = rule(), fresh = rule();
    const auto go_on = [](StoppingRule& one, const TrialRecord& made, std::size_t from, std::size_t to) {
        std::vector<std::string> reasons;
        for (std::size_t steps = from; steps <= to; ++steps) {
            const Verdict verdict = one.report(upto(made, steps));
            reasons.push_back(verdict.reason);
            if (verdict.action == Action::pause) one.promoted(made.number);
        }
        return reasons;
    };
    const TrialRecord before = trial(1, {0.9, 0.9}, "loss");
    const TrialRecord after = trial(1, {0.5, 0.5, 0.9, 0.9, 0.9}, "loss");
    go_on(*judge, before, 1, 2);
    go_on(*judge, after, 1, 2);
    go_on(*fresh, after, 1, 2);
    EXPECT_EQ(go_on(*judge, after, 3, 5), go_on(*fresh, after, 3, 5));
}

TEST_P(EveryRule, NeverActsBeforeItsGrace) {
    const auto parts = rule_vocabulary();
    const auto part =
        std::find_if(parts.begin(), parts.end(), [](const PartOptions& one) { return one.name == name(); });
    if (!find_option(part->options, "grace")) GTEST_SKIP() << "it has no grace";
    auto judge = rule({{"grace", std::int64_t{6}}});
    for (std::int64_t n = 1; n <= 12; ++n)
        for (const std::string metric : {"val_accuracy", "loss"}) {
            const std::int64_t number = 2 * n + (metric == "loss" ? 1 : 0);
            const double value = metric == "loss" ? 1 : 0.9 - 0.05 * static_cast<double>(n);
            const auto [step, verdict] =
                feed(*judge, trial(number, {value, 4 * value, 4 * value, 4 * value, 4 * value}, metric));
            EXPECT_EQ(step, 0) << verdict.reason;
        }
}

TEST_P(EveryRule, NeverActsOnAMetricThatIsMissing) {
    auto judge = rule();
    run(*judge, 30);
    EXPECT_EQ(feed(*judge, trial(31, std::vector<double>(19, 0.0), "something_else")).first, 0);
    TrialRecord stops_reporting = trial(32, {0.9});
    judge->report(stops_reporting);
    judge->promoted(32);
    for (std::int64_t step = 2; step < 20; ++step) {
        Report report;
        report.step = step;
        stops_reporting.curve.push_back(report);
        EXPECT_EQ(judge->report(stops_reporting).action, Action::go_on) << step;
    }
}

TEST_P(EveryRule, ValuesThatAreNotFiniteNeitherActNorSpoilTheOthersRanks) {
    auto judge = rule(), clean = rule();
    const bool its_business = name() == "divergence";
    for (std::int64_t n = 101; n <= 120; ++n) {
        const double bad = n % 3 == 0 ? INFINITY : n % 3 == 1 ? -INFINITY : std::nan("");
        const auto [step, verdict] = feed(*judge, trial(n, {bad, bad, bad, bad, bad, bad}));
        EXPECT_EQ(step != 0, its_business) << verdict.reason;
        judge->ended(trial(n, {bad}));
    }
    const auto with = run(*judge, 30), without = run(*clean, 30);
    ASSERT_EQ(with.size(), without.size());
    for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i].verdict.reason, without[i].verdict.reason);
}

TEST_P(EveryRule, KnowsNothingOfTrialsItDidNotPause) {
    auto judge = rule();
    EXPECT_TRUE(judge->promotions().empty());
    EXPECT_EQ(judge->verdict_on_paused(7), "");
    judge->expect_trials(false);
    EXPECT_TRUE(judge->promotions().empty());
    judge->promoted(7);
    judge->ended(trial(7, {0.5}));
    EXPECT_EQ(judge->verdict_on_paused(7), "");
}

TEST_P(EveryRule, EveryOptionOfItsTableHasAMeaningAndADefaultInRange) {
    for (const PartOptions& part : rule_vocabulary()) {
        if (part.name != name()) continue;
        for (const Option& option : part.options) {
            EXPECT_FALSE(option.meaning.empty()) << option.name;
            if (option.type != OptionType::integer && option.type != OptionType::real) continue;
            const double fallback = number_option({}, part.options, option.name, std::nan(""));
            EXPECT_GE(fallback, option.low) << option.name;
            EXPECT_LE(fallback, option.high) << option.name;
        }
    }
}

}  // namespace
}  // namespace hpo
