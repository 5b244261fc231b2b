#pragma once

#include <gtest/gtest.h>

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

}  // namespace hpo
