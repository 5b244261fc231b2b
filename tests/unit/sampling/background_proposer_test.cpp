#include "orchestrator/sampling/background_proposer.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "support.hpp"
#include "tests/support/no_threads.hpp"

namespace hpo {
namespace {

Study plane() {
    Study study;
    for (const char* name : {"x", "y"}) study.space.emplace_back().name = name;
    study.sampler.type = "gp";
    study.budget.seconds = 100;
    return study;
}

TrialRecord complete(TrialRecord trial) {
    trial.state = TrialState::complete;
    trial.ended_at = 10 - 9 * trial.point.at(0);
    trial.value = trial.point.at(0) + (trial.point.at(1) - 0.3) * (trial.point.at(1) - 0.3);
    return trial;
}

/// Proposes and completes trials: thirty, so that the next proposal fits a model. Returns the trials.
template <class P>
std::vector<TrialRecord> play(P& proposer, std::int64_t count = 30) {
    std::vector<TrialRecord> trials;
    for (std::int64_t number = 1; number <= count; ++number) {
        trials.push_back(trial_of(number, *proposer.propose(number)));
        proposer.proposed(trials.back());
        proposer.tell(trials.back() = complete(trials.back()));
    }
    return trials;
}

/// A proposer in the background and a plain one, with the same thirty trials.
class BackgroundProposerTest : public ::testing::Test {
   protected:
    Proposer proposer = make_proposer(plane());
    BackgroundProposer background{make_proposer(plane())};
    std::vector<TrialRecord> trials = play(proposer);

    BackgroundProposerTest() { play(background); }
};

TEST_F(BackgroundProposerTest, ProposesTheSameAsAPlainProposer) {
    std::promise<void> ready;
    background.start(31, [&] { ready.set_value(); });
    EXPECT_EQ(background.computing(), 31);
    ready.get_future().wait();
    EXPECT_TRUE(background.ready());
    EXPECT_EQ(background.take()->params, proposer.propose(31)->params);
    EXPECT_EQ(background.computing(), 0);
    EXPECT_FALSE(background.ready());
}

TEST_F(BackgroundProposerTest, ComputesInItsCallerIfTheSystemHasNoThreadLeft) {
    const testing::NoThreads none;
    int told = 0;
    background.start(31, [&] { ++told; });
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(background.ready());
    EXPECT_EQ(background.take()->params, proposer.propose(31)->params);
    EXPECT_EQ(background.computing(), 0);
    background.start(31, [&] { ++told; });
    background.drop();
    EXPECT_EQ(background.computing(), 0);
}

TEST_F(BackgroundProposerTest, LearnsResultsThatArriveMeanwhileAfterItsComputation) {
    const TrialRecord running = trial_of(31, *proposer.propose(31));
    proposer.proposed(running);
    background.proposed(running);

    background.start(32, [] {});
    background.tell(complete(running));
    background.withhold(30);
    const auto second = background.take();
    EXPECT_EQ(second->params, proposer.propose(32)->params) << "the proposal used a result that arrived later";

    proposer.tell(complete(running));
    proposer.withhold(30);
    proposer.proposed(trial_of(32, *second));
    background.proposed(trial_of(32, *second));
    EXPECT_EQ(background.propose(33)->params, proposer.propose(33)->params) << "a result was forgotten";
}

TEST_F(BackgroundProposerTest, KnowsTheTimeThatPassesMeanwhile) {
    // Where time ends the study, the fifth of its start points is a quick one.
    const auto fifth = [](auto proposer, const std::optional<double>& seconds, const auto& begin, const auto& end) {
        play(proposer, 3);
        const TrialRecord running = trial_of(4, *proposer.propose(4));
        proposer.proposed(running);
        begin(proposer);
        if (seconds) proposer.elapsed(*seconds);
        proposer.tell(complete(running));
        end(proposer);
        return proposer.propose(5)->params;
    };
    const auto nothing = [](const Proposer&) {};
    const Params known = fifth(make_proposer(plane()), 60, nothing, nothing);
    EXPECT_EQ(fifth(
                  BackgroundProposer(make_proposer(plane())), 60, [](auto& busy) { busy.start(5, [] {}); },
                  [](auto& busy) { busy.drop(); }),
              known);
    EXPECT_NE(fifth(make_proposer(plane()), std::nullopt, nothing, nothing), known);
}

TEST_F(BackgroundProposerTest, AProposalThatIsNotTakenIsForgotten) {
    std::atomic<int> calls = 0;
    background.start(31, [&] { ++calls; });
    background.drop();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(background.computing(), 0);
    background.start(31, [&] { ++calls; });
    EXPECT_EQ(background.propose(31)->params, proposer.propose(31)->params);
    EXPECT_EQ(background.computing(), 0);
}

TEST_F(BackgroundProposerTest, IsOutdatedOnceAResultArrivesThatItDidNotKnow) {
    std::promise<void> ready;
    background.start(31, [&] { ready.set_value(); });
    ready.get_future().wait();
    EXPECT_FALSE(background.outdated());
    background.tell(trials.back());
    EXPECT_TRUE(background.outdated());
    background.drop();
    EXPECT_FALSE(background.outdated());
}

TEST(BackgroundProposerAlone, MayBeDestroyedWhileItComputes) {
    std::atomic<int> calls = 0;
    {
        BackgroundProposer background(make_proposer(plane()));
        play(background);
        background.start(31, [&] { ++calls; });
    }
    EXPECT_EQ(calls, 1);
}

TEST_F(BackgroundProposerTest, IsNeverQuickDuringAComputation) {
    Study study = plane();
    study.sampler.type = "tpe";
    BackgroundProposer tpe(make_proposer(study));
    EXPECT_FALSE(tpe.quick()) << "nothing is known yet of how long a proposal takes";
    while (!tpe.quick()) ASSERT_TRUE(tpe.propose(1));  // a few microseconds each, unless the machine is busy
    tpe.start(1, [] {});
    EXPECT_FALSE(tpe.quick());
    tpe.drop();
}

TEST_F(BackgroundProposerTest, WhileItComputesAboutReturnsTheSamplersEarlierText) {
    const std::string before = background.about();
    background.start(31, [] {});
    EXPECT_EQ(background.about(), before);
    background.drop();
}

}  // namespace
}  // namespace hpo
