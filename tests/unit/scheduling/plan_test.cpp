#include "orchestrator/scheduling/plan.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "hpo/random.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t GiB = std::int64_t{1} << 30;

Booking trial(std::int64_t number, std::int64_t bytes, double cores = 1) { return {number, {0, bytes, cores}}; }

TEST(Admission, FillsTheCoresInOrder) {
    const Machine machine{2, 8 * GiB, GiB, 0};
    const std::vector<Waiting> waiting{trial(1, GiB), trial(2, GiB), trial(3, GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(1, 2));
}

TEST(Admission, FillsTheMemoryButForTheReserveAndWhatOthersUse) {
    const Machine machine{16, 8 * GiB, GiB, 3 * GiB};
    const std::vector<Waiting> waiting{trial(1, 2 * GiB), trial(2, 2 * GiB), trial(3, GiB / 2)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(1, 2));
    const std::vector<Booking> running{trial(9, 3 * GiB)};
    EXPECT_THAT(admit(machine, running, std::vector{trial(3, GiB)}, {}).launch, ElementsAre(3));
    EXPECT_THAT(admit(machine, running, std::vector{trial(3, GiB + 1)}, {}).launch, IsEmpty());
}

TEST(Admission, RunsNoMoreAtOnceThanParallelSays) {
    const Machine machine{16, 8 * GiB, 0, 0};
    const std::vector<Booking> running{trial(1, GiB)};
    const std::vector<Waiting> waiting{trial(2, GiB), trial(3, GiB), trial(4, GiB)};
    EXPECT_THAT(admit(machine, running, waiting, 3).launch, ElementsAre(2, 3));
    EXPECT_THAT(admit(machine, running, waiting, 1).launch, IsEmpty());
}

TEST(Admission, FractionsOfCoresAddUp) {
    const Machine machine{1, 8 * GiB, 0, 0};
    std::vector<Waiting> waiting;
    for (int i = 1; i <= 12; ++i) waiting.push_back(trial(i, 0, 0.1));
    EXPECT_EQ(admit(machine, {}, waiting, {}).launch.size(), 10u);
}

TEST(Admission, ATrialTooLargeForTheEmptyMachineIsRefusedWithTheNumbersAndStopsNobody) {
    const Machine machine{2, 8 * GiB, GiB, 0};
    const std::vector<Waiting> waiting{trial(1, 9 * GiB), trial(2, GiB), trial(3, GiB, 4)};
    const auto admission = admit(machine, {}, waiting, {});
    EXPECT_THAT(admission.launch, ElementsAre(2));
    ASSERT_EQ(admission.never.size(), 2u);
    EXPECT_EQ(admission.never[0].trial, 1);
    EXPECT_EQ(admission.never[0].reason,
              "needs 9.000 GiB of memory, but the empty machine gives 7.000 GiB (8.000 GiB less 1.000 GiB kept free)");
    EXPECT_EQ(admission.never[1].reason, "needs 4.000 cores, this machine gives 2.000 cores");
}

TEST(Admission, OtherProgramsMakeATrialWaitWhileSomethingRunsAndFailWithTheNumbersWhenNothingDoes) {
    const Machine machine{4, 8 * GiB, GiB, 6 * GiB};
    const std::vector<Waiting> waiting{trial(1, 4 * GiB), trial(2, GiB)};
    EXPECT_THAT(admit(machine, {}, waiting, {}).launch, ElementsAre(2));
    EXPECT_THAT(admit(machine, {}, waiting, {}).never, IsEmpty());
    const std::vector<Waiting> alone{trial(1, 4 * GiB)};
    EXPECT_THAT(admit(machine, std::vector{trial(2, GiB)}, alone, {}).never, IsEmpty());
    const auto nothing_runs = admit(machine, {}, alone, {});
    ASSERT_EQ(nothing_runs.never.size(), 1u);
    EXPECT_THAT(nothing_runs.never[0].reason, HasSubstr("6.000 GiB used by other programs"));
}

TEST(Admission, ASmallTrialGoesBeforeABigOneOnlyIntoWhatThatLeavesOver) {
    const Machine machine{16, 8 * GiB, 0, 0};
    const std::vector<Booking> running{trial(1, 3 * GiB), trial(2, 3 * GiB)};
    // The big one starts when trial 1 has ended (2 + 3 GiB free) and leaves nothing over.
    EXPECT_THAT(admit(machine, running, std::vector{trial(3, 5 * GiB), trial(4, GiB)}, {}).launch, IsEmpty());
    // This one leaves one GiB over.
    EXPECT_THAT(admit(machine, running, std::vector{trial(3, 4 * GiB), trial(4, GiB), trial(5, GiB)}, {}).launch,
                ElementsAre(4));
}

TEST(Admission, LyingFootprintsDoNotOverflow) {
    const Machine machine{2, 8 * GiB, 0, 0};
    const auto huge = std::numeric_limits<std::int64_t>::max();
    const std::vector<Booking> running{trial(1, huge), trial(2, huge), trial(3, -huge, -5)};
    const auto admission =
        admit(machine, running, std::vector{trial(4, huge), trial(5, -1), trial(6, 1, std::nan(""))}, {});
    EXPECT_THAT(admission.launch, IsEmpty());
    EXPECT_EQ(admission.never.size(), 2u);  // the huge one and the one that wants no number of cores
}

/// A machine under a virtual clock, on which trials of random sizes and lengths come, run and end.
class Simulation {
   public:
    explicit Simulation(std::uint64_t seed) : seed_(seed) {
        machine_ = {std::floor(between(1, 17)), static_cast<std::int64_t>(between(4, 64)) * GiB, GiB, 0};
        if (unit() < 0.5) parallel_ = static_cast<std::int64_t>(between(1, 12));
        const auto trials = static_cast<std::int64_t>(between(1, 60));
        const double largest = unit() < 0.5 ? 0.2 : 1.1;  // of the machine; above 1: too large
        for (std::int64_t number = 1; number <= trials; ++number) {
            const double bytes = unit() * largest * double(machine_.memory - machine_.memory_reserve);
            const double cores = unit() < 0.3 ? std::ceil(unit() * largest * machine_.cores) : unit();
            arriving_.push_back({between(0, 50), trial(number, static_cast<std::int64_t>(bytes), cores)});
        }
        std::stable_sort(arriving_.begin(), arriving_.end(), [](auto& a, auto& b) { return a.first < b.first; });
    }

    /// Everything that happened, for comparing two runs.
    std::vector<std::string> run() {
        while (!arriving_.empty() || !waiting_.empty() || !running_.empty()) step();
        return history_;
    }
    [[nodiscard]] const std::map<std::int64_t, int>& ends() const { return ends_; }

   private:
    struct Running {
        Booking booking;
        double ends = 0;
    };

    double unit() { return draw_unit(seed_, Purpose::synthetic, 1, draws_++); }
    double between(double low, double high) { return low + unit() * (high - low); }

    void step() {
        if (++steps_ > 10'000) throw std::runtime_error("nothing ends any more");
        // Time goes to the next arrival or end.
        double next = arriving_.empty() ? INFINITY : arriving_.front().first;
        for (const auto& r : running_) next = std::min(next, r.ends);
        if (std::isfinite(next)) now_ = next;
        while (!arriving_.empty() && arriving_.front().first <= now_) {
            waiting_.push_back(arriving_.front().second);
            arriving_.erase(arriving_.begin());
        }
        std::erase_if(running_, [&](const Running& r) {
            if (r.ends > now_) return false;
            ++ends_[r.booking.trial];
            history_.push_back("end " + std::to_string(r.booking.trial));
            return true;
        });
        admit_now();
    }

    void admit_now() {
        std::vector<Booking> held;
        for (const auto& r : running_) held.push_back(r.booking);
        const auto admission = admit(machine_, held, waiting_, parallel_);
        for (const auto& refused : admission.never) {
            ++ends_[refused.trial];
            history_.push_back("never " + std::to_string(refused.trial));
            EXPECT_GT(size(take(refused.trial)), 1.0);
        }
        for (auto number : admission.launch) {
            const Booking booking = take(number);
            running_.push_back({booking, now_ + between(1, 20)});
            history_.push_back("start " + std::to_string(number));
        }
        check_capacity();
        EXPECT_TRUE(!running_.empty() || waiting_.empty()) << "something waits and nothing runs";
        check_no_first_trial_waits_that_fits();
        check_the_first_is_not_delayed();
    }

    /// Of the empty machine, the larger share.
    [[nodiscard]] double size(const Booking& b) const {
        return std::max(double(b.footprint.host_bytes) / double(machine_.memory - machine_.memory_reserve),
                        b.footprint.cores / machine_.cores);
    }

    Booking take(std::int64_t number) {
        const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](auto& w) { return w.trial == number; });
        if (found == waiting_.end()) throw std::runtime_error("launched what does not wait");
        const Booking booking = *found;
        waiting_.erase(found);
        return booking;
    }

    void check_capacity() const {
        double cores = 0;
        std::int64_t bytes = 0;
        for (const auto& r : running_) cores += r.booking.footprint.cores, bytes += r.booking.footprint.host_bytes;
        EXPECT_LE(cores, machine_.cores + 1e-9);
        EXPECT_LE(bytes, machine_.memory - machine_.memory_reserve);
        EXPECT_LE(static_cast<std::int64_t>(running_.size()), parallel_.value_or(1000));
    }

    void check_no_first_trial_waits_that_fits() const {
        if (waiting_.empty()) return;
        double cores = machine_.cores;
        std::int64_t bytes = machine_.memory - machine_.memory_reserve;
        for (const auto& r : running_) cores -= r.booking.footprint.cores, bytes -= r.booking.footprint.host_bytes;
        const auto& first = waiting_.front().footprint;
        const bool slots = !parallel_ || static_cast<std::int64_t>(running_.size()) < *parallel_;
        EXPECT_FALSE(slots && first.cores <= cores && first.host_bytes <= bytes) << "idle though the first one fits";
    }

    /// No starvation, with the bound: what runs when a trial comes to the front ends within 20 s, and then it starts.
    void check_the_first_is_not_delayed() {
        const auto first = waiting_.empty() ? 0 : waiting_.front().trial;
        if (first != first_) first_ = first, first_since_ = now_;
        EXPECT_TRUE(first == 0 || now_ - first_since_ < 20) << "trial " << first << " starves";
    }

    std::uint64_t seed_;
    std::uint64_t draws_ = 0;
    Machine machine_;
    std::optional<std::int64_t> parallel_;
    std::vector<std::pair<double, Booking>> arriving_;
    std::vector<Waiting> waiting_;
    std::vector<Running> running_;
    std::map<std::int64_t, int> ends_;
    std::vector<std::string> history_;
    double now_ = 0;
    std::int64_t first_ = 0;
    double first_since_ = 0;
    int steps_ = 0;
};

TEST(Admission, InThousandsOfSchedulesNothingOverflowsStarvesOrIdlesAndEveryTrialEndsOnce) {
    for (std::uint64_t seed = 1; seed <= 3000 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Simulation simulation(seed);
        simulation.run();
        for (const auto& [number, ends] : simulation.ends()) EXPECT_EQ(ends, 1) << number;
    }
}

TEST(Admission, IsDeterministic) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) EXPECT_EQ(Simulation(seed).run(), Simulation(seed).run());
}

}  // namespace
}  // namespace hpo
