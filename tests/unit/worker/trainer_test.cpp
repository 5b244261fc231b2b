#include "worker/training/trainer.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/unit/worker/allocations.hpp"
#include "tests/unit/worker/workbench.hpp"
#include "worker/training/bucket.hpp"

namespace hpo {
namespace {

const GoOn always = [] { return true; };

struct Group {
    /// One lane for each of `lanes`, which must agree in shape.
    explicit Group(const std::vector<Params>& lanes, std::int64_t steps = 3, std::vector<std::uint64_t> seeds = {},
                   std::string_view backend = "cpu", Lanes kind = Lanes::alike)
        : bench(backend),
          data(*load_to_device(*bench.device, settled(bench.workshop, *read_configuration(lanes[0])).data, 5)) {
        const auto configuration = settled(bench.workshop, *read_configuration(lanes[0]));
        auto plan = *plan_group(kind == Lanes::padded ? bucket_of(configuration) : configuration, data->shape,
                                data->sizes, static_cast<int>(lanes.size()), kind);
        arena = *bench.device->allocate(plan.arena_bytes);
        std::vector<LaneSpec> specs;
        for (std::size_t k = 0; k < lanes.size(); ++k) {
            const auto own = *read_configuration(lanes[k]);
            own_plans.push_back(*plan_group(own, data->shape, data->sizes, 1));
            specs.push_back({own.training, k < seeds.size() ? seeds[k] : 77, own_plans.back().model.get()});
        }
        trainer.emplace(*bench.device, *arena, std::move(plan), *data, specs, steps, bench.clock);
    }

    std::vector<float> state(int lane) {
        std::vector<float> got(static_cast<std::size_t>(own_plans[static_cast<std::size_t>(lane)].state_elements));
        trainer->read_state(lane, got);
        return got;
    }
    std::vector<float> weights(int lane) {
        std::vector<float> got(static_cast<std::size_t>(own_plans[static_cast<std::size_t>(lane)].weights.columns));
        trainer->read_weights(lane, got);
        return got;
    }

    test::Bench bench;
    std::unique_ptr<DeviceData> data;
    std::unique_ptr<Buffer> arena;
    std::vector<GroupPlan> own_plans;  ///< of each lane alone
    std::optional<Trainer> trainer;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(double{a[i]} - b[i]));
    return largest;
}

/// On each backend.
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

TEST_P(TrainerOn, EachLaneTrainsAsItWouldAlone) {
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
    for (int lane = 0; lane < 3; ++lane) {
        Group alone({each[static_cast<std::size_t>(lane)]}, 3, {77 + static_cast<std::uint64_t>(lane)}, GetParam());
        ASSERT_TRUE(alone.trainer->train_step(always));
        ASSERT_TRUE(alone.trainer->train_step(always));
        ASSERT_TRUE(alone.trainer->evaluate_validation(always));
        EXPECT_EQ(all.state(lane), alone.state(0)) << lane;
        EXPECT_EQ(all.trainer->step_of(lane).loss, alone.trainer->step_of(0).loss);
        EXPECT_EQ(all.trainer->evaluation_of(lane).loss, alone.trainer->evaluation_of(0).loss);
    }
}

TEST_P(TrainerOn, AnUnhealthyLaneDiesAloneAndKeepsItsWeights) {
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

/// The precisions that a backend's device has, and how far training may be from another order of sums in each.
std::vector<std::pair<std::string, double>> precisions_of(const std::string& backend) {
    std::vector<std::pair<std::string, double>> all{{"float32", 1e-3}};
    const test::Bench bench(backend);
    if (bench.device->computes_in(Precision::bfloat16)) all.emplace_back("bfloat16", 0.03);
    if (bench.device->computes_in(Precision::float16)) all.emplace_back("float16", 0.01);
    return all;
}

/// Four that may train side by side though no two are alike.
std::vector<Params> of_one_bucket(const std::string& precision = "float32") {
    const auto varied = [&](std::int64_t batch, std::vector<std::int64_t> hidden, const char* activation,
                            const char* optimizer, const Params& more) {
        Params params = test::with(test::small_params(), {{"batch_size", batch},
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

void each_padded_lane_trains_as_alone(const std::string& backend, const std::string& precision, double bound) {
    SCOPED_TRACE(precision);
    const std::vector<Params> each = of_one_bucket(precision);
    Group all(each, 4, {77, 78, 79, 80}, backend, Lanes::padded);
    std::vector<std::vector<double>> losses(4), validated(4);
    while (all.trainer->iteration_of(0) < 28) {
        ASSERT_TRUE(all.trainer->train_step(always));
        ASSERT_TRUE(all.trainer->evaluate_validation(always));
        for (int lane = 0; lane < 4; ++lane) {
            if (!all.trainer->at_end(lane)) continue;
            losses[static_cast<std::size_t>(lane)].push_back(all.trainer->step_of(lane).loss);
            validated[static_cast<std::size_t>(lane)].push_back(all.trainer->evaluation_of(lane).loss);
        }
    }
    for (int lane = 0; lane < 4; ++lane) {
        const auto i = static_cast<std::size_t>(lane);
        // As it is padded, to the bit; as it is without padding, but for the order of sums.
        Group padded({each[i]}, 4, {77 + i}, backend, Lanes::padded);
        Group alone({each[i]}, 4, {77 + i}, backend);
        ASSERT_FALSE(losses[i].empty());
        for (std::size_t step = 0; step < losses[i].size(); ++step) {
            for (Group* group : {&padded, &alone}) {
                ASSERT_TRUE(group->trainer->train_step(always));
                ASSERT_TRUE(group->trainer->evaluate_validation(always));
            }
            EXPECT_EQ(losses[i][step], padded.trainer->step_of(0).loss) << lane << ' ' << step;
            EXPECT_EQ(validated[i][step], padded.trainer->evaluation_of(0).loss) << lane << ' ' << step;
            EXPECT_NEAR(losses[i][step], alone.trainer->step_of(0).loss, bound) << lane << ' ' << step;
            EXPECT_NEAR(validated[i][step], alone.trainer->evaluation_of(0).loss, bound) << lane << ' ' << step;
        }
        if (all.trainer->at_end(lane)) {
            EXPECT_EQ(all.state(lane), padded.state(0)) << lane;
        }
        EXPECT_LT(largest_difference(padded.state(0), alone.state(0)), 10 * bound) << lane;
    }
}

TEST_P(TrainerOn, EachPaddedLaneTrainsAsItWouldAlone) {
    for (const auto& [precision, bound] : precisions_of(GetParam()))
        each_padded_lane_trains_as_alone(GetParam(), precision, bound);
}

void padding_stays_nought(const std::string& backend, const std::string& precision) {
    SCOPED_TRACE(precision);
    Group all(of_one_bucket(precision), 4, {77, 78, 79, 80}, backend, Lanes::padded);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(all.trainer->train_step(always));
    const GroupPlan& plan = all.trainer->plan();
    const auto stream = all.bench.device->stream(*all.arena, plan.lanes);
    for (const Tensor& block : {plan.weights, plan.gradient, plan.first_moment, plan.second_moment})
        for (int lane = 0; lane < 4; ++lane) {
            std::vector<float> there(static_cast<std::size_t>(block.columns)), again(there.size());
            stream->read(block, lane, std::span(there));
            const ParameterBlock& own = all.own_plans[static_cast<std::size_t>(lane)].model->block();
            std::vector<float> unpadded(static_cast<std::size_t>(own.elements));
            unpad_block(plan.model->block(), there, own, unpadded);
            pad_block(own, unpadded, plan.model->block(), again);
            EXPECT_EQ(there, again) << lane;
        }
}

TEST_P(TrainerOn, PaddingStaysNought) {
    for (const auto& [precision, bound] : precisions_of(GetParam())) padding_stays_nought(GetParam(), precision);
}

TEST_P(TrainerOn, APaddedLaneBeginsWithTheWeightsOfItsOwnModelAndGoesOnInTheMiddleOfAStep) {
    const std::vector<Params> each = of_one_bucket();
    Group whole({each[2], each[1]}, 4, {79, 78}, GetParam(), Lanes::padded);
    EXPECT_EQ(whole.weights(1), Group({each[1]}, 4, {78}, GetParam()).weights(0));
    ASSERT_TRUE(whole.trainer->train_step(always));  // five iterations: the other is in the middle of its step
    ASSERT_FALSE(whole.trainer->at_end(1));
    const std::vector<float> state = whole.state(1);
    const LaneProgress progress = whole.trainer->progress_of(1);
    Group other({each[3], each[1]}, 4, {80, 78}, GetParam(), Lanes::padded);
    const LaneSpec spec{read_configuration(each[1])->training, 78, other.own_plans[1].model.get()};
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
            Group some({test::with(whole, {{"accumulation", parts}})}, 3, {}, GetParam());
            ASSERT_TRUE(some.trainer->train_step(always));
            EXPECT_LT(largest_difference(one.weights(0), some.weights(0)), 2e-4) << optimizer << ' ' << parts;
            EXPECT_NEAR(one.trainer->step_of(0).loss, some.trainer->step_of(0).loss, 1e-4);
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
    EXPECT_NEAR(group.data->deviation, std::sqrt(5), 0.15);
    EXPECT_FLOAT_EQ(group.data->train.scale, 1 / group.data->deviation);
    EXPECT_FLOAT_EQ(group.data->train.shift, -group.data->mean / group.data->deviation);
}

TEST(Plan, SaysWhatIsThenAllocatedToTheByte) {
    test::Bench bench;
    bench.workshop.process_bytes = 1'000'000;
    const Params params = test::with(test::small_params(), {{"norm", std::string("layer")}});
    const auto answer = answer_plan({7, params, 3, 5}, bench.workshop);
    ASSERT_EQ(answer.error, "");
    EXPECT_EQ(answer.id, 7);
    EXPECT_FALSE(bench.workshop.data);
    test::FakeHost host;
    run_trial(test::small_run(params, 1), bench.workshop, host);
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(bench.workshop.arena->bytes()));
    EXPECT_EQ(answer.data_bytes, bench.workshop.data->bytes());
    EXPECT_EQ(answer.parameters, 20 * 24 + 24 + 24 * 2 + 24 * 16 + 16 + 16 * 2 + 16 * 5 + 5);
    EXPECT_EQ(answer.iterations_per_step, 900 / 64);
    const double products = 20 * 24 + 24 * 16 + 16 * 5;
    EXPECT_EQ(answer.flops_per_step, 2 * products * (14 * 64 + 100) + 2 * (2 * products - 20 * 24) * 14 * 64);
    const auto host_floats = bench.workshop.spare.at(0).state.size() + bench.workshop.spare.at(0).best.size();
    EXPECT_EQ(answer.footprint.host_bytes,
              1'000'000 + answer.arena_bytes + answer.data_bytes + static_cast<std::int64_t>(4 * host_floats));
    EXPECT_EQ(answer_plan({7, params, 3, 5}, bench.workshop).footprint.host_bytes, answer.footprint.host_bytes);
}

TEST(Plan, RefusesToAugmentWhatIsNoImage) {
    test::Bench bench;
    const auto error_of = [&](const Params& changes) {
        return answer_plan({1, test::with(test::small_params(), changes), 1, 5}, bench.workshop).error;
    };
    EXPECT_EQ(error_of({{"augment_flip", true}}), "training.augment_flip: the data's samples are no images");
    EXPECT_EQ(error_of({{"augment_shift", std::int64_t{2}}}),
              "training.augment_shift: the data's samples are no images");
    if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
        GTEST_SKIP() << "apt install dataset-fashion-mnist";
    const Params images{{"format", std::string("idx")}, {"path", std::string("fashion-mnist")}};
    EXPECT_EQ(error_of(test::with(images, {{"augment_shift", std::int64_t{2}}})), "");
    EXPECT_THAT(error_of(test::with(images, {{"augment_shift", std::int64_t{28}}})),
                ::testing::HasSubstr("28 pixels are more than images of 28 x 28 keep anything of"));
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
    Group one({resident, test::with(resident, other)}, 3, {77, 78}, GetParam(), Lanes::padded);
    Group two({staged, test::with(staged, other)}, 3, {77, 78}, GetParam(), Lanes::padded);
    EXPECT_TRUE(two.data->staged());
    for (Group* group : {&one, &two}) {
        for (int step = 0; step < 2; ++step) ASSERT_TRUE(group->trainer->train_step(always));
        ASSERT_TRUE(group->trainer->evaluate_validation(always));
    }
    for (int lane = 0; lane < 2; ++lane) {
        EXPECT_EQ(one.state(lane), two.state(lane));
        EXPECT_EQ(one.trainer->evaluation_of(lane).loss, two.trainer->evaluation_of(lane).loss);
    }
    one.trainer->leave(0);
    two.trainer->leave(0);
    for (Group* group : {&one, &two}) {
        ASSERT_TRUE(group->trainer->train_step(always));
        ASSERT_TRUE(group->trainer->evaluate_test(0, always));
    }
    EXPECT_EQ(one.state(0), two.state(0));
    EXPECT_EQ(one.trainer->evaluation_of(0).loss, two.trainer->evaluation_of(0).loss);
}

TEST(Plan, OfStagedDataTakesBatchesOnTheDeviceAndTheRestOnTheHost) {
    test::Bench bench("opencl");
    const Params staged = test::with(test::small_params(), {{"placement", std::string("staged")}});
    const auto there = answer_plan({1, test::small_params(), 1, 5}, bench.workshop);
    const auto answer = answer_plan({1, staged, 1, 5}, bench.workshop);
    ASSERT_EQ(answer.error, "");
    // Rows of a pass of an evaluation, which are more than a batch: 100 of 20 floats, and their labels.
    const std::int64_t part = 8000 + 448;
    EXPECT_EQ(answer.arena_bytes, there.arena_bytes + part);
    EXPECT_EQ(answer.data_bytes, there.data_bytes);
    EXPECT_EQ(answer.footprint.device_bytes, there.footprint.device_bytes - there.data_bytes + part);
    test::FakeHost host;
    const auto finished = run_trial(test::small_run(staged, 1), bench.workshop, host);
    ASSERT_EQ(finished.outcome, Outcome::complete) << finished.message;
    EXPECT_EQ(answer.arena_bytes, static_cast<std::int64_t>(bench.workshop.arena->bytes()));
    EXPECT_EQ(answer.data_bytes, bench.workshop.data->bytes());
}

TEST(Plan, RefusesABatchLargerThanWhatThereIsToTrainOn) {
    test::Bench bench;
    const auto answer =
        answer_plan({1, test::with(test::small_params(), {{"batch_size", std::int64_t{901}}}), 1, 5}, bench.workshop);
    EXPECT_THAT(answer.error, ::testing::HasSubstr("training.batch_size: 901 is more than the 900 samples"));
}

}  // namespace
}  // namespace hpo
