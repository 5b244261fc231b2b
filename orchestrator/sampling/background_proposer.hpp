// Computes proposals on a thread of their own, so that the event loop never waits for a sampler: after 1,000 trials a
// Gaussian process takes some 100 ms for one.
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

/// A Proposer that computes one proposal at a time in the background. All methods are for one thread.
///
/// What is told between start() and the end of the computation reaches the sampler after it. The proposal follows from
/// what was known at start(): the trials told before, in their order.
class BackgroundProposer {
   public:
    explicit BackgroundProposer(Proposer proposer);
    ~BackgroundProposer();
    /// Of one that computes nothing.
    BackgroundProposer(BackgroundProposer&& other) noexcept;

    /// As Proposer::propose. A computation in the background is awaited first and its result dropped.
    [[nodiscard]] std::optional<Proposal> propose(std::int64_t trial);

    /// Begins to compute the proposal for `trial`. `ready` is called once, from the other thread, when take() has it.
    /// There must be no computation that was not taken.
    void start(std::int64_t trial, std::function<void()> ready);
    /// The trial that start() was called for and whose proposal was neither taken nor dropped; 0: none.
    [[nodiscard]] std::int64_t computing() const { return computing_; }
    /// Whether take() returns at once.
    [[nodiscard]] bool ready() const;
    /// Whether something was told after the computation had ended: another one would know more.
    [[nodiscard]] bool outdated() const { return outdated_; }
    /// The result of the computation, as Proposer::propose returns it; waits for it.
    std::optional<Proposal> take();
    /// Nobody wants the result: waits for the computation and forgets it.
    void drop();

    [[nodiscard]] bool quick() const { return proposer_.quick(); }

    void proposed(const TrialRecord& trial);
    void tell(const TrialRecord& trial);
    void tell(const TrialRecord& trial, double value, double deviation);
    void withhold(std::int64_t trial);

    /// As of the last time that nothing was computed.
    [[nodiscard]] std::string about() const;
    [[nodiscard]] std::string exhausted() const { return proposer_.exhausted(); }

   private:
    void later(std::function<void(Proposer&)> change);

    Proposer proposer_;
    std::vector<std::function<void(Proposer&)>> changes_;  ///< that wait for the end of the computation
    std::int64_t computing_ = 0;
    bool outdated_ = false;
    std::future<std::optional<Proposal>> result_;
    std::thread thread_;
    std::string about_;  ///< while something is computed
};

}  // namespace hpo
