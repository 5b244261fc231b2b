// The state machine that places trials in workers.
#include "orchestrator/scheduling/placement.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/support/bytes.hpp"

namespace hpo {
namespace {

using State = PlacementWorker::State;
using ::testing::ElementsAre;
using testing::GiB;
using ::testing::IsEmpty;

/// Returns the worker after a start: it has the trial, and is starting if it was opened.
PlacementWorker after(const PlacementDecision::Start& start, const TrialNeeds& needs, PlacementWorker worker) {
    if (start.opens) worker = {.state = State::starting, .device = start.launch.device, .more = start.launch.more};
    worker.fusion_key = needs.fusion_key;
    worker.exclusive = worker.exclusive || needs.own_worker;
    ++worker.trials;
    return worker;
}

class Placed : public ::testing::Test {
   protected:
    Placed() {
        machine_.hosts[0].cores = 8;
        machine_.hosts[0].memory = 16 * GiB;
        placement_.set_machine(machine_);
        for (std::size_t worker : {0, 1}) placement_.set_worker(worker, {});
    }
    void wait_for(std::int64_t trial, std::int64_t bytes, const std::string& fusion_key = {}, bool own_worker = false) {
        placement_.set_queued(trial, true);
        placement_.set_needs({.trial = trial,
                              .footprint = {0, bytes, 1},
                              .colocated = {0, GiB / 4, 0},
                              .fusion_key = fusion_key,
                              .own_worker = own_worker});
    }
    /// Starts every trial that can start. Returns the trials with their workers, in order.
    std::vector<std::pair<std::int64_t, std::size_t>> start_all() {
        std::vector<std::pair<std::int64_t, std::size_t>> started;
        for (auto decision = placement_.decide(); decision.start; decision = placement_.decide()) {
            const PlacementDecision::Start& start = *decision.start;
            started.emplace_back(start.launch.trial, start.worker);
            held_.push_back(placement_.reservation_of(start));
            placement_.set_worker(
                start.worker, after(start, placement_.needs_of(start.launch.trial), placement_.worker(start.worker)));
            placement_.hold(static_cast<std::int64_t>(held_.size()), held_.back());
        }
        return started;
    }
    void ready(std::size_t index, std::size_t slots = 1, std::int64_t planning = 0) {
        PlacementWorker worker = placement_.worker(index);
        worker.state = State::ready;
        worker.slots = slots;
        worker.plans = true;
        worker.planning = planning;
        placement_.set_worker(index, worker);
    }

    Machine machine_;
    Placement placement_;
    std::vector<Reservation> held_;
};

TEST_F(Placed, OpensAWorkerForEachTrialUntilAllAreUsed) {
    for (std::int64_t trial = 1; trial <= 3; ++trial) wait_for(trial, GiB);
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u), std::pair(2, 1u)));
    EXPECT_EQ(placement_.waiting(), 1u);
}

TEST_F(Placed, TakesAnIdleWorkerBeforeItOpensOne) {
    ready(1);
    wait_for(1, GiB);
    const auto decision = placement_.decide();
    ASSERT_TRUE(decision.start);
    EXPECT_EQ(decision.start->worker, 1u);
    EXPECT_FALSE(decision.start->opens);
}

TEST_F(Placed, OpensNoWorkerIfThatIsNotAllowed) {
    placement_.set_limits({.may_open = false});
    wait_for(1, GiB);
    EXPECT_THAT(start_all(), IsEmpty());
}

TEST_F(Placed, ATrialJoinsTheWorkerWithItsFusionKeyWithItsColocatedFootprint) {
    wait_for(1, 2 * GiB, "mlp");
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u)));
    ready(0, 2);
    wait_for(2, 2 * GiB, "mlp");
    wait_for(3, 2 * GiB, "other");
    EXPECT_THAT(start_all(), ElementsAre(std::pair(2, 0u), std::pair(3, 1u)));
    EXPECT_EQ(held_[1].footprint.host_bytes, GiB / 4);
    EXPECT_EQ(held_[2].footprint.host_bytes, 2 * GiB);
}

TEST_F(Placed, ATrialThatNeedsAWorkerOfItsOwnSharesNone) {
    wait_for(1, GiB, "mlp", true);
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u)));
    ready(0, 8);
    wait_for(2, GiB, "mlp");
    EXPECT_THAT(start_all(), ElementsAre(std::pair(2, 1u)));
}

TEST_F(Placed, WaitsForTheAnswerToAPlanQuestion) {
    ready(0, 8, 9);
    wait_for(1, GiB, "mlp");
    EXPECT_THAT(start_all(), IsEmpty());
    ready(0, 8);
    EXPECT_THAT(start_all(), ElementsAre(std::pair(1, 0u)));
}

TEST_F(Placed, AnIdleWorkerOfAnotherDeviceIsReleased) {
    machine_.accelerators = {{.id = "GPU-0", .memory = 8 * GiB, .usable = false}, {.id = "GPU-1", .memory = 8 * GiB}};
    Placement placement;
    placement.set_machine(machine_);
    placement.set_worker(0, {.state = State::ready, .device = 0, .plans = true});
    placement.set_queued(1, true);
    placement.set_needs({.trial = 1, .footprint = {0, GiB, 1}, .devices = 1});
    const auto decision = placement.decide();
    EXPECT_FALSE(decision.start);
    EXPECT_THAT(decision.release, ElementsAre(0u));
}

TEST_F(Placed, AnIdleWorkerIsTakenRatherThanADeviceWithMoreRoom) {
    machine_.accelerators = {{.id = "GPU-0", .memory = 8 * GiB}, {.id = "GPU-1", .memory = 80 * GiB}};
    Placement placement;
    placement.set_machine(machine_);
    placement.set_limits({.parallel = 1});
    placement.set_worker(0, {.state = State::ready, .device = 0, .plans = true});
    placement.set_queued(1, true);
    placement.set_needs({.trial = 1, .footprint = {0, GiB, 1}, .devices = 1});
    const auto decision = placement.decide();
    ASSERT_TRUE(decision.start);
    EXPECT_EQ(decision.start->worker, 0u);
    EXPECT_FALSE(decision.start->opens);
    EXPECT_THAT(decision.release, IsEmpty());

    placement.set_needs({.trial = 1, .footprint = {16 * GiB, GiB, 1}, .devices = 1});
    EXPECT_THAT(placement.decide().release, ElementsAre(0u)) << "the trial fits only the larger device";
    placement.set_needs({.trial = 1, .footprint = {0, GiB, 1}, .devices = 1});
    placement.set_worker(0, {.state = State::ready, .device = 0, .more = {1}, .plans = true});
    EXPECT_THAT(placement.decide().release, ElementsAre(0u)) << "a worker of two devices is none for one";
}

TEST_F(Placed, AnIdleWorkerOfABusierDeviceWaits) {
    machine_.accelerators = {{.id = "GPU-0", .memory = 80 * GiB}, {.id = "GPU-1", .memory = 8 * GiB}};
    Placement placement;
    placement.set_machine(machine_);
    placement.set_worker(0, {.state = State::ready, .device = 0, .trials = 1, .plans = true});
    placement.hold(1, {1, {0, GiB, 1}, 0});
    placement.set_worker(1, {.state = State::ready, .device = 0, .plans = true});
    placement.set_worker(2, {});
    placement.set_queued(2, true);
    placement.set_needs({.trial = 2, .footprint = {0, GiB, 1}, .devices = 1});
    const auto decision = placement.decide();
    ASSERT_TRUE(decision.start);
    EXPECT_EQ(decision.start->launch.device, 1);
    EXPECT_TRUE(decision.start->opens);
}

TEST_F(Placed, AnIdleWorkerOfADeviceWithItsMostWorkersKeepsNoTrialFromAnother) {
    machine_.accelerators = {{.id = "GPU-0", .memory = 8 * GiB}, {.id = "GPU-1", .memory = 80 * GiB}};
    Placement placement;
    placement.set_machine(machine_);
    placement.set_limits({.workers_on = {{0, 2}}});
    placement.set_worker(0, {.state = State::ready, .device = 0, .trials = 1, .plans = true});
    placement.hold(1, {1, {0, GiB, 1}, 0});
    placement.set_worker(1, {.state = State::ready, .device = 0, .plans = true});
    placement.set_worker(2, {.state = State::ready, .device = 1, .trials = 1, .plans = true});
    placement.hold(2, {2, {0, GiB, 1}, 1});
    placement.set_worker(3, {});
    placement.set_queued(3, true);
    placement.set_needs({.trial = 3, .footprint = {0, GiB, 1}, .devices = 1});
    const auto warm = placement.decide();
    ASSERT_TRUE(warm.start);
    EXPECT_EQ(warm.start->worker, 1u);
    placement.set_limits({.workers_on = {{0, 1}}});
    const auto lowered = placement.decide();
    ASSERT_TRUE(lowered.start);
    EXPECT_EQ(lowered.start->launch.device, 1);
    EXPECT_FALSE(lowered.limited);
}

TEST_F(Placed, NoWorkerIsReleasedWhileOneOfTheDeviceIsAboutToAnswer) {
    machine_.hosts = {machine_.hosts[0], machine_.hosts[0]};
    machine_.hosts[1].memory = 32 * GiB;
    Placement placement;
    placement.set_machine(machine_);
    placement.set_worker(0, {.state = State::ready, .device = on_host(0), .trials = 1, .plans = true});
    placement.hold(1, {1, {0, GiB, 1}, on_host(0)});
    placement.set_worker(1, {.state = State::ready, .device = on_host(0), .plans = true});
    placement.set_worker(2, {.state = State::ready, .device = on_host(1), .plans = true, .planning = 9});
    placement.set_queued(2, true);
    placement.set_needs({.trial = 2, .footprint = {0, GiB, 1}});
    const auto waits = placement.decide();
    EXPECT_FALSE(waits.start);
    EXPECT_THAT(waits.release, IsEmpty());
    placement.set_worker(3, {});
    const auto opens = placement.decide();
    ASSERT_TRUE(opens.start) << "a further worker may start while the other answers";
    EXPECT_EQ(opens.start->worker, 3u);
}

TEST_F(Placed, ATrialTooLargeForTheEmptyMachineIsRefusedBeforeOthersStart) {
    wait_for(1, GiB);
    wait_for(2, 64 * GiB);
    const auto decision = placement_.decide();
    EXPECT_FALSE(decision.start);
    ASSERT_EQ(decision.never.size(), 1u);
    EXPECT_EQ(decision.never[0].trial, 2);
}

TEST_F(Placed, TheQueueGrowsWithTheFreeSlots) {
    EXPECT_EQ(placement_.longest_queue(2), 2u);
    wait_for(1, GiB, "mlp");
    start_all();
    ready(0, 9);
    EXPECT_EQ(placement_.longest_queue(2), 4u);
}

TEST_F(Placed, FractionsOfCoresAddUpHoweverManyTrialsHaveComeAndGone) {
    machine_.hosts[0].cores = 1;
    placement_.set_machine(machine_);
    const Reservation tenth{.trial = 1, .footprint = {0, 0, 0.1}};
    for (int round = 0; round < 100'000; ++round) {
        for (int i = 0; i < 3; ++i) placement_.hold(3 * round + i, tenth);
        for (int i = 0; i < 3; ++i) placement_.release(3 * round + i);
    }
    placement_.set_queued(2, true);
    placement_.set_needs({.trial = 2, .footprint = {0, 0, 1}});
    EXPECT_TRUE(placement_.decide().start);
}

TEST(PlacementQueue, ATrialWaitsWhileItIsQueuedWithNeedsAndInNoWorkersHands) {
    Placement placement;
    placement.set_worker(0, {.state = State::ready, .plans = true});
    placement.set_needs({.trial = 1, .footprint = {}});
    EXPECT_EQ(placement.waiting(), 0u) << "it is not queued";
    placement.set_queued(1, true);
    placement.set_queued(2, true);
    EXPECT_EQ(placement.waiting(), 1u);
    EXPECT_THAT(placement.without_needs(), ElementsAre(2));
    placement.set_worker(0, {.state = State::ready, .plans = true, .planning = 2});
    EXPECT_TRUE(placement.holds(2)) << "a worker is asked about it";
    EXPECT_THAT(placement.without_needs(), IsEmpty());
    placement.hold(7, {.trial = 1});
    EXPECT_EQ(placement.waiting(), 0u);
    placement.set_worker(0, {.state = State::ready, .plans = true});
    placement.release(7);
    EXPECT_EQ(placement.waiting(), 1u) << "it is to start again";
    placement.forget_needs(1);
    EXPECT_THAT(placement.without_needs(), ElementsAre(1, 2));
    placement.set_queued(1, false);
    EXPECT_THAT(placement.without_needs(), ElementsAre(2));
}

TEST(PlacementQueue, HasToBeLookedAtAgainOnceSomethingHasChanged) {
    Placement placement;
    EXPECT_TRUE(placement.take_changed()) << "nothing was decided yet";
    EXPECT_FALSE(placement.take_changed());
    placement.set_queued(1, true);
    EXPECT_TRUE(placement.take_changed());
    placement.set_queued(1, true);
    placement.set_worker(0, {});
    EXPECT_FALSE(placement.take_changed()) << "they are as they were";
    placement.set_needs({.trial = 1, .footprint = {}});
    EXPECT_TRUE(placement.take_changed());
    placement.look_again();
    EXPECT_TRUE(placement.take_changed());
}

TEST(PlacementQueue, WorkersWithAFusionKeyLetMoreTrialsWait) {
    Placement placement;
    placement.set_worker(0, {.state = State::ready, .fusion_key = "mlp", .slots = 9, .trials = 1, .plans = true});
    EXPECT_EQ(placement.longest_queue(2), 4u);
    EXPECT_EQ(placement.most_slots(), 9u);
    placement.set_limits({.slots_on = {{host_only, 5}}});
    EXPECT_EQ(placement.longest_queue(2), 3u);
    EXPECT_EQ(placement.most_slots(), 9u);
    placement.set_limits({.slots_each = 5});
    EXPECT_EQ(placement.longest_queue(2), 3u);
    placement.set_limits({.slots_on = {{host_only, 9}}, .slots_each = 5});
    EXPECT_EQ(placement.longest_queue(2), 4u) << "the device's own limit comes first";
}

/// A session of random trials and workers: a placement that is told each change decides like a new one that is told the
/// resulting state alone.
class Session {
   public:
    Session(unsigned seed, bool live, bool fused) : random_(seed), live_(live), fused_(fused) {
        const int hosts = 1 + int(seed % 3);
        machine_.hosts.assign(std::size_t(hosts), {.cores = 16.3, .memory = 64 * GiB});
        for (int i = 0; i < 4; ++i)
            machine_.accelerators.push_back(
                {.id = std::to_string(i), .memory = (8 + 8 * i) * GiB, .reserve = GiB, .host = i % hosts});
        machine_.accelerators[1].unified = seed % 3 == 0;
        machine_.accelerators[2].parallel = 2;
        devices_ = seed % 4 == 0 ? 0 : seed % 5 == 0 ? 2 : 1;
        workers_.resize(7);
        for (std::size_t i = 0; i < workers_.size(); ++i) told(i);
        placement_.set_machine(machine_);
    }

    void change() {
        switch (below(9)) {
            case 0:
            case 1:
            case 2:
                return wait();
            case 3:
                return end_a_trial();
            case 4:
                return get_ready();
            case 5:
                return leave();
            case 6:
                return ask();
            case 7:
                return set_limits();
            default:
                return read_host(int(below(std::int64_t(machine_.hosts.size()))));
        }
    }

    /// Both decide the same, and what starts is started. Returns how many trials have started.
    int decide() {
        Placement anew;
        anew.set_limits(limits_);
        anew.set_machine(machine_);
        for (std::size_t i = 0; i < workers_.size(); ++i) anew.set_worker(i, workers_[i]);
        for (const auto& held : held_) anew.hold(held.order, held.reservation);
        for (const auto& [trial, needs] : queue_) {
            anew.set_needs(needs);
            anew.set_queued(trial, true);
        }

        const PlacementDecision expected = anew.decide(), found = placement_.decide();
        EXPECT_EQ(found.start.has_value(), expected.start.has_value());
        EXPECT_EQ(found.release, expected.release);
        EXPECT_EQ(texts(found.never), texts(expected.never));
        EXPECT_EQ(found.kept_out ? found.kept_out->text : "", expected.kept_out ? expected.kept_out->text : "");
        EXPECT_EQ(found.limited, expected.limited);
        EXPECT_EQ(found.joins_soon, expected.joins_soon);
        for (const auto& never : expected.never) drop(never.trial);
        if (!expected.start || !found.start) return 0;
        const PlacementDecision::Start& start = *found.start;
        EXPECT_EQ(start.worker, expected.start->worker);
        EXPECT_EQ(start.opens, expected.start->opens);
        const Reservation reservation = placement_.reservation_of(start);
        EXPECT_EQ(reservation, anew.reservation_of(*expected.start));
        PlacementWorker& worker = workers_[start.worker];
        worker = after(start, queue_.at(start.launch.trial), worker);
        told(start.worker);
        placement_.hold(++launches_, reservation);
        held_.push_back({reservation, launches_, start.worker});
        queue_.erase(start.launch.trial);
        if (launches_ % 2 == 0) placement_.set_queued(start.launch.trial, false);
        return 1;
    }

   private:
    std::int64_t below(std::int64_t count) { return std::int64_t(random_() % std::uint64_t(count)); }
    static std::string texts(const std::vector<Admission::Reason>& reasons) {
        std::string text;
        for (const auto& reason : reasons) text += std::to_string(reason.trial) + reason.text + '\n';
        return text;
    }

    void wait() {
        TrialNeeds needs{.trial = ++trials_, .footprint = {}};
        needs.footprint = {below(10) * GiB, below(12) * GiB, double(below(4)) / 3};
        if (below(30) == 0) needs.footprint.device_bytes = 100 * GiB;
        needs.colocated = {GiB, 0, 0.1};
        needs.alone = below(12) == 0;
        needs.own_worker = below(12) == 0;
        needs.devices = below(6) == 0 ? 0 : devices_;
        if (fused_ && below(3) > 0) needs.fusion_key = below(2) ? "a" : "b";
        queue_[needs.trial] = needs;
        placement_.set_queued(needs.trial, true);
        placement_.set_needs(needs);
    }
    void drop(std::int64_t trial) {
        queue_.erase(trial);
        placement_.set_queued(trial, false);
    }
    void end_a_trial() {
        if (held_.empty()) return;
        const auto which = held_.begin() + below(std::int64_t(held_.size()));
        PlacementWorker& worker = workers_[which->worker];
        if (--worker.trials == 0) worker.fusion_key.clear(), worker.exclusive = false;
        placement_.set_queued(which->reservation.trial, false);
        placement_.release(which->order);
        told(which->worker);
        held_.erase(which);
    }
    void get_ready() {
        const auto index = std::size_t(below(7));
        PlacementWorker& worker = workers_[index];
        if (worker.state != State::starting) return;
        worker.state = State::ready;
        worker.slots = fused_ ? 4 : 1;
        worker.plans = fused_ || below(2) == 0;
        told(index);
    }
    void leave() {
        const auto index = std::size_t(below(7));
        PlacementWorker& worker = workers_[index];
        if (worker.trials > 0) return;
        if (worker.state == State::leaving)
            worker = {};
        else if (worker.state == State::ready)
            worker.state = State::leaving;
        told(index);
    }
    void ask() {
        const auto index = std::size_t(below(7));
        PlacementWorker& worker = workers_[index];
        if (worker.state == State::ready && worker.plans) worker.planning = worker.planning == 0 ? asked_about : 0;
        told(index);
    }
    void set_limits() {
        limits_.may_open = below(4) > 0;
        limits_.parallel = below(3) ? std::optional<std::int64_t>() : 1 + below(6);
        limits_.workers_each = below(2) ? std::optional<std::int64_t>() : 1 + below(3);
        limits_.workers_on.clear();
        if (below(2)) limits_.workers_on[0] = 1 + below(3);
        limits_.slots_on.clear();
        if (below(2)) limits_.slots_on[1] = std::size_t(1 + below(4));
        limits_.slots_each = below(2) ? std::optional<std::size_t>() : std::size_t(1 + below(4));
        placement_.set_limits(limits_);
    }
    void read_host(int index) {
        Machine::Host& host = machine_.hosts[std::size_t(index)];
        host.others = below(8) * GiB;
        host.free.reset();
        if (live_) host.free = (20 + below(40)) * GiB;
        for (Accelerator& device : machine_.accelerators) {
            if (device.host != index) continue;
            device.others = below(3) * GiB;
            device.usable = below(8) > 0;
            if (below(20) == 0) device.memory = device.memory == 0 ? 16 * GiB : 0;  // given up, or back
            if (below(20) == 0) device.unified = !device.unified;  // a device's kind of memory becomes known late
            device.free.reset();
            if (live_ && below(2)) device.free = (4 + below(10)) * GiB;
        }
        placement_.host_changed(index);
    }
    void told(std::size_t worker) { placement_.set_worker(worker, workers_[worker]); }

    static constexpr std::int64_t asked_about = 1'000'000;  ///< a trial that is not queued
    struct Held {
        Reservation reservation;
        std::int64_t order = 0;
        std::size_t worker = 0;
    };
    std::mt19937_64 random_;
    bool live_, fused_;
    std::size_t devices_ = 0;
    Machine machine_;
    PlacementLimits limits_;
    std::vector<PlacementWorker> workers_;
    std::map<std::int64_t, TrialNeeds> queue_;
    Placement placement_;
    std::vector<Held> held_;
    std::int64_t trials_ = 0, launches_ = 0;
};

TEST(PlacementChanges, LeadToTheDecisionsOfAPlacementThatIsToldAllAtOnce) {
    int started = 0;
    for (unsigned seed = 1; seed <= 40; ++seed) {
        Session session(seed, seed % 2 == 0, seed % 7 < 3);
        for (int i = 0; i < 150 && !::testing::Test::HasFailure(); ++i) {
            session.change();
            started += session.decide();
        }
        ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    }
    EXPECT_GT(started, 500);
}

}  // namespace
}  // namespace hpo
