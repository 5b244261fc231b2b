#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

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

/// Plays at most `trials` trials of a study, one after the other, and returns them. `loss` returns the loss of a trial.
inline std::vector<TrialRecord> played(const Study& study, std::int64_t trials,
                                       const std::function<double(const TrialRecord&)>& loss) {
    Proposer proposer = make_proposer(study);
    std::vector<TrialRecord> records;
    for (std::int64_t n = 1; n <= trials; ++n) {
        const auto proposal = proposer.propose(n);
        if (!proposal) break;
        TrialRecord trial = trial_of(n, *proposal);
        proposer.proposed(trial);
        trial.state = TrialState::complete;
        trial.value = loss(trial);
        proposer.tell(trial);
        records.push_back(std::move(trial));
    }
    return records;
}

/// Returns the least loss of a study's trials.
inline double least(const Space& space, const std::string& sampler, std::int64_t trials, std::uint64_t seed,
                    const std::function<double(const TrialRecord&)>& loss) {
    Study study;
    study.seed = seed;
    study.space = space;
    study.sampler.type = sampler;
    study.objective.direction = Direction::minimize;
    double best = INFINITY;
    for (const TrialRecord& trial : played(study, trials, loss)) best = std::min(best, *trial.value);
    return best;
}

}  // namespace hpo
