#include "worker/training/trainer.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/contract/worker/allocations.hpp"
#include "tests/contract/worker/group.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using test::always;
using test::Group;

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
    return largest;
}

/// Tests that run on each backend.
class TrainerOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, TrainerOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(TrainerOn, LearnsWhatThereIsToLearn) {
    Group group({test::with(test::small_params(), {{"noise", 0.5}})}, 3, {}, GetParam());
    for (int step = 0; step < 3; ++step) ASSERT_TRUE(group.trainer->train_step(always));
    ASSERT_TRUE(group.trainer->evaluate_validation(always));
    EXPECT_GT(group.trainer->evaluation_of(0).accuracy, 0.95);
    ASSERT_TRUE(group.trainer->evaluate_test(0, always));
    EXPECT_GT(group.trainer->evaluation_of(0).accuracy, 0.95);
}

TEST(Trainer, AllocatesNothingAfterTheFirstStep) {
    for (const char* optimizer : {"adamw", "sgd"}) {
        Group group({test::with(test::small_params(), {{"optimizer", std::string(optimizer)},
                                                       {"accumulation", std::int64_t{2}},
                                                       {"norm", std::string("layer")},
                                                       {"activation", std::string("gelu")}})});
        ASSERT_TRUE(group.trainer->train_step(always));
        ASSERT_TRUE(group.trainer->evaluate_validation(always));
        const std::int64_t before = test::allocations();
        for (int step = 0; step < 2; ++step) {
            ASSERT_TRUE(group.trainer->train_step(always));
            ASSERT_TRUE(group.trainer->evaluate_validation(always));
        }
        EXPECT_EQ(test::allocations(), before) << optimizer;
    }
}

TEST_P(TrainerOn, EachReplicaTrainsAsItWouldAlone) {
    const Params first = test::small_params();
    const Params second = test::with(first, {{"lr", 0.002},
                                             {"dropout", 0.5},
                                             {"weight_decay", 0.3},
                                             {"label_smoothing", 0.0},
                                             {"clip", 0.5},
                                             {"schedule", std::string("one-cycle")}});
    const Params third = test::with(first, {{"beta1", 0.8}, {"beta2", 0.95}, {"epsilon", 1e-6}});
    Group all({first, second, third}, 3, {77, 78, 79}, GetParam());
    ASSERT_TRUE(all.trainer->train_step(always));
    ASSERT_TRUE(all.trainer->train_step(always));
    ASSERT_TRUE(all.trainer->evaluate_validation(always));
    const std::vector<Params> each{first, second, third};
    for (int replica = 0; replica < 3; ++replica) {
        Group alone({each[static_cast<std::size_t>(replica)]}, 3, {77 + static_cast<std::uint64_t>(replica)},
                    GetParam());
        ASSERT_TRUE(alone.trainer->train_step(always));
        ASSERT_TRUE(alone.trainer->train_step(always));
        ASSERT_TRUE(alone.trainer->evaluate_validation(always));
        EXPECT_EQ(all.state(replica), alone.state(0)) << replica;
        EXPECT_EQ(all.trainer->step_of(replica).loss, alone.trainer->step_of(0).loss);
        EXPECT_EQ(all.trainer->evaluation_of(replica).loss, alone.trainer->evaluation_of(0).loss);
    }
}

TEST_P(TrainerOn, AnUnhealthyReplicaDiesAloneAndKeepsItsWeights) {
    const Params well = test::with(test::small_params(), {{"optimizer", std::string("sgd")}, {"clip", 0.0}});
    const Params wild = test::with(well, {{"lr", 1000.0}, {"warmup", 0.0}, {"schedule", std::string("constant")}});
    Group group({well, wild}, 4, {}, GetParam());
    ASSERT_TRUE(group.trainer->train_step(always));
    EXPECT_TRUE(group.trainer->at_end(1));
    EXPECT_GE(group.trainer->step_of(1).diverged_at, 0);
    while (group.trainer->iteration_of(0) < 28) ASSERT_TRUE(group.trainer->train_step(always));
    Group alone({well}, 4, {}, GetParam());
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(alone.trainer->train_step(always));
    EXPECT_EQ(group.state(0), alone.state(0));
    const auto dead = group.weights(1);
    ASSERT_TRUE(group.trainer->train_step(always));
    EXPECT_EQ(std::memcmp(dead.data(), group.weights(1).data(), dead.size() * 4), 0);
}

/// The precisions of a backend's device, each with the tolerance for another order of sums.
std::vector<std::pair<std::string, double>> precisions_of(const std::string& backend) {
    std::vector<std::pair<std::string, double>> all{{"float32", 1e-3}};
    const test::WorkerFixture worker(backend);
    if (worker.device->computes_in(Precision::bfloat16)) all.emplace_back("bfloat16", 0.03);
    if (worker.device->computes_in(Precision::float16)) all.emplace_back("float16", 0.01);
    return all;
}

/// Returns four different trials that can be fused.
std::vector<Params> of_one_bucket(const std::string& precision = "float32") {
    const auto varied = [&](std::int64_t batch, std::vector<std::int64_t> hidden, const char* activation,
                            const char* optimizer, const Params& more) {
        Params params = test::with(test::small_params(), {{"samples", std::int64_t{500}},
                                                          {"batch_size", batch},
                                                          {"hidden", std::move(hidden)},
                                                          {"norm", std::string("layer")},
                                                          {"activation", std::string(activation)},
                                                          {"optimizer", std::string(optimizer)},
                                                          {"precision", precision},
                                                          {"accumulation", std::int64_t{3}}});
        return test::with(params, more);
    };
    return {varied(64, {24, 16}, "relu", "adamw", {{"dropout", 0.3}}),
            varied(45, {7, 33}, "gelu", "sgd", {{"lr", 0.05}, {"clip", 1.0}}),
            varied(59, {128, 1}, "silu", "adamw", {{"eval_every", std::int64_t{5}}}),
            varied(33, {100, 128}, "relu", "sgd", {{"lr", 0.02}, {"dropout", 0.5}})};
}

void each_padded_replica_trains_as_alone(const std::string& backend, const std::string& precision, double bound) {
    SCOPED_TRACE(precision);
    const std::vector<Params> each = of_one_bucket(precision);
    Group all(each, 4, {77, 78, 79, 80}, backend, Fusion::padded);
    std::vector<std::vector<double>> losses(4), validated(4);
    while (all.trainer->iteration_of(0) < 14) {
        ASSERT_TRUE(all.trainer->train_step(always));
        ASSERT_TRUE(all.trainer->evaluate_validation(always));
        for (int replica = 0; replica < 4; ++replica) {
            if (!all.trainer->at_end(replica)) continue;
            losses[static_cast<std::size_t>(replica)].push_back(all.trainer->step_of(replica).loss);
            validated[static_cast<std::size_t>(replica)].push_back(all.trainer->evaluation_of(replica).loss);
        }
    }
    for (int replica = 0; replica < 4; ++replica) {
        const auto i = static_cast<std::size_t>(replica);
        // As it is padded, to the bit; as it is without padding, but for the order of sums.
        Group padded({each[i]}, 4, {77 + i}, backend, Fusion::padded);
        Group alone({each[i]}, 4, {77 + i}, backend);
        ASSERT_FALSE(losses[i].empty());
        for (std::size_t step = 0; step < losses[i].size(); ++step) {
            for (Group* group : {&padded, &alone}) {
                ASSERT_TRUE(group->trainer->train_step(always));
                ASSERT_TRUE(group->trainer->evaluate_validation(always));
            }
            EXPECT_EQ(losses[i][step], padded.trainer->step_of(0).loss) << replica << ' ' << step;
            EXPECT_EQ(validated[i][step], padded.trainer->evaluation_of(0).loss) << replica << ' ' << step;
            EXPECT_NEAR(losses[i][step], alone.trainer->step_of(0).loss, bound) << replica << ' ' << step;
            EXPECT_NEAR(validated[i][step], alone.trainer->evaluation_of(0).loss, bound) << replica << ' ' << step;
        }
        if (all.trainer->at_end(replica)) {
            EXPECT_EQ(all.state(replica), padded.state(0)) << replica;
        }
        EXPECT_LT(largest_difference(padded.state(0), alone.state(0)), 10 * bound) << replica;
    }
}

TEST_P(TrainerOn, EachPaddedReplicaTrainsAsItWouldAlone) {
    for (const auto& [precision, bound] : precisions_of(GetParam()))
        each_padded_replica_trains_as_alone(GetParam(), precision, bound);
}

void padding_stays_nought(const std::string& backend, const std::string& precision) {
    SCOPED_TRACE(precision);
    Group all(of_one_bucket(precision), 4, {77, 78, 79, 80}, backend, Fusion::padded);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(all.trainer->train_step(always));
    const GroupPlan& plan = all.trainer->plan();
    const auto stream = all.worker.device->stream(*all.arena, plan.replicas);
    for (const Tensor& block :
         {plan.arena.weights, plan.arena.gradient, plan.arena.first_moment, plan.arena.second_moment})
        for (int replica = 0; replica < 4; ++replica) {
            std::vector<float> there(static_cast<std::size_t>(block.columns)), again(there.size());
            stream->read(block, replica, std::span(there));
            const ParameterBlock& alone = all.plans_alone[static_cast<std::size_t>(replica)].model->block();
            std::vector<float> unpadded(static_cast<std::size_t>(alone.elements));
            unpad_block(plan.model->block(), there, alone, unpadded);
            pad_block(alone, unpadded, plan.model->block(), again);
            EXPECT_EQ(there, again) << replica;
        }
}

TEST_P(TrainerOn, PaddingStaysNought) {
    for (const auto& [precision, bound] : precisions_of(GetParam())) padding_stays_nought(GetParam(), precision);
}

TEST_P(TrainerOn, APaddedReplicaBeginsWithTheWeightsOfItsOwnModelAndGoesOnInTheMiddleOfAStep) {
    const std::vector<Params> each = of_one_bucket();
    Group whole({each[2], each[1]}, 4, {79, 78}, GetParam(), Fusion::padded);
    EXPECT_EQ(whole.weights(1), Group({each[1]}, 4, {78}, GetParam()).weights(0));
    ASSERT_TRUE(whole.trainer->train_step(always));  // five iterations: the other is in the middle of its step
    ASSERT_FALSE(whole.trainer->at_end(1));
    const std::vector<float> state = whole.state(1);
    const ReplicaProgress progress = whole.trainer->progress_of(1);
    Group other({each[3], each[1]}, 4, {80, 78}, GetParam(), Fusion::padded);
    const ReplicaSpec spec{read_configuration(each[1])->training, 78, other.plans_alone[1].model.get()};
    other.trainer->resume(1, spec, 4, state, progress);
    const auto to_the_end = [](Group& group) {
        do ASSERT_TRUE(group.trainer->train_step(always));
        while (!group.trainer->at_end(1));
    };
    to_the_end(whole);
    to_the_end(other);
    EXPECT_EQ(whole.state(1), other.state(1));
    EXPECT_EQ(whole.trainer->step_of(1).loss, other.trainer->step_of(1).loss);
}

TEST_P(TrainerOn, AccumulatedMicroBatchesEqualTheWholeBatch) {
    for (const char* optimizer : {"adamw", "sgd"}) {
        const Params whole = test::with(test::small_params(), {{"optimizer", std::string(optimizer)}});
        Group one({whole}, 3, {}, GetParam());
        // Before rounding has been amplified: one epoch is 14 updates.
        ASSERT_TRUE(one.trainer->train_step(always));
        EXPECT_NE(one.weights(0), Group({whole}, 3, {}, GetParam()).weights(0));
        for (const std::int64_t parts : {4, 5, 7}) {  // also where the last one is smaller
            Group split({test::with(whole, {{"accumulation", parts}})}, 3, {}, GetParam());
            ASSERT_TRUE(split.trainer->train_step(always));
            EXPECT_LT(largest_difference(one.weights(0), split.weights(0)), 2e-4) << optimizer << ' ' << parts;
            EXPECT_NEAR(one.trainer->step_of(0).loss, split.trainer->step_of(0).loss, 1e-4);
        }
    }
}

TEST(Trainer, EndsAtTheIterationItIsToldTo) {
    Group group({test::small_params()});
    int left = 5;
    EXPECT_FALSE(group.trainer->train_step([&] { return left-- > 0; }));
    EXPECT_EQ(group.trainer->iteration_of(0), 5);
    EXPECT_FALSE(group.trainer->evaluate_validation([] { return false; }));
}

TEST(Trainer, StepsOfSomeIterationsCrossEpochsAsEpochsWould) {
    Group epochs({test::small_params()}, 2);
    for (int step = 0; step < 2; ++step) ASSERT_TRUE(epochs.trainer->train_step(always));
    ASSERT_EQ(epochs.trainer->iteration_of(0), 28);
    Group sevens({test::with(test::small_params(), {{"eval_every", std::int64_t{4}}})}, 7);
    for (int step = 0; step < 7; ++step) ASSERT_TRUE(sevens.trainer->train_step(always));
    EXPECT_EQ(epochs.state(0), sevens.state(0));
}

TEST(Trainer, NormalisesByTheTrainingSplit) {
    Group group({test::small_params()});
    // Clusters of N(0, 1) centres with noise 2: the deviation is near sqrt(5).
    EXPECT_NEAR(group.data->folds.front().deviation, std::sqrt(5), 0.15);
    EXPECT_FLOAT_EQ(group.data->train.scale, 1 / group.data->folds.front().deviation);
    EXPECT_FLOAT_EQ(group.data->train.shift, -group.data->folds.front().mean / group.data->folds.front().deviation);
}

TEST(Plan, SaysWhatIsThenAllocatedToTheByte) {
    test::WorkerFixture worker;
    worker.context.process_bytes = 1'000'000;
    const Params params = test::with(test::small_params(), {{"norm", std::string("layer")}});
    const auto answer = answer_plan({7, params, 3, 5}, worker.context);
    ASSERT_EQ(answer.error, "");
    EXPECT_EQ(answer.id, 7);
    EXPECT_FALSE(worker.context.data);
    test::FakeHost host;
    run_trial(test::small_run(params, 1), worker.context, host);
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
    EXPECT_EQ(answer.data_bytes, worker.context.data->bytes());
    EXPECT_EQ(answer.parameters, 20 * 24 + 24 + 24 * 2 + 24 * 16 + 16 + 16 * 2 + 16 * 5 + 5);
    EXPECT_EQ(answer.iterations_per_step, 900 / 64);
    const double products = 20 * 24 + 24 * 16 + 16 * 5;
    EXPECT_EQ(answer.flops_per_step, 2 * products * (14 * 64 + 100) + 2 * (2 * products - 20 * 24) * 14 * 64);
    const auto host_floats = worker.context.spare.at(0).state.size() + worker.context.spare.at(0).best.size();
    EXPECT_EQ(answer.footprint.host_bytes,
              1'000'000 + answer.arena_bytes + answer.data_bytes + static_cast<std::int64_t>(4 * host_floats));
    EXPECT_EQ(answer_plan({7, params, 3, 5}, worker.context).footprint.host_bytes, answer.footprint.host_bytes);
}

TEST(Plan, RefusesToAugmentWhatIsNoImage) {
    test::WorkerFixture worker;
    const auto error_of = [&](const Params& changes) {
        return answer_plan({1, test::with(test::small_params(), changes), 1, 5}, worker.context).error;
    };
    EXPECT_THAT(error_of({{"augment_flip", true}}), Mentions("training.augment_flip: ", "no images"));
    EXPECT_THAT(error_of({{"augment_shift", std::int64_t{2}}}), Mentions("training.augment_shift: ", "no images"));
    if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
        GTEST_SKIP() << "apt install dataset-fashion-mnist";
    const Params images{{"format", std::string("idx")}, {"path", std::string("fashion-mnist")}};
    EXPECT_EQ(error_of(test::with(images, {{"augment_shift", std::int64_t{2}}})), "");
    EXPECT_THAT(error_of(test::with(images, {{"augment_shift", std::int64_t{28}}})),
                Mentions("training.augment_shift", "28 pixels", "more than", "28 x 28"));
}

TEST_P(TrainerOn, AugmentedImagesAreLearnedAndTheSameAgain) {
    if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
        GTEST_SKIP() << "apt install dataset-fashion-mnist";
    const Params plain{{"format", std::string("idx")},
                       {"path", std::string("fashion-mnist")},
                       {"subset", std::int64_t{2000}},
                       {"hidden", std::vector<std::int64_t>{32}},
                       {"lr", 0.003},
                       {"batch_size", std::int64_t{64}},
                       {"eval_every", std::int64_t{40}}};
    const Params augmented = test::with(plain, {{"augment_shift", std::int64_t{2}}, {"augment_flip", true}});
    std::vector<double> losses;
    for (const Params* params : {&plain, &augmented, &augmented}) {
        Group group({*params}, 3, {}, GetParam());
        for (int step = 0; step < 2; ++step) ASSERT_TRUE(group.trainer->train_step(always));
        losses.push_back(group.trainer->step_of(0).loss);
        ASSERT_TRUE(group.trainer->evaluate_validation(always));
        EXPECT_GT(group.trainer->evaluation_of(0).accuracy, 0.6);
    }
    EXPECT_NE(losses[0], losses[1]);
    EXPECT_EQ(losses[1], losses[2]);
}

TEST_P(TrainerOn, StagedDataTrainsToTheSameBits) {
    const Params resident = test::with(test::small_params(), {{"accumulation", std::int64_t{3}}});
    const Params staged = test::with(resident, {{"placement", std::string("staged")}});
    const Params other{{"lr", 0.002}, {"batch_size", std::int64_t{47}}};
    Group one({resident, test::with(resident, other)}, 3, {77, 78}, GetParam(), Fusion::padded);
    Group two({staged, test::with(staged, other)}, 3, {77, 78}, GetParam(), Fusion::padded);
    EXPECT_TRUE(two.data->staged());
    for (Group* group : {&one, &two}) {
        for (int step = 0; step < 2; ++step) ASSERT_TRUE(group->trainer->train_step(always));
        ASSERT_TRUE(group->trainer->evaluate_validation(always));
    }
    for (int replica = 0; replica < 2; ++replica) {
        EXPECT_EQ(one.state(replica), two.state(replica));
        EXPECT_EQ(one.trainer->evaluation_of(replica).loss, two.trainer->evaluation_of(replica).loss);
    }
    one.trainer->remove(0);
    two.trainer->remove(0);
    for (Group* group : {&one, &two}) {
        ASSERT_TRUE(group->trainer->train_step(always));
        ASSERT_TRUE(group->trainer->evaluate_test(0, always));
    }
    EXPECT_EQ(one.state(0), two.state(0));
    EXPECT_EQ(one.trainer->evaluation_of(0).loss, two.trainer->evaluation_of(0).loss);
}

TEST(Plan, OfStagedDataTakesBatchesOnTheDeviceAndTheRestOnTheHost) {
    test::WorkerFixture worker("opencl");
    const Params staged = test::with(test::small_params(), {{"placement", std::string("staged")}});
    const auto there = answer_plan({1, test::small_params(), 1, 5}, worker.context);
    const auto answer = answer_plan({1, staged, 1, 5}, worker.context);
    ASSERT_EQ(answer.error, "");
    // Twice the rows of a micro-batch of an evaluation, which are more than a batch: 100 of 20 floats, and their
    // labels.
    const std::int64_t part = 2 * (8000 + 448);
    EXPECT_EQ(answer.arena_bytes, there.arena_bytes + part);
    EXPECT_EQ(answer.data_bytes, there.data_bytes);
    EXPECT_EQ(answer.footprint.device_bytes, there.footprint.device_bytes - there.data_bytes + part);
    test::FakeHost host;
    const auto finished = run_trial(test::small_run(staged, 1), worker.context, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(worker.context.arena->bytes()));
    EXPECT_EQ(answer.data_bytes, worker.context.data->bytes());
}

TEST(Plan, RefusesABatchLargerThanWhatThereIsToTrainOn) {
    test::WorkerFixture worker;
    const auto answer =
        answer_plan({1, test::with(test::small_params(), {{"batch_size", std::int64_t{901}}}), 1, 5}, worker.context);
    EXPECT_THAT(answer.error, Mentions("training.batch_size: 901", "more than", "900 samples"));
}

TEST(Trainer, TheWindowFollowsTheTimeOfAnUpdateAndChangesNoNumber) {
    const Params params = test::with(test::small_params(), {{"batch_size", std::int64_t{4}}});  // 225 iterations
    const auto train = [&](Group& group, Seconds update) {
        EXPECT_EQ(group.trainer->window(), 32);
        group.trainer->train_step([&] { return group.worker.clock.advance(update), true; });
        return group.trainer->window();
    };
    Group fast({params}), slow({params});
    EXPECT_EQ(train(fast, Seconds(1e-5)), 128);
    EXPECT_EQ(train(slow, Seconds(0.02)), 4);
    EXPECT_EQ(fast.state(0), slow.state(0));
    EXPECT_EQ(fast.trainer->step_of(0).loss, slow.trainer->step_of(0).loss);
}

}  // namespace
}  // namespace hpo
