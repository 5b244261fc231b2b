// Trials that several ranks train, as threads of this process: the same numbers as with one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <thread>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/mentions.hpp"
#include "worker/ranks/host_ranks.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/rank_orders.hpp"

namespace hpo {
namespace {

using test::small_params;
using test::with;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// What a rank has after some steps.
struct Trained {
    std::vector<double> losses;              ///< of each step and fold
    std::vector<std::vector<float>> states;  ///< of each fold
    std::vector<bool> went_on;               ///< of each step
    double validation = 0;
};

constexpr int steps = 3;

using TrainRank = Trained(const Params& params, int ranks, HostCommunicator* communicator, const ShouldContinue& check);

Trained train_rank(const Params& params, int ranks, HostCommunicator* communicator, const ShouldContinue& check) {
    test::WorkerFixture worker;
    worker.context.processes = ranks;
    const Configuration configuration = resolve_auto(worker.context, configuration_of(worker.context, params));
    const auto data = *load_to_device(*worker.device, configuration.data, 5);
    GroupPlan plan = *plan_group(configuration, data->shape, data->sizes, 1);
    const std::int64_t elements = plan.state_elements;
    const auto arena = *worker.device->allocate(plan.arena.bytes);
    std::vector<ReplicaSpec> specs;
    for (int fold = 0; fold < plan.folds; ++fold)
        specs.push_back({configuration.training, seed_of_fold(77, fold), nullptr, fold});
    Trainer trainer(*worker.device, *arena, std::move(plan), *data, specs, steps, worker.clock, communicator);
    Trained got;
    for (int step = 0; step < steps; ++step) {
        got.went_on.push_back(trainer.train_step(check));
        if (!got.went_on.back()) return got;
        for (int fold = 0; fold < trainer.replicas(); ++fold) got.losses.push_back(trainer.step_of(fold).loss);
    }
    for (int fold = 0; fold < trainer.replicas(); ++fold)
        trainer.read_state(fold, got.states.emplace_back(static_cast<std::size_t>(elements)));
    trainer.evaluate_validation([] { return true; });
    got.validation = trainer.evaluation_of(0).loss;
    return got;
}

/// Trains two trials of a fusion key, the one after the other. Rank 0 keeps its trainer for the second one, whose steps
/// these are, and the other ranks make a new one.
Trained train_two_trials(const Params& params, int ranks, HostCommunicator* communicator, const ShouldContinue& check) {
    test::WorkerFixture worker;
    worker.context.processes = ranks;
    const Configuration configuration = resolve_auto(worker.context, configuration_of(worker.context, params));
    const auto data = *load_to_device(*worker.device, configuration.data, 5);
    const GroupPlan plan = *plan_group(configuration, data->shape, data->sizes, 1);
    const auto arena = *worker.device->allocate(plan.arena.bytes);
    std::unique_ptr<Trainer> trainer;
    Trained got;
    for (const std::uint64_t seed : {77, 78}) {
        if (!trainer || communicator == nullptr || communicator->rank() > 0)
            trainer = std::make_unique<Trainer>(*worker.device, *arena,
                                                *plan_group(configuration, data->shape, data->sizes, 1), *data,
                                                std::span<const ReplicaSpec>{}, 0, worker.clock, communicator);
        trainer->begin(0, {configuration.training, seed, nullptr, 0}, steps);
        got = {};
        for (int step = 0; step < steps; ++step) {
            got.went_on.push_back(trainer->train_step(check));
            got.losses.push_back(trainer->step_of(0).loss);
        }
    }
    trainer->read_state(0, got.states.emplace_back(static_cast<std::size_t>(plan.state_elements)));
    return got;
}

std::vector<Trained> train(const Params& params, int ranks, const std::function<bool(int rank)>& check = {},
                           TrainRank* of_rank = train_rank) {
    const auto always = [](int) { return true; };
    if (ranks == 1) return {of_rank(params, 1, nullptr, [] { return true; })};
    auto shared = *make_host_ranks(ranks);
    std::vector<Trained> trained(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            std::vector<Descriptor> sockets;
            if (rank == 0)
                sockets = std::move(shared.lead);
            else
                sockets.push_back(std::move(shared.follow[static_cast<std::size_t>(rank) - 1]));
            HostCommunicator communicator(rank, ranks, shared.memory, std::move(sockets));
            trained[static_cast<std::size_t>(rank)] =
                of_rank(params, ranks, &communicator, [&] { return check ? check(rank) : always(rank); });
        });
    for (std::thread& thread : threads) thread.join();
    return trained;
}

/// The settings that divide a batch in other ways, or have state beside the weights.
std::vector<Params> settings() {
    return {small_params(),
            with(small_params(), {{"batch_size", std::int64_t{61}}, {"accumulation", std::int64_t{3}}}),
            with(small_params(), {{"norm", std::string("batch")}, {"ghost_batch", std::int64_t{16}}}),
            with(small_params(), {{"norm", std::string("layer")}, {"optimizer", std::string("sgd")}}),
            with(small_params(), {{"folds", std::int64_t{3}}}),
            with(small_params(), {{"placement", std::string("staged")}, {"ema", 0.9}})};
}

TEST(RanksOfATrial, HaveTheLossesOfOneRank) {
    for (const Params& params : settings()) {
        const Trained alone = train(params, 1).front();
        for (const int ranks : {2, 4}) {
            const std::vector<Trained> all = train(params, ranks);
            ASSERT_EQ(all.front().losses.size(), alone.losses.size());
            for (std::size_t i = 0; i < alone.losses.size(); ++i)
                EXPECT_NEAR(all.front().losses[i], alone.losses[i], 1e-5) << ranks << " ranks, " << i;
            EXPECT_NEAR(all.front().validation, alone.validation, 1e-5) << ranks << " ranks";
            for (const Trained& one : all) EXPECT_EQ(one.states, all.front().states) << "the ranks have parted";
        }
    }
}

/// The windows of small models grow while a trial trains, so that the kept trainer has a larger one than a new one.
TEST(RanksOfATrial, HaveTheLossesOfOneRankInTheNextTrialOfATrainer) {
    const Params params = with(small_params(), {{"batch_size", std::int64_t{16}}});
    const Trained alone = train(params, 1, {}, train_two_trials).front();
    for (const int ranks : {2, 4}) {
        const std::vector<Trained> all = train(params, ranks, {}, train_two_trials);
        for (std::size_t i = 0; i < alone.losses.size(); ++i)
            EXPECT_NEAR(all.front().losses[i], alone.losses[i], 1e-5) << ranks << " ranks, " << i;
        for (const Trained& one : all) EXPECT_EQ(one.states, all.front().states) << "the ranks have parted";
    }
}

TEST(RanksOfATrial, HaveTheSameBitsInEachRun) {
    const Params params = with(small_params(), {{"accumulation", std::int64_t{4}}});
    EXPECT_EQ(train(params, 2).front().states, train(params, 2).front().states);
}

/// A rank adds up its own micro-batches first, so that this holds where each has one. Muon makes more of the last bits
/// than any other optimizer. The wide model has more numbers than are exchanged at once.
TEST(RanksOfATrial, HaveTheBitsOfOneRankWithAsManyMicroBatches) {
    const Params wide = {{"optimizer", std::string("muon")}, {"hidden", std::vector<std::int64_t>{3400, 24}}};
    for (const auto& [changes, ranks] : {std::pair{Params{}, 2}, {Params{}, 4}, {wide, 2}}) {
        const Params params = with(with(small_params(), changes), {{"accumulation", std::int64_t{ranks}}});
        const Trained alone = train(params, 1).front(), together = train(params, ranks).front();
        EXPECT_EQ(together.losses, alone.losses) << ranks;
        EXPECT_EQ(together.states, alone.states) << ranks;
    }
}

TEST(RanksOfATrial, StopTogetherWhenRank0Does) {
    int asked = 0;
    const auto all = train(small_params(), 3, [&](int rank) { return rank > 0 || ++asked < 20; });
    for (const Trained& one : all) EXPECT_THAT(one.went_on, ElementsAre(true, false));
    EXPECT_EQ(asked, 20);
}

TEST(RanksOfATrial, NeedAMicroBatchEach) {
    test::WorkerFixture worker;
    worker.context.processes = 4;
    const auto error_with = [&](const Params& changes) {
        const auto plan = answer_plan({.id = 1, .params = with(small_params(), changes)}, worker.context);
        return plan.error;
    };
    EXPECT_THAT(error_with({{"batch_size", std::int64_t{9}}}),
                MentionsInOrder("training.batch_size: ", "9", "3 micro-batches", "too few", "4",
                                "resources.trial.processes", "4"));
    EXPECT_THAT(error_with({{"batch_size", std::int64_t{8}}}), IsEmpty());
    EXPECT_THAT(error_with({{"norm", std::string("batch")}, {"ghost_batch", std::int64_t{32}}}),
                Mentions("resources.trial.processes: 4 micro-batches", "of 64", "32 samples"));
}

TEST(RanksOfATrial, CountInThePlan) {
    test::WorkerFixture worker;
    const to_worker::Plan question{.id = 1, .params = small_params()};
    const Footprint alone = answer_plan(question, worker.context).footprint;
    worker.context.processes = 4;
    const Footprint together = answer_plan(question, worker.context).footprint;
    EXPECT_EQ(together.cores, 4);
    EXPECT_GT(together.host_bytes, 3 * alone.host_bytes);
    EXPECT_LT(together.host_bytes, 4 * alone.host_bytes + static_cast<std::int64_t>(host_ranks_bytes(4)) + 1);
}

TEST(RankOrders, AreReadAsTheyWereSent) {
    const RankOrder sent{.kind = RankOrder::Kind::enter,
                         .run = test::small_run(small_params(), 7),
                         .placement = Placement::files,
                         .precision = Precision::bfloat16,
                         .micro_batch = 12,
                         .checkpointing = Checkpointing::every,
                         .rate_scale = 0.1,
                         .cores = {3, 1}};
    const RankOrder got = order_of(to_text(sent));
    EXPECT_EQ(got.kind, sent.kind);
    EXPECT_EQ(got.run.params, sent.run.params);
    EXPECT_EQ(got.run.seed, sent.run.seed);
    EXPECT_EQ(got.run.steps, 7);
    EXPECT_EQ(got.placement, sent.placement);
    EXPECT_EQ(got.precision, sent.precision);
    EXPECT_EQ(got.micro_batch, 12);
    EXPECT_EQ(got.checkpointing, sent.checkpointing);
    EXPECT_EQ(got.rate_scale, 0.1);
    EXPECT_EQ(got.cores, sent.cores);
    EXPECT_THROW((void)order_of("{}"), std::exception);
}

/// Rank 0 may have made micro-batches smaller because memory was short, or chosen them by `checkpointing: auto`.
TEST(RankOrders, DivideBatchesAsRank0Does) {
    test::WorkerFixture worker;
    const Params automatic = {{"checkpointing", std::string("auto")},
                              {"type", std::string("transformer")},
                              {"width", std::int64_t{16}},
                              {"heads", std::int64_t{2}},
                              {"steps", std::int64_t{8}},
                              {"features", std::int64_t{3}}};
    const Params normalised = {{"norm", std::string("batch")}, {"ghost_batch", std::int64_t{8}}};
    Params recurrent = small_params();
    for (const char* other : {"hidden", "label_smoothing"}) recurrent.erase(other);
    int compared = 0;
    for (const Params& base : {small_params(), with(small_params(), normalised), with(recurrent, automatic)})
        for (const int ranks : {2, 3})
            for (const std::int64_t batch : {61, 64})
                for (const std::int64_t accumulation : {1, 2, 5})
                    for (const std::int64_t short_of_memory : {0, 1, 5, 9}) {
                        worker.context.processes = ranks;
                        const Params params = with(base, {{"batch_size", batch}, {"accumulation", accumulation}});
                        Configuration own = resolve_auto(worker.context, configuration_of(worker.context, params));
                        const DataShape shape = *describe_data(own.data);
                        const SplitSizes sizes = *split_sizes(own.data, shape);
                        Configuration lead = own;
                        lead.training.micro_batch = short_of_memory;
                        const auto plan = plan_group(lead, shape, sizes, 1);
                        if (!plan) continue;
                        const RankOrder order{.micro_batch = plan->pace.micro_batch,
                                              .checkpointing = plan->checkpointing};
                        const auto followed = plan_group(as_ordered(own, order), shape, sizes, 1);
                        ASSERT_TRUE(followed) << followed.error().message;
                        EXPECT_EQ(followed->pace.micro_batch, plan->pace.micro_batch) << batch << ' ' << accumulation;
                        EXPECT_EQ(followed->pace.micro_batches, plan->pace.micro_batches);
                        EXPECT_EQ(followed->checkpointing, plan->checkpointing);
                        EXPECT_EQ(followed->state_elements, plan->state_elements);
                        ++compared;
                    }
    EXPECT_GT(compared, 100);
}

/// A clock that moves whenever it is looked at.
struct TickingClock final : Clock {
    [[nodiscard]] Seconds now() const override { return ++now_; }
    mutable Seconds now_{0};
};

/// Rank 1 as it serves rank 0, in a thread of this process.
class Follower {
   public:
    ~Follower() {
        lead.reset();  // ends the thread
        thread_.join();
    }
    void serve() {
        thread_ = std::thread([this] {
            std::vector<Descriptor> sockets;
            sockets.push_back(std::move(shared_.follow.front()));
            HostCommunicator ranks(1, 2, shared_.memory, std::move(sockets));
            follow_lead(ranks, worker.context);
        });
    }
    void send(const RankOrder& order) {
        std::string text = to_text(order);
        std::uint64_t length = text.size();
        lead->broadcast_value(length);
        lead->broadcast(std::as_writable_bytes(std::span(text)));
    }

    test::WorkerFixture worker;

   private:
    HostRanks shared_ = *make_host_ranks(2);
    std::thread thread_;

   public:
    std::unique_ptr<HostCommunicator> lead =
        std::make_unique<HostCommunicator>(0, 2, shared_.memory, std::move(shared_.lead));
};

TEST(RankOrders, FreeTheArenasOfTheOtherRanks) {
    Follower follower;
    follower.worker.context.arena = *follower.worker.device->allocate(1 << 20);
    follower.serve();
    follower.send({.kind = RankOrder::Kind::clear});
    follower.lead->barrier();
    EXPECT_EQ(follower.worker.context.arena, nullptr);
}

TEST(RankOrders, TellThePeakAndTheExchangeOfEachStep) {
    Follower follower;
    follower.worker.context.processes = 2;
    test::WorkerFixture worker;
    worker.context.processes = 2;
    const to_worker::Run run = test::small_run(small_params(), steps);
    const Configuration configuration = resolve_auto(worker.context, configuration_of(worker.context, run.params));
    const auto data = *load_to_device(*worker.device, configuration.data, run.data_seed);
    GroupPlan plan = *plan_group(configuration, data->shape, data->sizes, 1);
    const auto arena = *worker.device->allocate(plan.arena.bytes);
    const TickingClock clock;
    Trainer trainer(*worker.device, *arena, std::move(plan), *data, {}, 0, clock, follower.lead.get());
    const ReplicaSpec spec{configuration.training, run.seed, nullptr, 0};
    trainer.begin(0, spec, steps);

    follower.serve();
    follower.send({.kind = RankOrder::Kind::enter, .run = run, .micro_batch = trainer.plan().pace.micro_batch});
    std::vector<float> state(static_cast<std::size_t>(trainer.plan().state_elements));
    trainer.read_state(0, state);
    ReplicaProgress progress;
    follower.lead->broadcast(std::as_writable_bytes(std::span(state)));
    follower.lead->broadcast_value(progress);

    follower.send({.kind = RankOrder::Kind::step});
    const std::int64_t before = *resident_bytes();
    constexpr std::int64_t taken = std::int64_t{64} << 20;
    std::vector<char> memory;
    int asked = 0;
    ASSERT_TRUE(trainer.train_step([&] {
        if (++asked == 3) memory.assign(taken, 1);
        return true;
    }));
    follower.lead->barrier();
    EXPECT_GT(follower.lead->peak_of(1), before + taken / 2) << "the peak of this process, in the middle of the step";

    EXPECT_GT(trainer.take_exchange_seconds(), 0);
    follower.send({.kind = RankOrder::Kind::step});
    ASSERT_TRUE(trainer.train_step([] { return true; }));
    follower.lead->barrier();
    trainer.begin(0, spec, steps);
    EXPECT_EQ(trainer.take_exchange_seconds(), 0) << "of the trial before";
}

void start_ranks_without_files() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NOFILE, &none);
    LeadingRank(2, {}).start();
}

/// The system may have room for them later.
TEST(RankOrders, EndTheAttemptIfTheOtherRanksCannotStart) {
    EXPECT_EXIT(start_ranks_without_files(), ::testing::ExitedWithCode(1),
                "cannot make shared memory for the processes of a trial: Too many open files");
}

TEST(RankOrders, LoadDataOnceForEachProcess) {
    const HostMemory host{0, 1000};
    EXPECT_FALSE(too_much_for(host, 500, 1));
    EXPECT_TRUE(too_much_for(host, 501, 1));
    EXPECT_FALSE(too_much_for(host, 125, 4));
    EXPECT_TRUE(too_much_for(host, 126, 4));
}

TEST(RankOrders, ShareTheCoresOfATrial) {
    const std::vector<int> cores{4, 5, 6, 7, 9};
    EXPECT_THAT(cores_of_rank(cores, 0, 2), ElementsAre(4, 5));
    EXPECT_THAT(cores_of_rank(cores, 1, 2), ElementsAre(6, 7));
    EXPECT_THAT(cores_of_rank(cores, 6, 7), ElementsAre(5)) << "more ranks than cores";
    EXPECT_THAT(cores_of_rank({}, 1, 2), IsEmpty());
}

TEST(RankOrders, GiveEachRankItsMicroBatches) {
    EXPECT_EQ(micro_batches_of(nullptr).first, 0U);
    EXPECT_EQ(micro_batches_of(nullptr).every, 1U);
    const auto shared = *make_host_ranks(3);
    const HostCommunicator rank(2, 3, shared.memory, {});
    EXPECT_EQ(micro_batches_of(&rank).first, 2U);
    EXPECT_EQ(micro_batches_of(&rank).every, 3U);
}

}  // namespace
}  // namespace hpo
