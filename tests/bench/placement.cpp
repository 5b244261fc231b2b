// The time of a decision of placement, with a machine that never changes and with live readings: a trial ends, its host
// is read again, and the next trial starts.
//
//     bench_placement [decisions]
//
// Each device has 80 GiB, and a trial takes 20 to 40 GiB of it, so that two or three share a device; 64 trials wait. A
// reading changes the memory that other programs use on the host and the free memory of each of its devices.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "orchestrator/scheduling/placement.hpp"

namespace {

using namespace hpo;

constexpr std::int64_t GiB = std::int64_t{1} << 30;
constexpr int waiting = 64;

class Session {
   public:
    Session(int hosts, int devices, bool live) : live_(live) {
        machine_.hosts.assign(std::size_t(hosts), {.cores = 1e6, .memory = 2048 * GiB});
        for (int i = 0; i < hosts * devices; ++i)
            machine_.accelerators.push_back(
                {.id = std::to_string(i), .memory = 80 * GiB, .reserve = 4 * GiB, .host = i / devices});
        for (int host = 0; live && host < hosts; ++host) read(host);
        placement_.set_machine(machine_);
        for (std::size_t worker = 0; worker < 4 * machine_.accelerators.size(); ++worker)
            placement_.set_worker(worker, {});
        while (running_.size() < 4 * machine_.accelerators.size()) {
            fill_queue();
            if (!start()) break;
        }
    }

    /// Microseconds of a decision, on average.
    double decide(int count) {
        double seconds = 0;
        for (int i = 0; i < count; ++i) {
            fill_queue();
            const Running ends = running_.front();
            running_.pop_front();
            const int host = host_of(machine_, ends.reservation.device);
            if (live_) read(host);
            const auto begin = std::chrono::steady_clock::now();
            placement_.release(ends.order);
            placement_.set_worker(ends.worker, {});
            if (live_) placement_.host_changed(host);
            starts_ += start() ? 1 : 0;
            seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        }
        return 1e6 * seconds / count;
    }
    [[nodiscard]] std::size_t running() const { return running_.size(); }
    [[nodiscard]] int starts() const { return starts_; }

   private:
    struct Running {
        Reservation reservation;
        std::int64_t order = 0;
        std::size_t worker = 0;
    };
    std::int64_t below(std::int64_t count) { return std::int64_t(random_() % std::uint64_t(count)); }

    void read(int host) {
        Machine::Host& now = machine_.hosts[std::size_t(host)];
        now.others = below(64 * GiB);
        now.free = (1024 + below(512)) * GiB;
        const std::size_t each = machine_.accelerators.size() / machine_.hosts.size();
        for (std::size_t i = 0; i < each; ++i) {
            Accelerator& device = machine_.accelerators[std::size_t(host) * each + i];
            device.others = below(GiB);
            device.free = 80 * GiB - device.others;
        }
    }
    void fill_queue() {
        while (placement_.waiting() < waiting) {
            placement_.set_queued(++trials_, true);
            placement_.set_needs({.trial = trials_, .footprint = {(20 + below(20)) * GiB, GiB, 1}, .devices = 1});
        }
    }
    bool start() {
        const PlacementDecision decision = placement_.decide();
        if (!decision.start) return false;
        const Reservation reservation = placement_.reservation_of(*decision.start);
        placement_.set_worker(decision.start->worker,
                              {.state = PlacementWorker::State::ready, .device = reservation.device, .trials = 1});
        placement_.hold(++launches_, reservation);
        placement_.set_queued(reservation.trial, false);
        placement_.forget_needs(reservation.trial);
        running_.push_back({reservation, launches_, decision.start->worker});
        return true;
    }

    bool live_;
    std::mt19937_64 random_{1};
    Machine machine_;
    Placement placement_;
    std::deque<Running> running_;
    std::int64_t trials_ = 0, launches_ = 0;
    int starts_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const int decisions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20'000;
    std::printf("| hosts | devices | running | fixed machine | live readings |\n|---|---|---|---|---|\n");
    for (const auto& [hosts, devices] : {std::pair(1, 16), {2, 8}, {16, 8}, {1250, 8}}) {
        Session fixed(hosts, devices, false), live(hosts, devices, true);
        const double without = fixed.decide(decisions), with = live.decide(decisions);
        std::printf("| %d | %d | %zu | %.1f us | %.1f us |\n", hosts, hosts * devices, live.running(), without, with);
        std::fflush(stdout);
        if (live.starts() < decisions / 2) std::fprintf(stderr, "only %d started\n", live.starts());
    }
}
