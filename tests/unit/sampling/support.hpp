#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "orchestrator/sampling/proposer.hpp"

namespace hpo {

/// Returns the proposer of a valid study.
inline Proposer make_proposer(const Study& study) {
    auto proposer = Proposer::make(study);
    EXPECT_TRUE(proposer) << proposer.error().message;
    return *std::move(proposer);
}

/// Returns the record of a trial that has just been proposed.
inline TrialRecord trial_of(std::int64_t number, const Proposal& proposal) {
    TrialRecord trial;
    trial.number = number;
    trial.point = proposal.point;
    trial.params = proposal.params;
    return trial;
}

/// Returns a dimension from 0 to `high`.
inline Dimension number(const std::string& name, Kind kind = Kind::real, double high = 1) {
    Dimension d;
    d.name = name;
    d.kind = kind;
    d.high = high;
    return d;
}

/// Returns the least loss of a study's trials. `loss` returns the loss of a trial.
inline double least(const Space& space, const std::string& sampler, std::int64_t trials, std::uint64_t seed,
                    const std::function<double(const TrialRecord&)>& loss) {
    Study study;
    study.seed = seed;
    study.space = space;
    study.sampler.type = sampler;
    study.objective.direction = Direction::minimize;
    Proposer proposer = *Proposer::make(study);
    double best = INFINITY;
    for (std::int64_t n = 1; n <= trials; ++n) {
        const auto proposal = proposer.propose(n);
        if (!proposal) break;
        TrialRecord trial;
        trial.number = n;
        trial.point = proposal->point;
        trial.params = proposal->params;
        proposer.proposed(trial);
        trial.state = TrialState::complete;
        trial.value = loss(trial);
        best = std::min(best, *trial.value);
        proposer.tell(trial);
    }
    return best;
}

}  // namespace hpo
