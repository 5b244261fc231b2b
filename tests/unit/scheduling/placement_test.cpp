// The state machine that places trials in workers.
#include "orchestrator/scheduling/placement.hpp"

#include <gmock/gmock.h>

namespace hpo {
namespace {

using State = PlacementWorker::State;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t gib = std::int64_t{1} << 30;

class Placement : public ::testing::Test {
   protected:
    Placement() {
        machine_.cores = 8;
        machine_.memory = 16 * gib;
        state_.workers.resize(2);
    }
    void wait_for(std::int64_t trial, std::int64_t bytes, const std::string& fusion_key = {}) {
        state_.queue.push_back(
            {.trial = trial, .footprint = {0, bytes, 1}, .colocated = {0, gib / 4, 0}, .fusion_key = fusion_key});
    }
    /// Starts every trial that can start. Returns the trials with their workers, in order.
    std::vector<std::pair<std::int64_t, std::size_t>> start_all() {
        std::vector<std::pair<std::int64_t, std::size_t>> started;
        for (auto decision = place(state_, machine_); decision.start; decision = place(state_, machine_)) {
            started.emplace_back(decision.start->launch.trial, decision.start->worker);
            apply(state_, *decision.start);
        }
        return started;
    }
    void ready(std::size_t worker, std::size_t slots = 1) {
        state_.workers[worker].state = State::ready;
        state_.workers[worker].slots = slots;
        state_.workers[worker].plans = true;
    }

    Machine machine_;
    PlacementState state_;
};

TEST_F(Placement, OpensAWorkerForEachTrialUntilAllAreUsed) {
    for (std::int64_t trial = 1; trial <= 3; ++trial) wait_for(trial, gib);
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u), std::pair(2, 1u)));
    EXPECT_EQ(state_.queue.size(), 1u);
    EXPECT_EQ(state_.workers[0].state, State::starting);
    EXPECT_EQ(state_.reservations.size(), 2u);
}

TEST_F(Placement, TakesAnIdleWorkerBeforeItOpensOne) {
    ready(1);
    wait_for(1, gib);
    const auto decision = place(state_, machine_);
    ASSERT_TRUE(decision.start);
    EXPECT_EQ(decision.start->worker, 1u);
    EXPECT_FALSE(decision.start->opens);
}

TEST_F(Placement, OpensNoWorkerIfThatIsNotAllowed) {
    state_.may_open = false;
    wait_for(1, gib);
    EXPECT_THAT(start_all(), IsEmpty());
}

TEST_F(Placement, ATrialJoinsTheWorkerWithItsFusionKeyWithItsColocatedFootprint) {
    wait_for(1, 2 * gib, "mlp");
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u)));
    ready(0, 2);
    wait_for(2, 2 * gib, "mlp");
    wait_for(3, 2 * gib, "other");
    EXPECT_THAT(start_all(), ElementsAre(std::pair(2, 0u), std::pair(3, 1u)));
    EXPECT_EQ(state_.reservations[1].footprint.host_bytes, gib / 4);
    EXPECT_EQ(state_.reservations[2].footprint.host_bytes, 2 * gib);
}

TEST_F(Placement, ATrialThatNeedsAWorkerOfItsOwnSharesNone) {
    wait_for(1, gib, "mlp");
    state_.queue.back().own_worker = true;
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u)));
    ready(0, 8);
    wait_for(2, gib, "mlp");
    EXPECT_THAT(start_all(), ElementsAre(std::pair(2, 1u)));
}

TEST_F(Placement, WaitsForTheAnswerToAPlanQuestion) {
    ready(0, 8);
    state_.workers[0].asked = true;
    wait_for(1, gib, "mlp");
    EXPECT_THAT(start_all(), IsEmpty());
    state_.workers[0].asked = false;
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u)));
}

TEST_F(Placement, AnIdleWorkerOfAnotherDeviceIsReleased) {
    machine_.accelerators = {{.id = "GPU-0", .memory = 8 * gib}, {.id = "GPU-1", .memory = 8 * gib}};
    machine_.accelerators[0].usable = false;
    state_.on_device = true;
    state_.workers.resize(1);
    ready(0);
    state_.workers[0].device = 0;
    wait_for(1, gib);
    const auto decision = place(state_, machine_);
    EXPECT_FALSE(decision.start);
    EXPECT_THAT(decision.release, ElementsAre(0u));
}

TEST_F(Placement, ATrialTooLargeForTheEmptyMachineIsRefusedBeforeOthersStart) {
    wait_for(1, gib);
    wait_for(2, 64 * gib);
    const auto decision = place(state_, machine_);
    EXPECT_FALSE(decision.start);
    ASSERT_EQ(decision.never.size(), 1u);
    EXPECT_EQ(decision.never[0].trial, 2);
}

TEST_F(Placement, TheQueueGrowsWithTheFreeSlots) {
    EXPECT_EQ(longest_queue(state_, 2), 2u);
    wait_for(1, gib, "mlp");
    start_all();
    ready(0, 9);
    EXPECT_EQ(longest_queue(state_, 2), 4u);
}

}  // namespace
}  // namespace hpo
