// Trials under memory pressure from other programs use smaller micro-batches, and larger ones when it ends.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/mentions.hpp"
#include "worker/training/trial_group.hpp"

namespace hpo {
namespace {

using test::FakeHost;
using test::small_params;
using test::small_run;
using test::with;

constexpr std::size_t total = std::size_t{64} << 20;

/// A device of 64 MiB. The test sets the memory that other programs use.
class SharedDevice final : public Device {
   public:
    explicit SharedDevice(Device& device) : device_(device) {}
    [[nodiscard]] std::string_view backend() const override { return device_.backend(); }
    [[nodiscard]] std::string name() const override { return device_.name(); }
    [[nodiscard]] DeviceMemory memory() const override { return {.of_its_own = true}; }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        return device_.computes_in(precision);
    }
    std::optional<MemoryLeft> memory_left() override { return MemoryLeft{total - others, total}; }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
        allocated.push_back(bytes);
        return device_.allocate(bytes);
    }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override { return device_.stream(arena, replicas); }

    std::size_t others = 0;
    std::vector<std::size_t> allocated;

   private:
    Device& device_;
};

struct Shared {
    test::WorkerFixture worker;
    SharedDevice device{*worker.device};
    WorkerContext context{device, worker.context.clock, 0, 4, {}, {}, {}, {}};
    std::map<std::int64_t, from_worker::Finished> ended;
    TrialGroup group{context, [this](const from_worker::Finished& f) { ended[f.id.trial] = f; }};

    void steps(int count) {
        for (int i = 0; i < count && !group.empty(); ++i) group.step();
    }
};

to_worker::Run run_of(std::int64_t number, std::int64_t steps, const Params& changes = {}) {
    auto run = small_run(with(with(small_params(), {{"dropout", 0.2}, {"memory_target", 0.9}}), changes), steps);
    run.id = {number, 1};
    return run;
}

TEST(Pressure, MicroBatchesFollowTheMemoryThatOthersTakeAndTheCurveStaysWhatItIs) {
    FakeHost undisturbed;
    Shared quiet;
    quiet.group.add(run_of(1, 30), undisturbed);
    quiet.steps(30);
    ASSERT_EQ(undisturbed.reports.size(), 30U);

    FakeHost host, neighbour;
    Shared shared;
    shared.group.add(run_of(1, 30), host);
    shared.group.add(run_of(2, 30), neighbour);
    shared.steps(5);
    shared.device.others = total;
    shared.steps(10);
    const std::size_t small = shared.device.allocated.back();
    shared.device.others = 0;
    shared.steps(15);
    const std::size_t large = shared.device.allocated.back();
    ASSERT_EQ(host.reports.size(), 30U);
    EXPECT_EQ(shared.ended.at(1).outcome, Outcome::complete);
    EXPECT_EQ(shared.ended.at(2).outcome, Outcome::complete);

    EXPECT_FALSE(host.reports[4].micro_batch) << "nobody was in the way yet";
    ASSERT_TRUE(host.reports[14].micro_batch);
    EXPECT_LE(*host.reports[14].micro_batch, 40) << "0.8 of 64 twice";
    EXPECT_TRUE(neighbour.reports[14].micro_batch);
    EXPECT_GT(host.reports[29].micro_batch.value_or(64), *host.reports[14].micro_batch) << "there is room again";
    EXPECT_LT(small, large);
    EXPECT_THAT(host.logged, Mentions("of 51 samples", "of 64 stays"));
    for (std::size_t step = 0; step < 30; ++step)
        for (const char* metric : {"loss", "val_loss"}) {
            const double wanted = undisturbed.reports[step].metrics.at(metric);
            EXPECT_NEAR(host.reports[step].metrics.at(metric), wanted, 1e-4 * wanted) << step << ' ' << metric;
        }
}

TEST(Pressure, DifferentBatchesShrinkEachByItsPartAndTheCurvesStay) {
    const to_worker::Run runs[] = {run_of(1, 12), run_of(2, 12, {{"batch_size", std::int64_t{45}}})};
    FakeHost undisturbed[2], hosts[2];
    for (int i = 0; i < 2; ++i) {
        Shared quiet;
        quiet.group.add(runs[i], undisturbed[i]);
        quiet.steps(12);
    }
    Shared shared;
    for (int i = 0; i < 2; ++i) shared.group.add(runs[i], hosts[i]);
    shared.steps(4);
    shared.device.others = total;
    while (!shared.group.empty()) shared.group.step();
    EXPECT_THAT(hosts[0].logged, Mentions("of 51 samples", "of 64 stays"));
    EXPECT_THAT(hosts[1].logged, Mentions("of 36 samples", "of 45 stays"));
    EXPECT_LE(hosts[1].reports.back().micro_batch.value_or(45), 36);
    for (int i = 0; i < 2; ++i)
        for (std::size_t step = 0; step < 12; ++step)
            for (const char* metric : {"loss", "val_loss"}) {
                const double wanted = undisturbed[i].reports.at(step).metrics.at(metric);
                EXPECT_NEAR(hosts[i].reports.at(step).metrics.at(metric), wanted, 1e-4 * wanted) << i << ' ' << step;
            }
}

TEST(Pressure, TheNextTrialOfTheShapeBeginsWithWhatFits) {
    FakeHost first, second;
    Shared shared;
    shared.group.add(run_of(1, 10), first);
    shared.device.others = total;
    shared.steps(10);
    shared.group.add(run_of(2, 1), second);
    shared.steps(1);
    ASSERT_EQ(second.reports.size(), 1U);
    EXPECT_TRUE(second.reports[0].micro_batch);
}

TEST(Pressure, IsSwitchedOffByItsKey) {
    FakeHost host;
    Shared shared;
    shared.device.others = total;
    shared.group.add(run_of(1, 10, {{"memory_target", 0.0}}), host);
    shared.steps(10);
    ASSERT_EQ(host.reports.size(), 10U);
    for (const Report& report : host.reports) EXPECT_FALSE(report.micro_batch);
}

}  // namespace
}  // namespace hpo
