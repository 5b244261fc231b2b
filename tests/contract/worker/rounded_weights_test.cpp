// In precisions of 16 bits the products read a rounded copy of the weights, which the updates write. After any change
// of the weights, a trainer must go on like one that begins with these weights and rounds all of them.
#include <gmock/gmock.h>

#include <optional>
#include <string>

#include "tests/contract/worker/group.hpp"

namespace hpo::test {
namespace {

constexpr std::int64_t steps_of_all = 8;

class RoundedWeightsOn : public ::testing::TestWithParam<const char*> {
   public:
    /// Calls test(params) for each of these kinds of training that the device knows.
    template <class F>
    void for_each_kind(F&& test) {
        struct Kind {
            const char *precision, *optimizer;
            double ema;
        };
        const auto device = device_of(GetParam());
        for (const auto& [precision, optimizer, ema] :
             {Kind{"bfloat16", "adamw", 0}, Kind{"bfloat16", "adamw", 0.9}, Kind{"float16", "adamw", 0},
              Kind{"bfloat16", "sgd", 0.9}, Kind{"bfloat16", "lion", 0}, Kind{"bfloat16", "muon", 0.9}}) {
            if (!device->computes_in(*precision == 'f' ? Precision::float16 : Precision::bfloat16)) continue;
            SCOPED_TRACE(std::string(precision) + ", " + optimizer + ", ema " + std::to_string(ema));
            test(with(sized_for(GetParam(), small_params()), {{"precision", std::string(precision)},
                                                              {"optimizer", std::string(optimizer)},
                                                              {"norm", std::string(ema > 0 ? "layer" : "none")},
                                                              {"ema", ema}}));
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Backends, RoundedWeightsOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

std::vector<float> state_of(Trainer& trainer, int replica, std::size_t size) {
    std::vector<float> state(size);
    trainer.read_state(replica, state);
    return state;
}

/// `specs`: of the trainer's replicas. Trains a step.
void expect_goes_on_as_one_that_begins_anew(Trainer& trainer, const Params& params,
                                            const std::vector<ReplicaSpec>& specs, std::string_view backend) {
    const int replicas = trainer.replicas();
    ASSERT_EQ(specs.size(), static_cast<std::size_t>(replicas));
    Group anew(std::vector<Params>(specs.size(), params), steps_of_all, {}, backend);
    const std::size_t size = anew.state(0).size();
    for (int k = 0; k < replicas; ++k) {
        ReplicaSpec spec = specs[static_cast<std::size_t>(k)];
        spec.model = nullptr;
        anew.trainer->resume(k, spec, steps_of_all, state_of(trainer, k, size), trainer.progress_of(k));
    }
    for (Trainer* one : {&trainer, &*anew.trainer}) {
        ASSERT_TRUE(one->evaluate_validation(always));
        for (int k = 0; k < replicas; ++k) ASSERT_TRUE(one->evaluate_test(k, always));
    }
    for (int k = 0; k < replicas; ++k)
        EXPECT_EQ(trainer.evaluation_of(k).loss, anew.trainer->evaluation_of(k).loss) << k;
    for (Trainer* one : {&trainer, &*anew.trainer}) ASSERT_TRUE(one->train_step(always));
    for (int k = 0; k < replicas; ++k) {
        EXPECT_EQ(trainer.step_of(k).loss, anew.trainer->step_of(k).loss) << k;
        EXPECT_EQ(state_of(trainer, k, size), anew.state(k)) << k;
    }
}

TEST_P(RoundedWeightsOn, FollowUpdatesEvaluationsRemovalsAndWritesFromTheHost) {
    for_each_kind([](const Params& params) {
        Group group({params, params, params}, steps_of_all, {1, 2, 3}, GetParam());
        Trainer& trainer = *group.trainer;
        std::vector<ReplicaSpec> specs = group.specs;
        ASSERT_TRUE(trainer.train_step(always));
        expect_goes_on_as_one_that_begins_anew(trainer, params, specs, GetParam());  // evaluates, then trains
        expect_goes_on_as_one_that_begins_anew(trainer, params, specs, GetParam());
        trainer.remove(0);
        specs = {specs[2], specs[1]};
        expect_goes_on_as_one_that_begins_anew(trainer, params, specs, GetParam());
        trainer.begin(0, specs[1], steps_of_all);
        specs[0] = specs[1];
        expect_goes_on_as_one_that_begins_anew(trainer, params, specs, GetParam());
        const std::vector<float> other = group.weights(1);
        trainer.write_weights(0, other);
        expect_goes_on_as_one_that_begins_anew(trainer, params, specs, GetParam());
    });
}

TEST_P(RoundedWeightsOn, FollowReplicasToAnotherArena) {
    for_each_kind([](const Params& params) {
        Group group({params, params}, steps_of_all, {1, 2}, GetParam());
        ASSERT_TRUE(group.trainer->train_step(always));
        const auto configuration = resolve_auto(group.worker.context, *read_configuration(params));
        auto plan = *plan_group(configuration, group.data->shape, group.data->sizes, 3);
        const auto arena = *group.worker.device->allocate(plan.arena.bytes);
        Trainer wider(*group.worker.device, *arena, std::move(plan), *group.data, {}, steps_of_all, group.worker.clock);
        wider.adopt(*group.trainer);
        expect_goes_on_as_one_that_begins_anew(wider, params, group.specs, GetParam());
    });
}

}  // namespace
}  // namespace hpo::test
