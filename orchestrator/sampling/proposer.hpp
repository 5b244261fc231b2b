// The engine's source of configurations. It combines the sampler, the policy and the check for duplicates.
//
// The engine reports all events of trials, in the order in which they are stored. It calls `proposed` once for each
// trial, and `tell` at each pause and at the end. Replaying a study's events therefore rebuilds the proposer, and the
// next proposal is the one that an uninterrupted study would have made.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "hpo/trial.hpp"
#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/policy.hpp"
#include "orchestrator/sampling/prior_study.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// A configuration for a new trial.
struct Proposal {
    Point point;
    Params params;  ///< only the active parameters of the space
};

/// Returns true if the study's sampler can learn from other studies.
bool may_learn_from_others(const Study& study);

/// Proposes configurations that no earlier trial has. Not thread-safe.
class Proposer {
   public:
    /// Makes the proposer of a study. Fails if the sampler or the policy cannot serve the study. `priors` are the
    /// studies of `warm_start`. They may be left out if only the check for failure is needed.
    static Result<Proposer> make(const Study& study, const std::vector<PriorStudy>& priors = {});

    /// Returns a configuration for trial `trial` (from 1) that no earlier trial has, or nothing if the space is
    /// exhausted. Does not record the trial. The engine stores it and then calls `proposed`.
    [[nodiscard]] std::optional<Proposal> propose(std::int64_t trial);

    /// Records that a trial exists.
    void proposed(const TrialRecord& trial);

    /// Tells the sampler the result of a trial that was paused or has ended: `trial.value`, oriented by the objective,
    /// and the metrics of further objectives and constraints. Diverged and failed trials count as the worst, and so do
    /// trials that ended without one of these metrics.
    void tell(const TrialRecord& trial);
    /// Tells the sampler the predicted end of a paused trial, in place of the value that it has reached.
    /// `repeats`: the trial repeats another one exactly.
    void tell(const TrialRecord& trial, double value, double deviation, bool repeats = false);
    /// Records that the study has run for `seconds`, over all its sessions, when the next results are told.
    void elapsed(double seconds) { elapsed_ = seconds; }
    /// Removes a paused trial from the pending ones, since its curve is too short for a prediction.
    void withhold(std::int64_t trial);

    [[nodiscard]] const CubeMap& map() const { return map_; }

    /// Returns true if a proposal takes microseconds for any number of trials.
    [[nodiscard]] bool quick() const { return quick_; }

    /// Returns the allowed share of the space as a sentence: "31 % of the space is allowed (of 1,290 random points)".
    /// Returns an empty text if the whole space is allowed.
    [[nodiscard]] std::string about_allowed() const;
    /// Returns the share that is allowed, from 0 to 1.
    [[nodiscard]] double allowed_share() const;

    /// Returns a description of the sampler, its choices and their reasons.
    [[nodiscard]] std::string about() const;

    /// Returns the reason why `propose` returns nothing.
    [[nodiscard]] std::string exhausted() const;

   private:
    Proposer(const Study& study, CubeMap map, std::unique_ptr<Sampler> sampler, std::shared_ptr<const Allowed> allowed);
    void enumerate();
    [[nodiscard]] std::vector<Site> pending() const;
    [[nodiscard]] std::optional<Proposal> wanted_first(std::int64_t trial) const;
    [[nodiscard]] std::optional<Proposal> completed(const Params& given, std::uint64_t trial) const;
    [[nodiscard]] std::optional<Proposal> next_of_grid(std::int64_t points);
    /// Returns the trial's point of the cube. A trial that was proposed before a range was widened has another one now.
    [[nodiscard]] Point place(const TrialRecord& trial) const;
    void tell(const TrialRecord& trial, std::optional<double> value, std::optional<double> deviation, bool repeats);
    [[nodiscard]] std::optional<Proposal> unseen(std::int64_t trial);

    std::string name_;  ///< the sampler's
    bool quick_;
    std::uint64_t seed_;
    std::map<std::int64_t, Params> start_;  ///< configurations of the first trials, by trial
    std::string learns_from_;               ///< "60 of phase1"; empty if only from this study
    Objective objective_;
    Budget budget_;
    double elapsed_ = 0;  ///< seconds of the study
    CubeMap map_;
    std::shared_ptr<const Allowed> allowed_;  ///< nullptr: the whole cube
    std::unique_ptr<Sampler> sampler_;
    std::unordered_set<std::size_t> seen_;  ///< digests of the parameters of all trials
    std::map<std::int64_t, Site> pending_;  ///< trials that were proposed and not told yet
    std::int64_t next_of_grid_ = 1;         ///< all points of a grid before this one were tried
    std::optional<std::uint64_t> bound_;    ///< upper bound of distinct configurations; nothing for a continuum

    /// The unused configurations of a small space. They keep the cost of a proposal constant during a study.
    struct Left {
        std::vector<std::uint64_t> combinations;                     ///< unused ones, ascending
        std::unordered_map<std::string, std::uint64_t> combination;  ///< by the parameters as text
    };
    std::optional<Left> left_;
};

}  // namespace hpo
