#include "orchestrator/sampling/proposer.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "support.hpp"

namespace hpo {
namespace {

Dimension choice(std::string name, int count) {
    Dimension d;
    d.name = std::move(name);
    d.kind = Kind::categorical;
    for (int i = 0; i < count; ++i) d.choices.emplace_back(std::string(1, static_cast<char>('a' + i)));
    return d;
}

Dimension real(std::string name) {
    Dimension d;
    d.name = std::move(name);
    return d;
}

Study study_of(Space space, std::string sampler) {
    Study study;
    study.space = std::move(space);
    study.sampler.type = std::move(sampler);
    return study;
}

TrialRecord ended(TrialRecord trial, TrialState state, std::optional<double> value) {
    trial.state = state;
    trial.value = value;
    return trial;
}

/// The points that `auto` proposes with these rules, if each trial reports `steps` steps.
std::vector<Point> proposed_by_auto(std::vector<PartSpec> rules, std::int64_t steps) {
    Study study = study_of({real("x"), real("y")}, "auto");
    study.stopping = std::move(rules);
    Proposer proposer = make_proposer(study);
    std::vector<Point> points;
    for (std::int64_t n = 1; n <= 20; ++n) {
        TrialRecord trial = trial_of(n, *proposer.propose(n));
        proposer.proposed(trial);
        points.push_back(trial.point);
        for (std::int64_t step = 1; step <= steps; ++step) {
            Report report;
            report.step = step;
            report.metrics["val_accuracy"] = trial.point[0] - std::pow(trial.point[1] - 0.3, 2);
            trial.curve.push_back(report);
        }
        proposer.tell(ended(trial, TrialState::complete, trial.curve.back().metrics["val_accuracy"]));
    }
    return points;
}

TEST(Auto, DrawsAtRandomBesideAModelOnlyIfTrialsReportSeveralSteps) {
    const std::vector<PartSpec> extrapolation{{"extrapolation", {}}};
    EXPECT_EQ(proposed_by_auto(extrapolation, 1), proposed_by_auto({}, 1));
    EXPECT_NE(proposed_by_auto(extrapolation, 2), proposed_by_auto({}, 2));
}

class EverySampler : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Proposer, EverySampler, ::testing::Values("auto", "random", "sobol", "tpe"));

TEST_P(EverySampler, ProposesEachConfigurationOfASmallSpaceOnceAndThenSaysThatItIsExhausted) {
    Dimension child = choice("child", 4);
    child.when = {{"first", {std::string("a")}}};
    Proposer proposer = make_proposer(study_of({child, choice("first", 3), choice("second", 5)}, GetParam()));
    const std::size_t configurations = (4 + 2) * 5;
    std::set<Params> seen;
    for (std::int64_t trial = 1;; ++trial) {
        const auto proposal = proposer.propose(trial);
        if (!proposal) break;
        EXPECT_TRUE(seen.insert(proposal->params).second) << "a duplicate at trial " << trial;
        ASSERT_LE(seen.size(), configurations);
        proposer.proposed(trial_of(trial, *proposal));
        proposer.tell(ended(trial_of(trial, *proposal), TrialState::complete, 0.5));
    }
    EXPECT_EQ(seen.size(), configurations);
}

TEST_P(EverySampler, ANumberAndATextOfTheSameDigitsAreTwoChoices) {
    Dimension mixed = choice("mixed", 0);
    mixed.choices = {std::int64_t{1}, std::string("1"), true, std::string("true")};
    Proposer proposer = make_proposer(study_of({mixed}, GetParam()));
    std::set<Value> seen;
    for (std::int64_t trial = 1; const auto proposal = proposer.propose(trial); ++trial) {
        seen.insert(proposal->params.at("mixed"));
        proposer.proposed(trial_of(trial, *proposal));
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST_P(EverySampler, AnEmptySpaceHasOneConfiguration) {
    Proposer proposer = make_proposer(study_of({}, GetParam()));
    const auto only = proposer.propose(1);
    ASSERT_TRUE(only);
    EXPECT_TRUE(only->params.empty());
    proposer.proposed(trial_of(1, *only));
    EXPECT_FALSE(proposer.propose(2));
}

TEST_P(EverySampler, AProposalThatWasNotStoredIsMadeAgain) {
    Proposer proposer = make_proposer(study_of({real("x"), choice("c", 3)}, GetParam()));
    for (std::int64_t trial = 1; trial <= 40; ++trial) {
        const auto proposal = proposer.propose(trial);
        ASSERT_TRUE(proposal);
        EXPECT_EQ(proposer.propose(trial)->params, proposal->params);
        proposer.proposed(trial_of(trial, *proposal));
        proposer.tell(ended(trial_of(trial, *proposal), TrialState::complete, proposal->point[0]));
    }
}

TEST(Proposer, FollowsTheObjectivesDirection) {
    for (const Direction direction : {Direction::minimize, Direction::maximize}) {
        Study study = study_of({real("x")}, "tpe");
        study.objective.direction = direction;
        Proposer proposer = make_proposer(study);
        double late = 0;
        for (std::int64_t trial = 1; trial <= 60; ++trial) {
            const Proposal proposal = *proposer.propose(trial);
            proposer.proposed(trial_of(trial, proposal));
            proposer.tell(ended(trial_of(trial, proposal), TrialState::complete, proposal.point[0]));
            if (trial > 40) late += proposal.point[0] / 20;
        }
        EXPECT_LT(direction == Direction::minimize ? late : 1 - late, 0.3);
    }
}

TEST(Proposer, DivergedAndFailedTrialsCountAsWorstWhateverTheyReachedBefore) {
    for (const TrialState state : {TrialState::diverged, TrialState::failed}) {
        Proposer proposer = make_proposer(study_of({real("x")}, "tpe"));
        int there = 0;
        for (std::int64_t trial = 1; trial <= 60; ++trial) {
            const Proposal proposal = *proposer.propose(trial);
            const bool bad = proposal.point[0] > 0.5;
            proposer.proposed(trial_of(trial, proposal));
            proposer.tell(ended(trial_of(trial, proposal), bad ? state : TrialState::complete, bad ? 1.0 : 0.5));
            there += trial > 20 && bad;
        }
        EXPECT_LT(there, 8) << "of 40 proposals after the start";
    }
}

TEST(Proposer, GoesOnWhenAllTrialsHaveFailed) {
    Proposer proposer = make_proposer(study_of({real("x"), choice("c", 3)}, "tpe"));
    for (std::int64_t trial = 1; trial <= 40; ++trial) {
        const auto proposal = proposer.propose(trial);
        ASSERT_TRUE(proposal);
        proposer.proposed(trial_of(trial, *proposal));
        proposer.tell(ended(trial_of(trial, *proposal), TrialState::failed, std::nullopt));
    }
}

TEST(Proposer, APausedTrialTeachesAndIsReplacedByWhatItReachesLater) {
    const Study study = study_of({real("x")}, "tpe");
    Proposer told_twice = make_proposer(study), told_once = make_proposer(study);
    for (std::int64_t trial = 1; trial <= 30; ++trial) {
        const Proposal proposal = *told_twice.propose(trial);
        ASSERT_EQ(told_once.propose(trial)->point, proposal.point);
        told_twice.proposed(trial_of(trial, proposal));
        told_once.proposed(trial_of(trial, proposal));
        told_twice.tell(ended(trial_of(trial, proposal), TrialState::paused, 1 - proposal.point[0]));
        told_twice.tell(ended(trial_of(trial, proposal), TrialState::complete, proposal.point[0]));
        told_once.tell(ended(trial_of(trial, proposal), TrialState::complete, proposal.point[0]));
    }
}

TEST(Proposer, AValueThatIsNotFiniteTeachesNoModel) {
    Proposer proposer = make_proposer(study_of({real("x")}, "tpe"));
    for (std::int64_t trial = 1; trial <= 40; ++trial) {
        const Proposal proposal = *proposer.propose(trial);
        ASSERT_TRUE(std::isfinite(proposal.point[0]));
        proposer.proposed(trial_of(trial, proposal));
        proposer.tell(ended(trial_of(trial, proposal), TrialState::complete, trial % 2 ? std::nan("") : INFINITY));
    }
}

TEST(Proposer, RefusesUnknownSamplersAndOptionsByName) {
    const auto unknown = Proposer::make(study_of({real("x")}, "annealing"));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().message,
              "unknown sampler \"annealing\"; known are auto, cmaes, gp, grid, random, sobol, tpe");
    Study study = study_of({real("x")}, "tpe");
    study.sampler.options["gama"] = 0.2;
    const auto option = Proposer::make(study);
    ASSERT_FALSE(option);
    EXPECT_EQ(option.error().message, "sampler tpe has no option \"gama\"");
}

TEST(Proposer, TriesTheConfigurationsOfStartFirstAndDrawsWhatTheyLeaveOut) {
    for (const char* sampler : {"auto", "random", "sobol", "tpe", "gp", "cmaes", "grid"}) {
        Study study = study_of({real("x"), choice("c", 3), real("y")}, sampler);
        study.start = {{{"x", 0.25}, {"c", std::string("b")}, {"y", 0.001}}, {{"c", std::string("c")}}};
        Proposer proposer = make_proposer(study), resumed = make_proposer(study);
        std::set<Params> seen;
        for (std::int64_t trial = 1; trial <= 12; ++trial) {
            const auto proposal = proposer.propose(trial);
            ASSERT_TRUE(proposal) << sampler << trial;
            EXPECT_EQ(resumed.propose(trial)->params, proposal->params) << sampler << trial;
            EXPECT_EQ(proposal->params.size(), 3u);
            EXPECT_TRUE(seen.insert(proposal->params).second);
            if (trial == 1) {
                EXPECT_EQ(proposal->params, study.start[0]) << sampler;
            }
            if (trial == 2) {
                EXPECT_EQ(proposal->params.at("c"), Value(std::string("c"))) << sampler;
            }
            for (Proposer* one : {&proposer, &resumed}) {
                one->proposed(trial_of(trial, *proposal));
                one->tell(ended(trial_of(trial, *proposal), TrialState::complete, 0.1 * static_cast<double>(trial)));
            }
        }
    }
}

TEST(Proposer, AGridHasTheConfigurationsOfStartBesideItsPointsAndEachOfThemOnce) {
    Study study = study_of({choice("a", 3), choice("b", 2)}, "grid");
    study.start = {{{"a", std::string("b")}, {"b", std::string("b")}}};
    Proposer proposer = make_proposer(study);
    std::set<Params> seen;
    for (std::int64_t trial = 1;; ++trial) {
        const auto proposal = proposer.propose(trial);
        if (!proposal) break;
        EXPECT_TRUE(seen.insert(proposal->params).second) << trial;
        proposer.proposed(trial_of(trial, *proposal));
    }
    EXPECT_EQ(seen.size(), 6u);
    study.space.push_back(real("x"));
    study.start = {{{"x", 0.123}}};
    Proposer wide = make_proposer(study);
    std::int64_t trials = 0;
    while (const auto proposal = wide.propose(trials + 1)) wide.proposed(trial_of(++trials, *proposal));
    EXPECT_EQ(trials, 1 + 3 * 2 * 5);
}

TEST(Proposer, AStartOfWhichAnotherParameterDependsDecidesWhetherThatExists) {
    Dimension child = real("child");
    child.when = {{"parent", {std::string("a")}}};
    Study study = study_of({child, choice("parent", 2)}, "random");
    study.start = {{{"parent", std::string("b")}}, {{"parent", std::string("a")}, {"child", 0.5}}};
    Proposer proposer = make_proposer(study);
    const auto first = proposer.propose(1);
    EXPECT_EQ(first->params, study.start[0]);
    EXPECT_EQ(first->point, (Point{0.5, 0.75}));
    proposer.proposed(trial_of(1, *first));
    EXPECT_EQ(proposer.propose(2)->params, study.start[1]);
}

TEST(Proposer, SobolNamesItsLimit) {
    Space space;
    for (int i = 0; i < 3668; ++i) space.push_back(real("x" + std::to_string(i)));
    const auto proposer = Proposer::make(study_of(space, "sobol"));
    ASSERT_FALSE(proposer);
    EXPECT_EQ(proposer.error().message, "sampler sobol serves 3667 parameters at most, the space has 3668");
}

TEST(Proposer, KnowsWhereTrialsLieInARangeThatWasWidenedSince) {
    Study study;
    study.sampler.type = "tpe";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x", .high = 0.1}};
    const auto loss = [](const TrialRecord& trial) { return std::abs(number_or(trial.params.at("x"), 0) - 0.09); };
    const auto before = played(study, 40, loss);
    study.space[0].high = 1;
    Proposer proposer = *Proposer::make(study);
    for (const TrialRecord& trial : before) proposer.proposed(trial), proposer.tell(trial);
    std::vector<double> proposed;
    for (std::int64_t trial = 41; trial <= 61; ++trial)
        proposed.push_back(number_or(proposer.propose(trial)->params.at("x"), -1));
    std::sort(proposed.begin(), proposed.end());
    EXPECT_LT(proposed[10], 0.3) << "the good ones were at nine tenths of the range before";
}

}  // namespace
}  // namespace hpo
