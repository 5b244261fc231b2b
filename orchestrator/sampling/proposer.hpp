// What the engine asks for configurations: sampler, policy and de-duplication behind one door.
//
// The engine tells everything that happens to trials, in the order of the stored events: `proposed` once a trial,
// `tell` at each pause and at the end. Replaying a study's events therefore rebuilds the proposer, and the next
// proposal is the one that an uninterrupted study would have made.
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
#include "orchestrator/sampling/policy.hpp"
#include "orchestrator/sampling/prior_study.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

struct Proposal {
    Point point;
    Params params;  ///< the space's active parameters alone
};

class Proposer {
   public:
    /// Fails where the sampler or the policy cannot serve the study, as text. `priors`: what the studies of
    /// `warm_start` tell; none: the proposer is only to be asked whether it can serve.
    static Result<Proposer> make(const Study& study, const std::vector<PriorStudy>& priors = {});

    /// A configuration for trial `trial` (from 1) that no earlier trial has; nothing when the space is exhausted: there
    /// is none left. Changes nothing: the engine stores the trial and then says `proposed`.
    [[nodiscard]] std::optional<Proposal> propose(std::int64_t trial);

    /// A trial exists from here on.
    void proposed(const TrialRecord& trial);

    /// A trial was paused or has ended: teaches the sampler `trial.value`, oriented by the objective, and what further
    /// objectives and constraints ask for. Diverged and failed trials count as worst; so do those that measured
    /// nothing, or ended without one of these metrics.
    void tell(const TrialRecord& trial);
    /// A paused trial's end is known by prediction: teaches the sampler that in place of what it reached.
    void tell(const TrialRecord& trial, double value, double deviation);
    /// A paused trial's curve says too little yet: it no longer counts as one that is to tell something.
    void withhold(std::int64_t trial);

    [[nodiscard]] const CubeMap& map() const { return map_; }

    /// Whether a proposal takes microseconds, however many trials there are.
    [[nodiscard]] bool quick() const { return quick_; }

    /// The sampler, and what it chose and why.
    [[nodiscard]] std::string about() const;

    /// Why `propose` gives nothing any more.
    [[nodiscard]] std::string exhausted() const;

   private:
    Proposer(const Study& study, CubeMap map, std::unique_ptr<Sampler> sampler);
    void enumerate();
    [[nodiscard]] std::vector<Site> pending() const;
    [[nodiscard]] std::optional<Proposal> wanted_first(std::int64_t trial) const;
    [[nodiscard]] std::optional<Proposal> next_of_grid(std::int64_t number, std::int64_t points);
    void tell(const TrialRecord& trial, std::optional<double> value, std::optional<double> deviation);
    [[nodiscard]] std::optional<Proposal> unseen(std::int64_t trial);

    std::string name_;  ///< the sampler's
    bool quick_;
    std::uint64_t seed_;
    std::vector<Params> start_;  ///< configurations of the first trials
    std::string learns_from_;    ///< "60 trials of phase1"; empty: from this study alone
    Objective objective_;
    CubeMap map_;
    std::unique_ptr<Sampler> sampler_;
    std::unordered_set<std::string> seen_;  ///< parameters of all trials, as text
    std::map<std::int64_t, Site> pending_;  ///< proposed, and not told yet
    std::optional<std::uint64_t> bound_;    ///< upper bound of distinct configurations; absent: a continuum

    /// Of a small space what no trial has had, so that a proposal costs as much late in a study as early.
    struct Left {
        std::vector<std::uint64_t> combinations;                     ///< their numbers, ascending
        std::unordered_map<std::string, std::uint64_t> combination;  ///< of all parameters, as text
    };
    std::optional<Left> left_;
};

}  // namespace hpo
