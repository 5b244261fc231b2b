#include "orchestrator/sampling/background_proposer.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

namespace hpo {
namespace {

Study plane() {
    Study study;
    for (const char* name : {"x", "y"}) study.space.emplace_back().name = name;
    study.sampler.type = "gp";
    return study;
}

Proposer fresh(const Study& study) {
    auto proposer = Proposer::make(study);
    EXPECT_TRUE(proposer) << proposer.error().message;
    return *std::move(proposer);
}

TrialRecord as_trial(std::int64_t number, const Proposal& proposal) {
    TrialRecord trial;
    trial.number = number;
    trial.point = proposal.point;
    trial.params = proposal.params;
    return trial;
}

TrialRecord complete(TrialRecord trial) {
    trial.state = TrialState::complete;
    trial.value = trial.point.at(0) + (trial.point.at(1) - 0.3) * (trial.point.at(1) - 0.3);
    return trial;
}

/// Thirty trials that have ended, so that a proposal fits a model.
template <class P>
std::vector<TrialRecord> play(P& proposer) {
    std::vector<TrialRecord> trials;
    for (std::int64_t number = 1; number <= 30; ++number) {
        trials.push_back(as_trial(number, *proposer.propose(number)));
        proposer.proposed(trials.back());
        proposer.tell(trials.back() = complete(trials.back()));
    }
    return trials;
}

TEST(BackgroundProposer, ProposesWhatAProposerProposes) {
    const Study study = plane();
    Proposer proposer = fresh(study);
    BackgroundProposer background(fresh(study));
    play(proposer);
    play(background);
    std::promise<void> ready;
    background.start(31, [&] { ready.set_value(); });
    EXPECT_EQ(background.computing(), 31);
    ready.get_future().wait();
    EXPECT_TRUE(background.ready());
    EXPECT_EQ(background.take()->params, proposer.propose(31)->params);
    EXPECT_EQ(background.computing(), 0);
    EXPECT_FALSE(background.ready());
}

TEST(BackgroundProposer, LearnsWhatIsToldMeanwhileAfterItsComputation) {
    const Study study = plane();
    Proposer proposer = fresh(study);
    BackgroundProposer background(fresh(study));
    play(proposer);
    play(background);
    const TrialRecord running = as_trial(31, *proposer.propose(31));
    proposer.proposed(running);
    background.proposed(running);

    background.start(32, [] {});
    background.tell(complete(running));
    background.withhold(30);
    const auto second = background.take();
    EXPECT_EQ(second->params, proposer.propose(32)->params) << "it knew of what came later";

    proposer.tell(complete(running));
    proposer.withhold(30);
    proposer.proposed(as_trial(32, *second));
    background.proposed(as_trial(32, *second));
    EXPECT_EQ(background.propose(33)->params, proposer.propose(33)->params) << "it forgot what it was told";
}

TEST(BackgroundProposer, WhatNobodyTakesIsForgotten) {
    const Study study = plane();
    Proposer proposer = fresh(study);
    BackgroundProposer background(fresh(study));
    play(proposer);
    play(background);
    std::atomic<int> calls = 0;
    background.start(31, [&] { ++calls; });
    background.drop();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(background.computing(), 0);
    background.start(31, [&] { ++calls; });
    EXPECT_EQ(background.propose(31)->params, proposer.propose(31)->params);
    EXPECT_EQ(background.computing(), 0);
}

TEST(BackgroundProposer, IsOutdatedOnceMoreIsToldThanItKnew) {
    BackgroundProposer background(fresh(plane()));
    const TrialRecord trial = play(background).back();
    std::promise<void> ready;
    background.start(31, [&] { ready.set_value(); });
    ready.get_future().wait();
    EXPECT_FALSE(background.outdated());
    background.tell(trial);
    EXPECT_TRUE(background.outdated());
    background.drop();
    EXPECT_FALSE(background.outdated());
}

TEST(BackgroundProposer, MayBeDestroyedWhileItComputes) {
    std::atomic<int> calls = 0;
    {
        BackgroundProposer background(fresh(plane()));
        play(background);
        background.start(31, [&] { ++calls; });
    }
    EXPECT_EQ(calls, 1);
}

TEST(BackgroundProposer, SaysMeanwhileWhatTheSamplerChoseBefore) {
    BackgroundProposer background(fresh(plane()));
    play(background);
    const std::string before = background.about();
    background.start(31, [] {});
    EXPECT_EQ(background.about(), before);
    background.drop();
}

}  // namespace
}  // namespace hpo
