// Computes proposals on a separate thread, so that the event loop never waits for a sampler. After 1,000 trials, a
// Gaussian process takes about 100 ms for one proposal.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "orchestrator/sampling/proposer.hpp"

namespace hpo {

/// A Proposer that computes one proposal at a time in the background. All methods must be called from one thread.
///
/// Calls that change the proposer between start() and the end of the computation are applied after it. The proposal
/// therefore depends only on the trials that were told before start(), and on their order.
class BackgroundProposer {
   public:
    explicit BackgroundProposer(Proposer proposer);
    ~BackgroundProposer();
    /// Moves from a proposer with no computation under way.
    BackgroundProposer(BackgroundProposer&& other) noexcept;

    /// Returns a proposal, as Proposer::propose does. Waits for a computation in the background first and drops its
    /// result.
    [[nodiscard]] std::optional<Proposal> propose(std::int64_t trial);

    /// Starts to compute the proposal for `trial`. Calls `ready` once, from the other thread, when the result is there.
    /// If the system has no thread left, computes the proposal and calls `ready` before it returns. Throws
    /// std::logic_error if an earlier result was neither taken nor dropped.
    void start(std::int64_t trial, std::function<void()> ready);
    /// Returns the trial whose proposal was started and neither taken nor dropped, or 0 if there is none.
    [[nodiscard]] std::int64_t computing() const { return computing_; }
    /// Returns true if take() would return without waiting.
    [[nodiscard]] bool ready() const;
    /// Returns true if a change arrived after the computation had ended, so that a new proposal would know more.
    [[nodiscard]] bool outdated() const { return outdated_; }
    /// Waits for the computation and returns its result, as Proposer::propose does.
    std::optional<Proposal> take();
    /// Waits for the computation and discards its result.
    void drop();

    /// Returns true if the event loop can wait for a proposal: the sampler takes microseconds for any number of trials,
    /// or the last proposals took less than a millisecond each, which is about the cost of the change of threads.
    /// Returns false during a computation.
    [[nodiscard]] bool quick() const {
        return computing_ == 0 && (proposer_.quick() || short_ones_ >= short_ones_needed);
    }

    void proposed(const TrialRecord& trial);
    void tell(const TrialRecord& trial);
    void tell(const TrialRecord& trial, double value, double deviation, bool repeats = false);
    void elapsed(double seconds);
    void withhold(std::int64_t trial);

    /// Returns Proposer::about(). During a computation, returns the text from before its start.
    [[nodiscard]] std::string about() const;
    [[nodiscard]] std::string exhausted() const { return proposer_.exhausted(); }

   private:
    static constexpr int short_ones_needed = 8;

    std::optional<Proposal> timed_proposal(std::int64_t trial);
    void later(std::function<void(Proposer&)> change);

    Proposer proposer_;
    int short_ones_ = 0;  ///< the last proposals that took less than a millisecond each
    std::vector<std::function<void(Proposer&)>> changes_;  ///< applied when the computation ends
    std::int64_t computing_ = 0;
    bool outdated_ = false;
    std::future<std::optional<Proposal>> result_;
    std::thread thread_;
    std::string about_;  ///< returned by about() during a computation
};

}  // namespace hpo
