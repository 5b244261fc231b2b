// Placing from a state that is kept: after any changes it decides as place() does from a snapshot.
#include "orchestrator/scheduling/placer.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/support/bytes.hpp"

namespace hpo {
namespace {

using testing::GiB;

/// A session of random trials and workers, kept twice: as a snapshot, and in a placer that is told each change.
class Session {
   public:
    Session(unsigned seed, bool live, bool fused) : random_(seed), live_(live), fused_(fused) {
        machine_.cores = 16.3;
        machine_.memory = 64 * GiB;
        for (int i = 0; i < 4; ++i)
            machine_.accelerators.push_back({.id = std::to_string(i), .memory = (8 + 8 * i) * GiB, .reserve = GiB});
        machine_.accelerators[1].unified = seed % 3 == 0;
        machine_.accelerators[2].parallel = 2;
        state_.on_device = seed % 4 != 0;
        state_.devices = state_.on_device && seed % 5 == 0 ? 2 : 1;
        state_.workers.resize(7);
        for (std::size_t i = 0; i < state_.workers.size(); ++i) told(i);
        read_machine();
        placer_.set_limits(state_);
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
                return read_machine();
        }
    }

    /// Both decide the same, and what starts is started in both. Returns how many trials have started.
    int decide() {
        const PlacementDecision expected = place(state_, machine_), found = placer_.decide();
        EXPECT_EQ(found.start.has_value(), expected.start.has_value());
        EXPECT_EQ(found.release, expected.release);
        EXPECT_EQ(texts(found.never), texts(expected.never));
        EXPECT_EQ(found.kept_out ? found.kept_out->text : "", expected.kept_out ? expected.kept_out->text : "");
        EXPECT_EQ(found.limited, expected.limited);
        EXPECT_EQ(found.joins_soon, expected.joins_soon);
        for (const auto& never : expected.never) drop(never.trial);
        if (!expected.start || !found.start) return 0;
        EXPECT_EQ(found.start->worker, expected.start->worker);
        EXPECT_EQ(found.start->opens, expected.start->opens);
        EXPECT_EQ(placer_.reservation_of(*found.start), reservation_of(state_, *expected.start));
        apply(state_, *expected.start);
        placer_.dequeue(expected.start->launch.trial);
        told(expected.start->worker);
        hold(state_.reservations.back(), expected.start->worker);
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
        PlacementTrial trial{.trial = ++trials_};
        trial.footprint = {below(10) * GiB, below(12) * GiB, double(below(4)) / 3};
        if (below(30) == 0) trial.footprint.device_bytes = 100 * GiB;
        trial.colocated = {GiB, 0, 0.1};
        trial.alone = below(12) == 0;
        trial.own_worker = below(12) == 0;
        trial.on_host = below(6) == 0;
        if (fused_ && below(3) > 0) trial.fusion_key = below(2) ? "a" : "b";
        state_.queue.push_back(trial);
        placer_.enqueue(trial.trial, trial);
    }
    void drop(std::int64_t trial) {
        std::erase_if(state_.queue, [&](const PlacementTrial& other) { return other.trial == trial; });
        placer_.dequeue(trial);
    }
    void hold(const Reservation& reservation, std::size_t worker) {
        placer_.hold(++launches_, reservation);
        held_.push_back({reservation.trial, launches_, worker});
    }
    void end_a_trial() {
        if (held_.empty()) return;
        const auto which = held_.begin() + below(std::int64_t(held_.size()));
        PlacementWorker& worker = state_.workers[which->worker];
        if (--worker.trials == 0) worker.fusion_key.clear(), worker.exclusive = false;
        placer_.release(which->order);
        std::erase_if(state_.reservations, [&](const Reservation& held) { return held.trial == which->trial; });
        told(which->worker);
        held_.erase(which);
    }
    void get_ready() {
        const auto index = std::size_t(below(7));
        PlacementWorker& worker = state_.workers[index];
        if (worker.state != PlacementWorker::State::starting) return;
        worker.state = PlacementWorker::State::ready;
        worker.slots = fused_ ? 4 : 1;
        worker.plans = fused_ || below(2) == 0;
        told(index);
    }
    void leave() {
        const auto index = std::size_t(below(7));
        PlacementWorker& worker = state_.workers[index];
        if (worker.trials > 0) return;
        if (worker.state == PlacementWorker::State::leaving)
            worker = {};
        else if (worker.state == PlacementWorker::State::ready)
            worker.state = PlacementWorker::State::leaving;
        told(index);
    }
    void ask() {
        const auto index = std::size_t(below(7));
        PlacementWorker& worker = state_.workers[index];
        if (worker.state == PlacementWorker::State::ready && worker.plans) worker.asked = !worker.asked;
        told(index);
    }
    void set_limits() {
        state_.may_open = below(4) > 0;
        state_.parallel = below(3) ? std::optional<std::int64_t>() : 1 + below(6);
        state_.workers_each = below(2) ? std::optional<std::int64_t>() : 1 + below(3);
        state_.workers_on.clear();
        if (below(2)) state_.workers_on[0] = 1 + below(3);
        state_.slots_on.clear();
        if (below(2)) state_.slots_on[1] = std::size_t(1 + below(4));
        state_.slots_each = below(2) ? std::optional<std::size_t>() : std::size_t(1 + below(4));
        placer_.set_limits(state_);
    }
    void read_machine() {
        machine_.memory_others = below(8) * GiB;
        machine_.memory_free.reset();
        if (live_) machine_.memory_free = (20 + below(40)) * GiB;
        for (Accelerator& device : machine_.accelerators) {
            device.others = below(3) * GiB;
            device.usable = below(8) > 0;
            device.free.reset();
            if (live_ && below(2)) device.free = (4 + below(10)) * GiB;
        }
        placer_.set_machine(machine_);
    }
    void told(std::size_t worker) { placer_.set_worker(worker, state_.workers[worker]); }

    struct Held {
        std::int64_t trial = 0, order = 0;
        std::size_t worker = 0;
    };
    std::mt19937_64 random_;
    bool live_, fused_;
    Machine machine_;
    PlacementState state_;
    Placer placer_;
    std::vector<Held> held_;
    std::int64_t trials_ = 0, launches_ = 0;
};

TEST(Placer, DecidesAfterAnyChangesAsFromASnapshot) {
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

TEST(Placer, FractionsOfCoresAddUpHoweverManyTrialsHaveComeAndGone) {
    const Machine machine{.cores = 1, .memory = GiB};
    Placer placer;
    placer.set_worker(0, {});
    placer.set_machine(machine);
    const Reservation tenth{.trial = 1, .footprint = {0, 0, 0.1}};
    for (int round = 0; round < 100'000; ++round) {
        for (int i = 0; i < 3; ++i) placer.hold(3 * round + i, tenth);
        for (int i = 0; i < 3; ++i) placer.release(3 * round + i);
    }
    placer.enqueue(1, {.trial = 2, .footprint = {0, 0, 1}});
    EXPECT_TRUE(placer.decide().start);
}

TEST(Placer, WorkersWithAFusionKeyLetMoreTrialsWait) {
    Placer placer;
    placer.set_worker(
        0, {.state = PlacementWorker::State::ready, .fusion_key = "mlp", .slots = 9, .trials = 1, .plans = true});
    EXPECT_EQ(placer.longest_queue(2), 4u);
    EXPECT_EQ(placer.most_slots(), 9u);
    placer.set_limits({.slots_on = {{host_only, 5}}});
    EXPECT_EQ(placer.longest_queue(2), 3u);
    EXPECT_EQ(placer.most_slots(), 9u);
    placer.set_limits({.slots_each = 5});
    EXPECT_EQ(placer.longest_queue(2), 3u);
    placer.set_limits({.slots_on = {{host_only, 9}}, .slots_each = 5});
    EXPECT_EQ(placer.longest_queue(2), 4u) << "the device's own limit comes first";
}

}  // namespace
}  // namespace hpo
