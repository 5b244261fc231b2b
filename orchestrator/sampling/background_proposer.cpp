#include "orchestrator/sampling/background_proposer.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "hpo/doing.hpp"
#include "hpo/threads.hpp"

namespace hpo {

BackgroundProposer::BackgroundProposer(Proposer proposer) : proposer_(std::move(proposer)) {}

BackgroundProposer::BackgroundProposer(BackgroundProposer&& other) noexcept : proposer_(std::move(other.proposer_)) {}

BackgroundProposer::~BackgroundProposer() {
    if (thread_.joinable()) thread_.join();
}

std::optional<Proposal> BackgroundProposer::propose(std::int64_t trial) {
    if (computing_ != 0) drop();
    return timed_proposal(trial);
}

std::optional<Proposal> BackgroundProposer::timed_proposal(std::int64_t trial) {
    const auto begun = std::chrono::steady_clock::now();
    auto proposal = proposer_.propose(trial);
    const bool is_short = std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(1);
    short_ones_ = is_short ? std::min(short_ones_ + 1, short_ones_needed) : 0;
    return proposal;
}

void BackgroundProposer::start(std::int64_t trial, std::function<void()> ready) {
    if (computing_ != 0) throw std::logic_error("a proposal is computed already");
    computing_ = trial;
    about_ = proposer_.about();
    const auto task = std::make_shared<std::packaged_task<std::optional<Proposal>()>>(
        [this, trial] { return timed_proposal(trial); });
    result_ = task->get_future();
    const auto compute = [task, ready = std::move(ready)] {
        (*task)();
        ready();
    };
    thread_ = start_thread("hpo-sampler", compute);
    if (!thread_.joinable()) compute();
}

bool BackgroundProposer::ready() const {
    return computing_ != 0 && result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::optional<Proposal> BackgroundProposer::take() {
    auto result = std::move(result_);
    drop();
    return result.get();
}

void BackgroundProposer::drop() {
    const Doing waiting("waits for the sampler's thread");
    if (thread_.joinable()) thread_.join();
    computing_ = 0;
    outdated_ = false;
    result_ = {};
    for (const auto& change : std::exchange(changes_, {})) change(proposer_);
}

void BackgroundProposer::later(std::function<void(Proposer&)> change) {
    outdated_ |= ready();
    changes_.push_back(std::move(change));
}

// Records are copied, since the caller's records change before the copies are used.

void BackgroundProposer::proposed(const TrialRecord& trial) {
    if (computing_ == 0) return proposer_.proposed(trial);
    later([trial](Proposer& proposer) { proposer.proposed(trial); });
}

void BackgroundProposer::tell(const TrialRecord& trial) {
    if (computing_ == 0) return proposer_.tell(trial);
    later([trial](Proposer& proposer) { proposer.tell(trial); });
}

void BackgroundProposer::tell(const TrialRecord& trial, double value, double deviation, bool repeats) {
    if (computing_ == 0) return proposer_.tell(trial, value, deviation, repeats);
    later([=](Proposer& proposer) { proposer.tell(trial, value, deviation, repeats); });
}

void BackgroundProposer::elapsed(double seconds) {
    if (computing_ == 0) return proposer_.elapsed(seconds);
    later([=](Proposer& proposer) { proposer.elapsed(seconds); });
}

void BackgroundProposer::withhold(std::int64_t trial) {
    if (computing_ == 0) return proposer_.withhold(trial);
    later([trial](Proposer& proposer) { proposer.withhold(trial); });
}

std::string BackgroundProposer::about() const { return computing_ == 0 ? proposer_.about() : about_; }

}  // namespace hpo
