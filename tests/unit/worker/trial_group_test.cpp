#include "worker/training/trial_group.hpp"

#include <gmock/gmock.h>

#include <map>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/worker/workbench.hpp"
#include "worker/training/bucket.hpp"

namespace hpo {
namespace {

using test::FakeHost;
using test::small_params;
using test::small_run;
using test::with;
using ::testing::HasSubstr;
using to_worker::Action;

/// The trial by its number: one of several of a bucket, which have little else in common.
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

using Curve = std::vector<Metrics>;

Curve curve_of(const FakeHost& host) {
    Curve curve;
    for (const Report& report : host.reports) curve.push_back(report.metrics);
    return curve;
}

/// A device that has so many bytes and no more.
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
    std::unique_ptr<Stream> stream(Buffer& arena, int lanes) override { return device_.stream(arena, lanes); }

   private:
    Device& device_;
    std::size_t bytes_;
};

class Party {
   public:
    explicit Party(std::string_view backend = "cpu") : bench(backend) { bench.workshop.slots = 8; }

    FakeHost& join(const to_worker::Run& run) {
        FakeHost& host = hosts[run.id.trial];
        group.join(run, host);
        return host;
    }
    void finish() {
        while (!group.empty()) group.step();
    }
    /// In a worker of its own of the same kind.
    Curve alone(const to_worker::Run& run) {
        test::Bench other(bench.device->backend());
        other.workshop.slots = bench.workshop.slots;
        FakeHost host;
        run_trial(run, other.workshop, host);
        return curve_of(host);
    }

    test::Bench bench;
    std::map<std::int64_t, from_worker::Finished> ended;
    std::map<std::int64_t, FakeHost> hosts;
    TrialGroup group{bench.workshop, [this](const from_worker::Finished& f) { ended[f.id.trial] = f; }};
};

class TrialGroupOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, TrialGroupOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(TrialGroupOn, TrialsThatComeAndGoTrainAsEachWouldAlone) {
    Party party(GetParam());
    party.join(own_run(1, 5));
    party.join(own_run(2, 2));
    party.group.step();
    party.join(own_run(3, 3));
    party.group.step();  // 2 has ended: another takes its place, and no memory is laid out anew
    EXPECT_TRUE(party.ended.contains(2));
    EXPECT_FALSE(party.hosts[1].reports.back().peak_bytes) << "the process's is not one trial's";
    party.join(own_run(4, 2));
    party.group.step();
    EXPECT_EQ(party.group.size(), 3);
    party.join(own_run(5, 1));
    party.finish();
    ASSERT_EQ(party.ended.size(), 5U);
    for (std::int64_t trial = 1; trial <= 5; ++trial) {
        EXPECT_EQ(party.ended.at(trial).outcome, Outcome::complete);
        const auto steps = static_cast<std::int64_t>(party.hosts[trial].reports.size());
        EXPECT_EQ(curve_of(party.hosts[trial]), party.alone(own_run(trial, steps))) << trial;
    }
}

TEST(TrialGroup, WithOneSlotTrialsOfABucketFollowEachOtherWithoutPadding) {
    Party party;
    party.bench.workshop.slots = 1;
    auto other = own_run(2, 2);
    other.params["batch_size"] = std::int64_t{40};
    for (const auto& run : {own_run(1, 2), other}) {
        party.join(run);
        party.finish();
        EXPECT_EQ(curve_of(party.hosts[run.id.trial]), party.alone(run)) << run.id.trial;
        const auto answer = answer_plan({1, run.params, 3, 5}, party.bench.workshop);
        EXPECT_EQ(answer.shape, "");
        EXPECT_LT(answer.arena_bytes, 300'000);
    }
}

TEST(TrialGroup, ATrialThatIsToldToStopEndsAtOnceAndTheOthersDoNotNotice) {
    Party party;
    FakeHost& stopped = party.join(own_run(1, 3));
    party.join(own_run(2, 3));
    party.group.step();
    bool ended_before_the_step_was_over = false;
    stopped.on_ask = [&] { return stopped.asked < 20; };
    party.hosts[2].on_ask = [&] {
        ended_before_the_step_was_over |= party.ended.contains(1) && party.hosts[2].reports.size() == 1;
        return true;
    };
    party.finish();
    EXPECT_EQ(party.ended.at(1).outcome, Outcome::stopped);
    EXPECT_TRUE(ended_before_the_step_was_over);
    EXPECT_EQ(stopped.asked, 20);
    EXPECT_EQ(party.ended.at(2).outcome, Outcome::complete);
    EXPECT_EQ(curve_of(party.hosts[2]), party.alone(own_run(2, 3)));
}

TEST(TrialGroup, AllToldToStopEndAtThatIteration) {
    Party party;
    for (const std::int64_t trial : {1, 2}) {
        FakeHost& host = party.join(own_run(trial, 3));
        host.on_ask = [&host] { return host.asked < 5; };
    }
    party.finish();
    EXPECT_EQ(party.ended.at(1).outcome, Outcome::stopped);
    EXPECT_EQ(party.ended.at(2).outcome, Outcome::stopped);
    EXPECT_TRUE(party.hosts[1].reports.empty());
}

TEST(TrialGroup, EachFollowsItsOwnDecisions) {
    Party party;
    party.join(own_run(1, 4)).on_report = [](const Report& report) {
        return report.step == 2 ? Action::stop : Action::go_on;
    };
    party.join(own_run(2, 4)).on_report = [](const Report& report) {
        return report.step == 3 ? Action::pause : Action::go_on;
    };
    party.join(own_run(3, 4)).on_report = [](const Report&) -> std::optional<Action> { return std::nullopt; };
    party.join(own_run(4, 4));
    party.finish();
    EXPECT_EQ(party.ended.at(1).outcome, Outcome::stopped);
    EXPECT_EQ(party.ended.at(2).outcome, Outcome::paused);
    EXPECT_EQ(party.ended.at(3).outcome, Outcome::stopped);
    EXPECT_EQ(party.ended.at(4).outcome, Outcome::complete);
    EXPECT_EQ(curve_of(party.hosts[4]), party.alone(own_run(4, 4)));
}

TEST(TrialGroup, OneThatDivergesEndsAlone) {
    Party party;
    auto wild = own_run(1, 3);
    auto well = own_run(2, 3);
    for (auto* run : {&wild, &well})
        run->params = with(run->params, {{"optimizer", std::string("sgd")}, {"clip", 0.0}, {"warmup", 0.0}});
    wild.params["lr"] = 1000.0;
    party.join(wild);
    party.join(well);
    party.finish();
    EXPECT_EQ(party.ended.at(1).outcome, Outcome::diverged) << party.ended.at(1).message;
    EXPECT_EQ(party.hosts[1].reports.size(), 1U);
    EXPECT_EQ(party.ended.at(2).outcome, Outcome::complete);
    EXPECT_EQ(curve_of(party.hosts[2]), party.alone(well));
}

TEST(TrialGroup, APausedTrialGoesOnBesideOthersWithTheSameBits) {
    const testing::TemporaryFolder folder;
    auto run = own_run(1, 4);
    run.folder = folder.path() / "trial";
    Party party;
    party.join(run).on_report = [](const Report& report) { return report.step == 2 ? Action::pause : Action::go_on; };
    party.join(own_run(2, 6));
    party.group.step();
    party.group.step();
    EXPECT_EQ(party.ended.at(1).outcome, Outcome::paused);
    Curve curve = curve_of(party.hosts[1]);
    party.hosts.erase(1);
    run.resume = true;
    party.join(run);
    party.finish();
    EXPECT_EQ(party.hosts[1].from_step, 2);
    const Curve rest = curve_of(party.hosts[1]);
    curve.insert(curve.end(), rest.begin(), rest.end());
    run.resume = false;
    run.folder.clear();
    EXPECT_EQ(curve, party.alone(run));
}

TEST(TrialGroup, TakesTrialsOfItsShapeAlone) {
    Party party;
    EXPECT_TRUE(party.group.takes(own_run(9, 1)));
    party.join(own_run(1, 2));
    EXPECT_TRUE(party.group.takes(own_run(2, 7)));
    const auto takes = [&](const Params& other) {
        auto run = own_run(2, 2);
        run.params = with(run.params, other);
        return party.group.takes(run);
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
    EXPECT_FALSE(party.group.takes(other_split));
    party.finish();
}

TEST(TrialGroup, BucketsAreCoarseForTheSmallAndNoneForTheLarge) {
    const auto padded = [](std::int64_t extent) { return padded_extent(extent, 128, 512); };
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
    auto wild = own_run(4, 3);  // SGD
    wild.params = with(wild.params, {{"lr", 1000.0}, {"clip", 0.0}, {"warmup", 0.0}});
    Party party(GetParam());
    party.join(wild);
    party.join(own_run(2, 4));
    while (!party.ended.contains(4)) party.group.step();
    EXPECT_EQ(party.ended.at(4).outcome, Outcome::diverged);
    auto next = own_run(5, 2);
    next.params["batch_size"] = std::int64_t{35};
    party.join(next);
    party.finish();
    test::Bench other(GetParam());
    other.workshop.slots = 8;
    FakeHost host;
    EXPECT_EQ(run_trial(wild, other.workshop, host).message, party.ended.at(4).message);
    EXPECT_EQ(host.reports.back().iteration, party.hosts[4].reports.back().iteration);
    for (const auto& run : {own_run(2, 4), next}) {
        EXPECT_EQ(party.ended.at(run.id.trial).outcome, Outcome::complete);
        EXPECT_EQ(curve_of(party.hosts[run.id.trial]), party.alone(run)) << run.id.trial;
    }
}

TEST(TrialGroup, TheArenaIsWhatPlanSaysForAnyNumberOfTrials) {
    Party party;
    const auto answer = answer_plan({1, own_run(1, 1).params, 3, 5}, party.bench.workshop);
    ASSERT_EQ(answer.error, "");
    EXPECT_FALSE(answer.shape.empty());
    std::vector<std::int64_t> arenas;
    for (std::int64_t trial = 1; trial <= 4; ++trial) {
        party.join(own_run(trial, 1));
        for (std::int64_t other = 1; other < trial; ++other) party.join(own_run(10 * trial + other, 1));
        party.group.step();
        EXPECT_TRUE(party.group.empty());
        arenas.push_back(static_cast<std::int64_t>(party.bench.workshop.arena->bytes()));
    }
    // Weights, two moments, and the best weights, of a model as large as the bucket has any.
    const auto model = make_model({{"hidden", std::vector<std::int64_t>{128, 128}}}, 20, 5);
    const std::int64_t beside = answer.beside.host_bytes - 4 * 4 * (*model)->block().elements;
    for (std::int64_t trial = 1; trial <= 4; ++trial)
        EXPECT_EQ(arenas[static_cast<std::size_t>(trial - 1)], answer.arena_bytes + (trial - 1) * beside);
}

TEST_P(TrialGroupOn, TrialsOfDifferentBatchesEndTheirStepsEachInItsTurn) {
    const auto varied = [](std::int64_t number, std::int64_t batch, std::int64_t steps) {
        auto run = own_run(number, steps);
        run.params["batch_size"] = batch;
        return run;
    };
    const std::vector<to_worker::Run> runs{varied(1, 64, 3), varied(2, 33, 2), varied(3, 40, 2), varied(4, 51, 3),
                                           varied(5, 64, 2)};
    Party party(GetParam());
    for (std::size_t i = 0; i < 3; ++i) party.join(runs[i]);
    party.group.step();  // an epoch of 14 iterations; others have 27 and 22
    EXPECT_EQ(party.hosts[1].reports.size(), 1U);
    EXPECT_TRUE(party.hosts[2].reports.empty());
    party.join(runs[3]);  // the others are in the middle of theirs
    for (int i = 0; i < 4; ++i) party.group.step();
    party.join(runs[4]);
    party.finish();
    for (const auto& run : runs) {
        EXPECT_EQ(party.ended.at(run.id.trial).outcome, Outcome::complete);
        EXPECT_EQ(party.hosts[run.id.trial].reports.back().iteration,
                  run.steps * (900 / std::get<std::int64_t>(run.params.at("batch_size"))));
        EXPECT_EQ(curve_of(party.hosts[run.id.trial]), party.alone(run)) << run.id.trial;
    }
}

TEST(TrialGroup, WhereMemoryIsShortTheYoungestIsToldSoAndTheOthersTrainOn) {
    test::Bench bench;
    bench.workshop.slots = 2;
    const auto answer = answer_plan({1, own_run(1, 1).params, 3, 5}, bench.workshop);
    // An arena of two lanes or of three, which are less than the data.
    SmallDevice small(*bench.device, static_cast<std::size_t>(answer.arena_bytes + 2 * answer.beside.host_bytes));
    Workshop workshop{small, bench.clock, 0, 8, {}, {}, {}};
    std::map<std::int64_t, from_worker::Finished> ended;
    std::map<std::int64_t, FakeHost> hosts;
    TrialGroup group(workshop, [&](const from_worker::Finished& f) { ended[f.id.trial] = f; });
    for (const std::int64_t trial : {1, 2}) group.join(own_run(trial, 3), hosts[trial]);
    group.step();
    for (const std::int64_t trial : {3, 4}) group.join(own_run(trial, 3), hosts[trial]);
    while (!group.empty()) group.step();
    EXPECT_EQ(ended.at(4).outcome, Outcome::out_of_memory);
    EXPECT_THAT(ended.at(4).message, HasSubstr("bytes"));
    EXPECT_EQ(hosts[4].from_step, -1) << "it had not begun";
    for (const std::int64_t trial : {1, 2}) {
        EXPECT_EQ(ended.at(trial).outcome, Outcome::complete) << trial;
        EXPECT_EQ(curve_of(hosts[trial]), Party().alone(own_run(trial, 3))) << trial;
    }
}

}  // namespace
}  // namespace hpo
