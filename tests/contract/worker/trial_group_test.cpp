#include "worker/training/trial_group.hpp"

#include <gmock/gmock.h>

#include <map>

#include "tests/contract/worker/fused_trials.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/models/padding.hpp"
#include "worker/models/registry.hpp"
#include "worker/training/fusion.hpp"

namespace hpo {
namespace {

using test::Curve;
using test::curve_of;
using test::FakeHost;
using test::FusedTrials;
using test::small_params;
using test::small_run;
using test::with;
using ::testing::HasSubstr;
using to_worker::Action;

/// Returns trial `number`. All trials are of one bucket and differ otherwise.
to_worker::Run own_run(std::int64_t number, std::int64_t steps) {
    Params params = with(small_params(), {{"lr", 0.004 + 0.002 * static_cast<double>(number)},
                                          {"dropout", 0.1 * static_cast<double>(number % 4)},
                                          {"weight_decay", 0.05 * static_cast<double>(number % 3)},
                                          {"schedule", std::string(number % 2 == 0 ? "cosine" : "one-cycle")},
                                          {"optimizer", std::string(number % 4 == 0 ? "sgd" : "adamw")},
                                          {"activation", std::string(number % 3 == 0 ? "relu" : "gelu")},
                                          {"hidden", std::vector<std::int64_t>{24 + number % 50, 16}}});
    auto run = small_run(params, steps);
    run.id = {number, 1};
    run.seed = 100 + static_cast<std::uint64_t>(number);
    return run;
}

/// Returns the same trial with 500 samples (450 for training), which is enough on slow devices.
to_worker::Run short_run(std::int64_t number, std::int64_t steps) {
    auto run = own_run(number, steps);
    run.params["samples"] = std::int64_t{500};
    return run;
}

/// A device with a limited number of bytes.
class SmallDevice final : public Device {
   public:
    SmallDevice(Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {}
    [[nodiscard]] std::string_view backend() const override { return device_.backend(); }
    [[nodiscard]] std::string name() const override { return device_.name(); }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        return device_.computes_in(precision);
    }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
        if (bytes > bytes_) return Error{"no " + std::to_string(bytes) + " bytes"};
        return device_.allocate(bytes);
    }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override { return device_.stream(arena, replicas); }

   private:
    Device& device_;
    std::size_t bytes_;
};

/// A CPU with as much free memory as the test says. Counts the arenas that it allocates while the worker has one.
class RoomyDevice final : public Device {
   public:
    RoomyDevice(Device& device, std::size_t free) : device_(device), free_(free) {}
    [[nodiscard]] std::string_view backend() const override { return device_.backend(); }
    [[nodiscard]] std::string name() const override { return device_.name(); }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        return device_.computes_in(precision);
    }
    [[nodiscard]] std::optional<MemoryLeft> memory_left() override { return MemoryLeft{free_, free_}; }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
        if (context && context->arena && context->data) {
            ++second_arenas;
            if (refuses_second_arena) return Error{"no memory for a second arena"};
        }
        return device_.allocate(bytes);
    }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override { return device_.stream(arena, replicas); }

    WorkerContext* context = nullptr;
    bool refuses_second_arena = false;
    int second_arenas = 0;

   private:
    Device& device_;
    std::size_t free_;
};

class TrialGroupOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, TrialGroupOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(TrialGroupOn, TrialsThatComeAndGoTrainAsEachWouldAlone) {
    FusedTrials fused(GetParam());
    fused.add(short_run(1, 5));
    fused.add(short_run(2, 2));
    fused.group.step();
    fused.add(short_run(3, 3));
    fused.group.step();  // trial 2 has ended; another one takes its slot without a new memory layout
    EXPECT_TRUE(fused.ended.contains(2));
    EXPECT_FALSE(fused.hosts[1].reports.back().peak_bytes) << "the process's is not one trial's";
    fused.add(short_run(4, 2));
    fused.group.step();
    EXPECT_EQ(fused.group.size(), 3);
    fused.add(short_run(5, 1));
    fused.finish();
    ASSERT_EQ(fused.ended.size(), 5U);
    for (std::int64_t trial = 1; trial <= 5; ++trial) {
        EXPECT_EQ(fused.ended.at(trial).outcome, Outcome::complete);
        const auto steps = static_cast<std::int64_t>(fused.hosts[trial].reports.size());
        EXPECT_EQ(curve_of(fused.hosts[trial]), fused.alone(short_run(trial, steps))) << trial;
    }
}

/// With room for both, the state goes from the old arena to the new one; otherwise through the host's memory.
TEST(TrialGroup, TrialsThatTrainStayOnTheDeviceWhenOthersComeAndGo) {
    constexpr std::size_t much = std::size_t{1} << 30;
    for (const auto& [free, refuses, second_arenas] :
         {std::tuple(much, false, 2), std::tuple(much, true, 2), std::tuple(std::size_t{1} << 10, false, 0)}) {
        FusedTrials fused;
        RoomyDevice device(*fused.worker.device, free);
        device.refuses_second_arena = refuses;
        WorkerContext context{device, fused.worker.clock, 0, 8, {}, {}, {}};
        device.context = &context;
        TrialGroup group(context, [](const from_worker::Finished&) {});
        std::map<std::int64_t, FakeHost> hosts;
        group.add(own_run(1, 6), hosts[1]);
        group.add(own_run(4, 2), hosts[4]);  // SGD
        group.step();
        group.add(own_run(3, 5), hosts[3]);   // makes the arena wider
        while (!group.empty()) group.step();  // trial 4 ends first, which makes it narrower
        EXPECT_EQ(device.second_arenas, second_arenas);
        for (const std::int64_t number : {1, 3, 4})
            EXPECT_EQ(curve_of(hosts[number]), fused.alone(own_run(number, number == 1 ? 6 : number == 3 ? 5 : 2)));
    }
}

TEST(TrialGroup, WithOneSlotTrialsOfABucketFollowEachOtherWithoutPadding) {
    FusedTrials fused;
    fused.worker.context.slots = 1;
    auto other = own_run(2, 2);
    other.params["batch_size"] = std::int64_t{40};
    for (const auto& run : {own_run(1, 2), other}) {
        fused.add(run);
        fused.finish();
        EXPECT_EQ(curve_of(fused.hosts[run.id.trial]), fused.alone(run)) << run.id.trial;
        const auto answer = answer_plan({1, run.params, 3, 5}, fused.worker.context);
        EXPECT_EQ(answer.fusion_key, "");
        EXPECT_LT(answer.arena_bytes, 300'000);
    }
}

TEST(TrialGroup, ATrialThatIsToldToStopEndsAtOnceAndTheOthersDoNotNotice) {
    FusedTrials fused;
    FakeHost& stopped = fused.add(own_run(1, 3));
    fused.add(own_run(2, 3));
    fused.group.step();
    bool ended_before_the_step_was_over = false;
    stopped.on_ask = [&] { return stopped.asked < 20; };
    fused.hosts[2].on_ask = [&] {
        ended_before_the_step_was_over |= fused.ended.contains(1) && fused.hosts[2].reports.size() == 1;
        return true;
    };
    fused.finish();
    EXPECT_EQ(fused.ended.at(1).outcome, Outcome::stopped);
    EXPECT_TRUE(ended_before_the_step_was_over);
    EXPECT_EQ(stopped.asked, 20);
    EXPECT_EQ(fused.ended.at(2).outcome, Outcome::complete);
    EXPECT_EQ(curve_of(fused.hosts[2]), fused.alone(own_run(2, 3)));
}

TEST(TrialGroup, AllToldToStopEndAtThatIteration) {
    FusedTrials fused;
    for (const std::int64_t trial : {1, 2}) {
        FakeHost& host = fused.add(own_run(trial, 3));
        host.on_ask = [&host] { return host.asked < 5; };
    }
    fused.finish();
    EXPECT_EQ(fused.ended.at(1).outcome, Outcome::stopped);
    EXPECT_EQ(fused.ended.at(2).outcome, Outcome::stopped);
    EXPECT_TRUE(fused.hosts[1].reports.empty());
}

TEST(TrialGroup, EachFollowsItsOwnDecisions) {
    FusedTrials fused;
    fused.add(own_run(1, 4)).on_report = [](const Report& report) {
        return report.step == 2 ? Action::stop : Action::go_on;
    };
    fused.add(own_run(2, 4)).on_report = [](const Report& report) {
        return report.step == 3 ? Action::pause : Action::go_on;
    };
    fused.add(own_run(3, 4)).on_report = [](const Report&) -> std::optional<Action> { return std::nullopt; };
    fused.add(own_run(4, 4));
    fused.finish();
    EXPECT_EQ(fused.ended.at(1).outcome, Outcome::stopped);
    EXPECT_EQ(fused.ended.at(2).outcome, Outcome::paused);
    EXPECT_EQ(fused.ended.at(3).outcome, Outcome::stopped);
    EXPECT_EQ(fused.ended.at(4).outcome, Outcome::complete);
    EXPECT_EQ(curve_of(fused.hosts[4]), fused.alone(own_run(4, 4)));
}

TEST(TrialGroup, OneThatDivergesEndsAlone) {
    FusedTrials fused;
    auto wild = own_run(1, 3);
    auto well = own_run(2, 3);
    for (auto* run : {&wild, &well})
        run->params = with(run->params, {{"optimizer", std::string("sgd")}, {"clip", 0.0}, {"warmup", 0.0}});
    wild.params["lr"] = 1000.0;
    fused.add(wild);
    fused.add(well);
    fused.finish();
    EXPECT_EQ(fused.ended.at(1).outcome, Outcome::diverged) << fused.ended.at(1).message;
    EXPECT_EQ(fused.hosts[1].reports.size(), 1U);
    EXPECT_EQ(fused.ended.at(2).outcome, Outcome::complete);
    EXPECT_EQ(curve_of(fused.hosts[2]), fused.alone(well));
}

TEST(TrialGroup, APausedTrialGoesOnBesideOthersWithTheSameBits) {
    const testing::TemporaryFolder folder;
    auto run = own_run(1, 4);
    run.folder = folder.path() / "trial";
    FusedTrials fused;
    fused.add(run).on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    fused.add(own_run(2, 6));
    fused.group.step();
    fused.group.step();
    EXPECT_EQ(fused.ended.at(1).outcome, Outcome::paused);
    Curve curve = curve_of(fused.hosts[1]);
    fused.hosts.erase(1);
    run.resume = true;
    fused.add(run);
    fused.finish();
    EXPECT_EQ(fused.hosts[1].from_step, 2);
    const Curve rest = curve_of(fused.hosts[1]);
    curve.insert(curve.end(), rest.begin(), rest.end());
    run.resume = false;
    run.folder.clear();
    EXPECT_EQ(curve, fused.alone(run));
}

TEST(TrialGroup, TakesTrialsOfItsShapeAlone) {
    FusedTrials fused;
    EXPECT_TRUE(fused.group.accepts(own_run(9, 1)));
    fused.add(own_run(1, 2));
    EXPECT_TRUE(fused.group.accepts(own_run(2, 7)));
    const auto takes = [&](const Params& other) {
        auto run = own_run(2, 2);
        run.params = with(run.params, other);
        return fused.group.accepts(run);
    };
    using Widths = std::vector<std::int64_t>;
    for (const Params& alike : {Params{{"batch_size", std::int64_t{33}}}, Params{{"hidden", Widths{128, 3}}},
                                Params{{"optimizer", std::string("sgd")}}, Params{{"activation", std::string("silu")}},
                                Params{{"eval_every", std::int64_t{3}}}})
        EXPECT_TRUE(takes(alike)) << alike.begin()->first;
    for (const Params& other :
         {Params{{"batch_size", std::int64_t{65}}}, Params{{"hidden", Widths{129, 16}}}, Params{{"hidden", Widths{24}}},
          Params{{"norm", std::string("layer")}}, Params{{"noise", 1.0}}, Params{{"accumulation", std::int64_t{2}}}})
        EXPECT_FALSE(takes(other)) << other.begin()->first;
    auto other_split = own_run(2, 2);
    other_split.data_seed = 6;
    EXPECT_FALSE(fused.group.accepts(other_split));
    fused.finish();
}

TEST(TrialGroup, BucketsAreCoarseForTheSmallAndNoneForTheLarge) {
    const auto padded = [](std::int64_t extent) { return padded_extent(extent, {128, 512}); };
    for (const auto& [extent, to] : std::map<std::int64_t, std::int64_t>{{1, 128},
                                                                         {128, 128},
                                                                         {129, 256},
                                                                         {512, 512},
                                                                         {513, 768},
                                                                         {768, 768},
                                                                         {769, 1024},
                                                                         {1025, 1536},
                                                                         {2048, 2048},
                                                                         {2049, 2049}})
        EXPECT_EQ(padded(extent), to) << extent;
}

TEST_P(TrialGroupOn, OneThatTakesThePlaceOfOneThatDivergedTrainsAsAlone) {
    auto wild = short_run(4, 3);  // SGD
    wild.params = with(wild.params, {{"lr", 1000.0}, {"clip", 0.0}, {"warmup", 0.0}});
    FusedTrials fused(GetParam());
    fused.add(wild);
    fused.add(short_run(2, 4));
    while (!fused.ended.contains(4)) fused.group.step();
    EXPECT_EQ(fused.ended.at(4).outcome, Outcome::diverged);
    auto next = short_run(5, 2);
    next.params["batch_size"] = std::int64_t{35};
    fused.add(next);
    fused.finish();
    test::WorkerFixture other(GetParam());
    other.context.slots = 8;
    FakeHost host;
    EXPECT_EQ(run_trial(wild, other.context, host).message, fused.ended.at(4).message);
    EXPECT_EQ(host.reports.back().iteration, fused.hosts[4].reports.back().iteration);
    for (const auto& run : {short_run(2, 4), next}) {
        EXPECT_EQ(fused.ended.at(run.id.trial).outcome, Outcome::complete);
        EXPECT_EQ(curve_of(fused.hosts[run.id.trial]), fused.alone(run)) << run.id.trial;
    }
}

TEST(TrialGroup, TheArenaIsWhatPlanSaysForAnyNumberOfTrials) {
    FusedTrials fused;
    const auto answer = answer_plan({1, own_run(1, 1).params, 3, 5}, fused.worker.context);
    ASSERT_EQ(answer.error, "");
    EXPECT_FALSE(answer.fusion_key.empty());
    std::vector<std::int64_t> arenas;
    for (std::int64_t trial = 1; trial <= 4; ++trial) {
        fused.add(own_run(trial, 1));
        for (std::int64_t other = 1; other < trial; ++other) fused.add(own_run(10 * trial + other, 1));
        fused.group.step();
        EXPECT_TRUE(fused.group.empty());
        arenas.push_back(static_cast<std::int64_t>(fused.worker.context.arena->bytes()));
    }
    // Weights, two moments, and the best weights, of a model as large as the bucket has any.
    const auto model = make_model({{"hidden", std::vector<std::int64_t>{128, 128}}}, fused.worker.context.data->shape);
    const std::int64_t colocated = answer.colocated.host_bytes - 4 * 4 * (*model)->block().elements;
    for (std::int64_t trial = 1; trial <= 4; ++trial)
        EXPECT_EQ(arenas[static_cast<std::size_t>(trial - 1)], answer.arena_bytes + (trial - 1) * colocated);
}

TEST_P(TrialGroupOn, TrialsOfDifferentBatchesEndTheirStepsEachInItsTurn) {
    const auto varied = [](std::int64_t number, std::int64_t batch, std::int64_t steps) {
        auto run = short_run(number, steps);
        run.params["batch_size"] = batch;
        return run;
    };
    const std::vector<to_worker::Run> runs{varied(1, 64, 3), varied(2, 33, 2), varied(3, 40, 2), varied(4, 51, 3),
                                           varied(5, 64, 2)};
    FusedTrials fused(GetParam());
    for (std::size_t i = 0; i < 3; ++i) fused.add(runs[i]);
    fused.group.step();  // an epoch of 7 iterations; the others have 13 and 11
    EXPECT_EQ(fused.hosts[1].reports.size(), 1U);
    EXPECT_TRUE(fused.hosts[2].reports.empty());
    fused.add(runs[3]);  // the others are in the middle of theirs
    for (int i = 0; i < 4; ++i) fused.group.step();
    fused.add(runs[4]);
    fused.finish();
    for (const auto& run : runs) {
        EXPECT_EQ(fused.ended.at(run.id.trial).outcome, Outcome::complete);
        EXPECT_EQ(fused.hosts[run.id.trial].reports.back().iteration,
                  run.steps * (450 / std::get<std::int64_t>(run.params.at("batch_size"))));
        EXPECT_EQ(curve_of(fused.hosts[run.id.trial]), fused.alone(run)) << run.id.trial;
    }
}

TEST(TrialGroup, WhereMemoryIsShortTheYoungestIsToldSoAndTheOthersTrainOn) {
    test::WorkerFixture worker;
    worker.context.slots = 2;
    const auto answer = answer_plan({1, own_run(1, 1).params, 3, 5}, worker.context);
    // An arena of two replicas or of three, which are less than the data.
    SmallDevice small(*worker.device, static_cast<std::size_t>(answer.arena_bytes + 2 * answer.colocated.host_bytes));
    WorkerContext context{small, worker.clock, 0, 8, {}, {}, {}};
    std::map<std::int64_t, from_worker::Finished> ended;
    std::map<std::int64_t, FakeHost> hosts;
    TrialGroup group(context, [&](const from_worker::Finished& f) { ended[f.id.trial] = f; });
    for (const std::int64_t trial : {1, 2}) group.add(own_run(trial, 3), hosts[trial]);
    group.step();
    for (const std::int64_t trial : {3, 4}) group.add(own_run(trial, 3), hosts[trial]);
    while (!group.empty()) group.step();
    EXPECT_EQ(ended.at(4).outcome, Outcome::out_of_memory);
    EXPECT_THAT(ended.at(4).message, HasSubstr("bytes"));
    EXPECT_EQ(hosts[4].from_step, -1) << "it had not begun";
    for (const std::int64_t trial : {1, 2}) {
        EXPECT_EQ(ended.at(trial).outcome, Outcome::complete) << trial;
        EXPECT_EQ(curve_of(hosts[trial]), FusedTrials().alone(own_run(trial, 3))) << trial;
    }
}

}  // namespace
}  // namespace hpo
