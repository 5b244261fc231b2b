// Random schedules under a virtual clock. Trials take less memory than predicted, exactly as much, or more. Other
// programs come, grow and go. Devices are lost and return. The invariants are checked after each event, with sums that
// do not use the code of admission.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "hpo/random.hpp"
#include "orchestrator/scheduling/machine.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "tests/support/admit.hpp"

namespace hpo {
namespace {

constexpr double gibibyte = 1024.0 * 1024 * 1024;
constexpr double calm = 60;      ///< seconds until other programs are gone and all devices are back
constexpr double longest = 20;   ///< seconds of a trial
constexpr double take_time = 2;  ///< seconds, at most, until a trial has taken its memory

struct Kind {
    bool honest = false;     ///< predictions hold and other programs do not use the machine
    bool wide_host = false;  ///< enough cores and host memory for all trials
};

class Schedule {
   public:
    Schedule(std::uint64_t seed, Kind kind) : seed_(seed), kind_(kind) {
        const int devices = static_cast<int>(between(0, 4.99));
        machine_.hosts[0].cores = kind.wide_host ? 1000 : std::floor(between(2, 25));
        machine_.hosts[0].memory = bytes(kind.wide_host ? 10'000 : between(8, 128));
        machine_.hosts[0].reserve = bytes(unit());
        for (int i = 0; i < devices; ++i)
            machine_.accelerators.push_back(
                {.id = "GPU-" + std::to_string(i),
                 .memory = bytes(between(4, 48)),
                 .reserve = bytes(unit()),
                 .parallel = unit() < 0.2 ? std::optional(std::int64_t(between(1, 4))) : std::nullopt,
                 .unified = !kind.wide_host && unit() < 0.1});
        if (!kind.wide_host && unit() < 0.3) parallel_ = static_cast<std::int64_t>(between(1, 12));
        const double on_devices = devices == 0 ? 0 : kind.wide_host || unit() < 0.7 ? 1 : unit();
        const double largest = unit() < 0.5 ? 0.25 : 1.05;  // of the largest pool; above 1: too large
        const auto count = static_cast<std::int64_t>(between(1, 50));
        for (std::int64_t number = 1; number <= count; ++number) add_trial(number, unit() < on_devices, largest);
        if (kind.honest) return;
        for (int i = 0; i < 12; ++i) events_.emplace(between(0, calm), Event{Event::foreign, 0});
        events_.emplace(calm, Event{Event::foreign, 0});
        for (int i = 0; i < devices; ++i) {
            if (unit() < 0.7) continue;
            const double lost = between(0, calm);
            events_.emplace(lost, Event{Event::lost, i});
            events_.emplace(between(lost, calm), Event{Event::back, i});
        }
    }

    /// Runs the schedule to its end. Returns its history, so that two runs can be compared.
    std::vector<std::string> run() {
        while (!events_.empty()) {
            if (history_.size() > 20'000) throw std::runtime_error("the schedule does not end");
            now_ = events_.begin()->first;
            while (!events_.empty() && events_.begin()->first <= now_) {
                const Event event = events_.begin()->second;
                events_.erase(events_.begin());
                happen(event);
            }
            admit_now();
        }
        for (const auto& [number, trial] : trials_) EXPECT_EQ(trial.ends, 1) << "trial " << number;
        EXPECT_FALSE(kind_.honest && deaths_ > 0);
        return history_;
    }

    [[nodiscard]] int deaths() const { return deaths_; }

   private:
    struct Event {
        enum { arrive, take, known, end, foreign, lost, back } what;
        std::int64_t subject;  ///< trial or device
        std::int64_t attempt = 0;
    };
    struct Trial {
        TrialNeeds asks;
        Footprint real;          ///< with one micro-batch
        double batch_share = 0;  ///< share of the real bytes that shrinks with the micro-batch
        std::int64_t batch = 1, micro_batches = 1, deaths = 0, attempt = 0;
        int ends = 0;
        bool runs = false, taken = false;
        int device = host_only;
        Reservation reservation;
    };

    double unit() { return draw_unit(seed_, Purpose::synthetic, 1, draws_++); }
    double between(double low, double high) { return low + unit() * (high - low); }
    static std::int64_t bytes(double gib) { return static_cast<std::int64_t>(gib * gibibyte); }
    void note(const std::string& what, std::int64_t subject) {
        history_.push_back(what + ' ' + std::to_string(subject));
    }

    void add_trial(std::int64_t number, bool on_device, double largest) {
        Trial trial;
        trial.asks.trial = number;
        trial.asks.devices = on_device ? 1 : 0;
        double pool = double(machine_.hosts[0].memory - machine_.hosts[0].reserve);
        if (on_device) {
            pool = 0;
            for (const auto& device : machine_.accelerators)
                pool = std::max(pool, double(device.memory - device.reserve));
        }
        const auto main = static_cast<std::int64_t>(unit() * largest * pool);
        const double cores = kind_.wide_host ? 1 : unit() < 0.3 ? std::ceil(unit() * machine_.hosts[0].cores) : unit();
        trial.asks.footprint = on_device ? Footprint{main, bytes(unit()), cores} : Footprint{0, main, cores};
        trial.real = trial.asks.footprint;
        const double share = kind_.honest || unit() < 0.8 ? (unit() < 0.5 ? 1 : unit()) : 1 + unit();
        (on_device ? trial.real.device_bytes : trial.real.host_bytes) = static_cast<std::int64_t>(double(main) * share);
        if (unit() < 0.15) {
            trial.asks.alone = true;
            // An estimate, possibly zero. The trial runs alone until its footprint is known.
            if (!kind_.honest) (on_device ? trial.asks.footprint.device_bytes : trial.asks.footprint.host_bytes) = 0;
        }
        if (unit() < 0.3) trial.batch = 256, trial.batch_share = unit();
        trials_[number] = trial;
        arrival_ += between(0, 2);
        events_.emplace(arrival_, Event{Event::arrive, number});
    }

    [[nodiscard]] Footprint real(const Trial& trial) const {
        Footprint real = trial.real;
        auto& main = trial.asks.devices > 0 ? real.device_bytes : real.host_bytes;
        main = static_cast<std::int64_t>(double(main) *
                                         (1 - trial.batch_share + trial.batch_share / double(trial.micro_batches)));
        return real;
    }

    // ---- Memory and cores in use, summed without the code of admission.

    [[nodiscard]] bool unified(int device) const {
        return device != host_only && machine_.accelerators[std::size_t(device)].unified;
    }
    [[nodiscard]] std::int64_t in_pool(const Footprint& f, int device, int pool) const {
        if (pool != host_only) return device == pool ? f.device_bytes : 0;
        return f.host_bytes + (device == host_only || unified(device) ? f.device_bytes : 0);
    }
    /// Sums over the running trials, renewed whenever one starts or ends.
    struct Sums {
        double cores = 0;
        std::map<int, std::int64_t> reserved, trials;
        std::map<int, bool> disturbed;  ///< pools where a trial runs alone
    };
    void sum_up() {
        sums_ = {};
        for (const Trial* running : running_) {
            const Trial& t = *running;
            sums_.cores += t.reservation.footprint.cores;
            for (int pool = host_only; pool < int(machine_.accelerators.size()); ++pool)
                sums_.reserved[pool] += in_pool(t.reservation.footprint, t.device, pool);
            ++sums_.trials[host_only];
            if (t.device != host_only) ++sums_.trials[t.device];
            if (t.reservation.alone) sums_.disturbed[unified(t.device) ? host_only : t.device] = true;
        }
    }
    template <class Map>
    static auto at(const Map& map, int pool) {
        const auto found = map.find(pool);
        return found == map.end() ? typename Map::mapped_type{} : found->second;
    }
    [[nodiscard]] std::int64_t reserved(int pool) const { return at(sums_.reserved, pool); }
    [[nodiscard]] int trials_in(int pool) const { return int(at(sums_.trials, pool)); }
    [[nodiscard]] std::int64_t used(int pool) const {
        std::int64_t sum = others(pool);
        for (const Trial* t : running_)
            if (t->taken) sum += in_pool(real(*t), t->device, pool);
        return sum;
    }
    [[nodiscard]] std::int64_t others(int pool) const {
        return pool == host_only ? machine_.hosts[0].others : machine_.accelerators[std::size_t(pool)].others;
    }
    [[nodiscard]] std::int64_t capacity(int pool) const {
        return pool == host_only ? machine_.hosts[0].memory : machine_.accelerators[std::size_t(pool)].memory;
    }
    [[nodiscard]] std::int64_t reserve(int pool) const {
        return pool == host_only ? machine_.hosts[0].reserve : machine_.accelerators[std::size_t(pool)].reserve;
    }
    [[nodiscard]] std::vector<int> devices_for(const Trial& trial) const {
        if (trial.asks.devices == 0) return {host_only};
        std::vector<int> devices;
        for (std::size_t i = 0; i < machine_.accelerators.size(); ++i)
            if (machine_.accelerators[i].usable) devices.push_back(int(i));
        return devices;
    }
    [[nodiscard]] bool starts_on(const Trial& trial, int device) const {
        const double cores = machine_.hosts[0].cores - sums_.cores;
        const int own = unified(device) ? host_only : device;
        if (at(sums_.disturbed, host_only) || at(sums_.disturbed, device)) return false;
        if (trial.asks.alone && trials_in(own) > 0) return false;
        if (trial.asks.footprint.cores > cores + 1e-9) return false;
        if (parallel_ && trials_in(host_only) >= *parallel_) return false;
        for (const int pool : {host_only, device}) {
            const std::int64_t room = capacity(pool) - reserve(pool) - others(pool) - reserved(pool);
            if (in_pool(trial.asks.footprint, device, pool) > room) return false;
            if (pool == host_only) continue;
            const auto& most = machine_.accelerators[std::size_t(pool)].parallel;
            if (most && trials_in(pool) >= *most) return false;
        }
        return true;
    }

    // ---- Events.

    void happen(const Event& event) {
        if (event.what == Event::foreign) return foreign();
        if (event.what == Event::lost || event.what == Event::back) return device_changes(event);
        Trial& trial = trials_.at(event.subject);
        if (event.what == Event::arrive) return waiting_.push_back(event.subject), sort_waiting();
        if (!trial.runs || trial.attempt != event.attempt) return;
        if (event.what == Event::take) return take_memory(trial);
        if (event.what == Event::known) {
            // The measured footprint, but never less than the reservation after a death.
            const Footprint measured = real(trial);
            Footprint& reservation = trial.reservation.footprint;
            reservation.device_bytes = std::max(measured.device_bytes, trial.deaths ? reservation.device_bytes : 0);
            reservation.host_bytes = std::max(measured.host_bytes, trial.deaths ? reservation.host_bytes : 0);
            trial.reservation.alone = false;
            return;
        }
        stop(trial);
        ++trial.ends;
        note("end", event.subject);
    }

    void sort_waiting() { std::sort(waiting_.begin(), waiting_.end()); }

    void foreign() {
        const auto change = [&](int pool, std::int64_t& others) {
            others = 0;
            if (now_ < calm && unit() < 0.6)
                others =
                    static_cast<std::int64_t>(unit() * double(std::max<std::int64_t>(0, capacity(pool) - used(pool))));
        };
        if (!kind_.wide_host) change(host_only, machine_.hosts[0].others);
        for (std::size_t i = 0; i < machine_.accelerators.size(); ++i) change(int(i), machine_.accelerators[i].others);
        note("foreign", machine_.hosts[0].others);
    }

    void device_changes(const Event& event) {
        machine_.accelerators[std::size_t(event.subject)].usable = event.what == Event::back;
        note(event.what == Event::back ? "back" : "lost", event.subject);
        if (event.what == Event::back) return;
        for (auto& [number, trial] : trials_)
            if (trial.runs && trial.device == event.subject) requeue(trial);
    }

    void stop(Trial& trial) {
        trial.runs = false;
        std::erase(running_, &trial);
    }

    void requeue(Trial& trial) {
        stop(trial);
        waiting_.push_back(trial.asks.trial);
        sort_waiting();
    }

    void take_memory(Trial& trial) {
        trial.taken = true;
        for (const int pool : {host_only, trial.device}) {
            if (used(pool) <= capacity(pool)) continue;
            ++deaths_;
            MemoryDeath death;
            death.reserved = trial.reservation.footprint;
            death.alone = trial.reservation.alone;
            death.on_device = pool != host_only;
            death.deaths = ++trial.deaths;
            death.micro_batches = trial.micro_batches;
            if (trial.batch > 1) death.more_micro_batches = next_accumulation(trial.batch, trial.micro_batches);
            death.capacity = {0, capacity(host_only) - reserve(host_only), 0};
            death.others.host_bytes = others(host_only);
            for (const int device : devices_for(trial)) {
                if (device == host_only) continue;
                auto room = capacity(device) - reserve(device);
                if (unified(device)) room = std::min(room, death.capacity.host_bytes - death.reserved.host_bytes);
                if (room <= death.capacity.device_bytes) continue;
                death.capacity.device_bytes = room;
                death.others.device_bytes = others(device);
            }
            if (unified(trial.device)) death.capacity.host_bytes -= death.reserved.device_bytes;
            trial.taken = false;
            return died(trial, death, pool);
        }
    }

    void died(Trial& trial, const MemoryDeath& death, int pool) {
        note("out of memory", trial.asks.trial);
        EXPECT_LE(trial.deaths, 30);
        const auto next = after_out_of_memory(death);
        if (!next) {
            stop(trial);
            ++trial.ends;
            note(next.error().message, trial.asks.trial);
            EXPECT_FALSE(death.more_micro_batches) << "given up though its micro-batch could be smaller";
            const double room = double(death.on_device ? death.capacity.device_bytes : death.capacity.host_bytes);
            EXPECT_GT(double(in_pool(real(trial), trial.device, pool)), 0.8 * room) << next.error().message;
            return;
        }
        trial.asks.footprint = next->reservation;
        trial.asks.alone = next->alone;
        trial.micro_batches = next->micro_batches;
        requeue(trial);
    }

    void admit_now() {
        sum_up();
        std::vector<Reservation> running;
        for (const Trial* trial : running_) running.push_back(trial->reservation);
        std::vector<TrialNeeds> waiting;
        for (const auto number : waiting_) waiting.push_back(trials_.at(number).asks);
        const auto admission = testing::admit(machine_, running, waiting, parallel_);
        for (const auto& refused : admission.never) {
            Trial& trial = leave_queue(refused.trial);
            ++trial.ends;
            note("never", refused.trial);
            EXPECT_FALSE(refused.text.empty());
            EXPECT_EQ(trial.deaths, 0) << "more than the capacity was reserved:  " << refused.text;
        }
        for (const auto& launch : admission.launch) {
            Trial& trial = leave_queue(launch.trial);
            const auto devices = devices_for(trial);
            EXPECT_NE(std::find(devices.begin(), devices.end(), launch.device), devices.end()) << "set aside";
            EXPECT_TRUE(starts_on(trial, launch.device)) << "trial " << launch.trial << " into what is not free";
            start(trial, launch.device);
        }
        check(admission);
    }

    Trial& leave_queue(std::int64_t number) {
        const auto found = std::find(waiting_.begin(), waiting_.end(), number);
        if (found == waiting_.end()) throw std::runtime_error("a decision on a trial that does not wait");
        waiting_.erase(found);
        return trials_.at(number);
    }

    void start(Trial& trial, int device) {
        const std::int64_t number = trial.asks.trial;
        trial.runs = true, trial.taken = false;
        running_.push_back(&trial);
        trial.device = device;
        trial.reservation = {number, trial.asks.footprint, device, trial.asks.alone};
        const std::int64_t attempt = ++trial.attempt;
        const double takes = between(0.1, take_time), length = between(take_time + 1, longest);
        events_.emplace(now_ + takes, Event{Event::take, number, attempt});
        events_.emplace(now_ + take_time + 0.5, Event{Event::known, number, attempt});
        events_.emplace(now_ + length, Event{Event::end, number, attempt});
        note("start on " + std::to_string(device), number);
        sum_up();
    }

    // ---- Invariants.

    void check(const testing::Admitted& admission) {
        if (kind_.honest)
            for (int pool = host_only; pool < int(machine_.accelerators.size()); ++pool) {
                EXPECT_LE(reserved(pool), capacity(pool) - reserve(pool));
                EXPECT_LE(used(pool), capacity(pool) - reserve(pool));
            }
        EXPECT_TRUE(waiting_.empty() || trials_in(host_only) > 0 || admission.kept_out)
            << "a trial waits although nothing runs";
        EXPECT_FALSE(now_ >= calm && admission.kept_out) << admission.kept_out->text;
        check_nothing_idles();
        check_the_first_is_not_delayed();
    }

    void check_nothing_idles() const {
        for (const auto number : waiting_) {
            const Trial& trial = trials_.at(number);
            const auto devices = devices_for(trial);
            const bool first = number == waiting_.front();
            for (const int device : devices) {
                // The host is wide enough, so an empty device need not wait for any trial.
                const bool empty = kind_.wide_host && device != host_only && trials_in(device) == 0;
                EXPECT_FALSE((first || empty) && starts_on(trial, device))
                    << "device " << device << " idles though trial " << number << " fits it";
            }
        }
    }

    /// Expects that the first waiting trial does not starve. The trials that run when it becomes the first end within
    /// `longest`, and then it starts. Trials that overtook it may take more than predicted, which costs up to two more
    /// rounds.
    void check_the_first_is_not_delayed() {
        const auto first = waiting_.empty() || (now_ < calm && !kind_.honest) ? 0 : waiting_.front();
        if (first != first_) first_ = first, first_since_ = now_;
        EXPECT_TRUE(first == 0 || now_ - first_since_ < (kind_.honest ? 1 : 3) * longest)
            << "trial " << first << " starves";
    }

    std::uint64_t seed_;
    Kind kind_;
    std::uint64_t draws_ = 0;
    Machine machine_;
    std::optional<std::int64_t> parallel_;
    std::map<std::int64_t, Trial> trials_;
    std::vector<Trial*> running_;  ///< in the order of launch
    std::vector<std::int64_t> waiting_;
    std::multimap<double, Event> events_;
    std::vector<std::string> history_;
    Sums sums_;
    double now_ = 0;
    double arrival_ = 0;
    int deaths_ = 0;
    std::int64_t first_ = 0;
    double first_since_ = 0;
};

int run_all(int schedules, Kind kind) {
    int deaths = 0;
    for (int seed = 1; seed <= schedules && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Schedule schedule(std::uint64_t(seed), kind);
        schedule.run();
        deaths += schedule.deaths();
    }
    return deaths;
}

TEST(Schedules, WithTruePredictionsNoPoolExceedsItsCapacityAndNothingRunsOutOfMemory) {
    run_all(600, {.honest = true});
}

TEST(Schedules, WithFalsePredictionsAndOtherProgramsNoTrialStarvesAndEachEndsOnce) {
    EXPECT_GT(run_all(1000, {}), 500);
}

TEST(Schedules, WithAWideHostNoDeviceIsEmptyWhileATrialFitsIt) { run_all(400, {.wide_host = true}); }

TEST(Schedules, AreDeterministic) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(Schedule(seed, {}).run(), Schedule(seed, {}).run());
}

}  // namespace
}  // namespace hpo
