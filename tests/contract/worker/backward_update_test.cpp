// AdamW within the backward pass (GroupPlan::updates_in_backward) against the same groups that update after it: when it
// is used, and that it changes no bit but those of the norm. The runtime counts launches.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/contract/worker/group.hpp"

namespace hpo::test {
namespace {

using gpu::Fence;
using gpu::Kernel;
using gpu::Memory;

/// The runtime of OpenCL with the kernels' own products, whose launches of each kernel are counted.
class CountingRuntime final : public gpu::Runtime {
   public:
    using Counts = std::array<int, gpu::kernel_count>;
    CountingRuntime(std::unique_ptr<gpu::Runtime> of, Counts& counts) : of_(std::move(of)), counts_(counts) {}

    [[nodiscard]] std::string_view backend() const override { return of_->backend(); }
    [[nodiscard]] std::string name() const override { return of_->name(); }
    [[nodiscard]] bool shares_host_memory() const override { return of_->shares_host_memory(); }
    [[nodiscard]] std::size_t total_bytes() const override { return of_->total_bytes(); }
    [[nodiscard]] std::size_t context_bytes() const override { return of_->context_bytes(); }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override { return of_->computes_in(precision); }
    Result<Memory> allocate(std::size_t bytes) override { return of_->allocate(bytes); }
    void release(Memory memory) override { of_->release(memory); }
    void write(Memory to, std::size_t offset, const void* data, std::size_t bytes) override {
        of_->write(to, offset, data, bytes);
    }
    std::byte* allocate_host(std::size_t bytes) override { return of_->allocate_host(bytes); }
    void release_host(std::byte* data) override { of_->release_host(data); }
    Fence send(Memory to, std::size_t offset, const std::byte* data, std::size_t bytes, Fence after) override {
        return of_->send(to, offset, data, bytes, after);
    }
    void wait(Fence fence) override { of_->wait(fence); }
    void forget(Fence fence) noexcept override { of_->forget(fence); }
    void read(Memory from, std::size_t offset, void* data, std::size_t bytes) override {
        of_->read(from, offset, data, bytes);
    }
    void copy(Memory from, std::size_t start, Memory to, std::size_t offset, std::size_t bytes) override {
        of_->copy(from, start, to, offset, bytes);
    }
    void launch(const gpu::Launch& launch) override {
        ++counts_[static_cast<std::size_t>(launch.kernel)];
        of_->launch(launch);
    }
    bool multiply(Memory arena, gpu::Form form, const gpu::MultiplyArguments& arguments, int replicas) override {
        return of_->multiply(arena, form, arguments, replicas);
    }
    void flush() override { of_->flush(); }
    void synchronise() override { of_->synchronise(); }
    [[nodiscard]] gpu::u64 launches() const override { return of_->launches(); }

   private:
    std::unique_ptr<gpu::Runtime> of_;
    Counts& counts_;
};

/// The same replicas twice: in one group the weights are updated after the backward pass, in the other one within it
/// where that is allowed.
class TwoGroups {
   public:
    explicit TwoGroups(const std::vector<Params>& replicas, Fusion fusion = Fusion::identical)
        : after(device_of("opencl"), replicas, steps, seeds, fusion),
          within(counting(), replicas, steps, seeds, fusion, 1024) {
        EXPECT_FALSE(after.trainer->plan().updates_in_backward);
    }

    /// Trains both for a step. All replicas must have the same bits. Returns whether `within` updated weights within
    /// the backward pass.
    bool step_is_equal() {
        counts_ = {};
        for (Group* group : {&after, &within}) EXPECT_TRUE(group->trainer->train_step(always));
        const int fused = count(Kernel::multiply_and_adamw) + count(Kernel::multiply_and_adamw_rounded);
        EXPECT_LE(count(Kernel::round_operand), averages() ? 2 : 1)
            << "what is computed is rounded where it is written";
        const int gradients = count(Kernel::multiply_transposed) + count(Kernel::multiply_transposed_rounded);
        EXPECT_NE(fused > 0, gradients > 0) << "a gradient is written where it is not used at once";
        for (Group* group : {&after, &within}) EXPECT_TRUE(group->trainer->evaluate_validation(always));
        for (int k = 0; k < after.trainer->replicas(); ++k) {
            const Trainer &one = *after.trainer, &other = *within.trainer;
            EXPECT_EQ(after.state(k), within.state(k)) << k;
            EXPECT_EQ(after.weights(k), within.weights(k)) << k;
            EXPECT_EQ(one.step_of(k).loss, other.step_of(k).loss) << k;
            EXPECT_EQ(one.evaluation_of(k).loss, other.evaluation_of(k).loss) << k;
            const double norm = one.step_of(k).norms.mean;
            EXPECT_NEAR(norm, other.step_of(k).norms.mean, 1e-5 * norm) << k;
        }
        return fused > 0;
    }
    void begin(int replica, const ReplicaSpec& spec) {
        for (Group* group : {&after, &within}) group->trainer->begin(replica, spec, steps);
    }
    void deactivate(int replica) {
        for (Group* group : {&after, &within}) group->trainer->deactivate(replica);
    }

   private:
    static constexpr std::int64_t steps = 8;
    inline static const std::vector<std::uint64_t> seeds{1, 2, 3};
    std::unique_ptr<Device> counting() {
        auto runtime = gpu::open_opencl({}, gpu::Products::kernels);
        if (!runtime) throw std::runtime_error(runtime.error().message);
        return gpu::make_device(std::make_unique<CountingRuntime>(*std::move(runtime), counts_));
    }
    /// Returns true if the evaluated weights differ from those that train: then both are rounded in turn.
    [[nodiscard]] bool averages() const { return static_cast<bool>(within.trainer->plan().arena.average); }
    [[nodiscard]] int count(Kernel kernel) const { return counts_[static_cast<std::size_t>(kernel)]; }

    CountingRuntime::Counts counts_{};

   public:
    Group after, within;
};

Params unclipped(const Params& changes = {}) {
    return with(with(sized_for("opencl", small_params()), {{"clip", 0.0}, {"weight_decay", 0.1}}), changes);
}

TEST(BackwardUpdate, ChangesNoBitAndIsNotUsedWhileAReplicaClips) {
    for (const char* precision : {"float32", "bfloat16"}) {
        const Params params =
            unclipped({{"precision", std::string(precision)}, {"hidden", std::vector<std::int64_t>{130, 33}}});
        TwoGroups both({params, params, params});
        EXPECT_TRUE(both.step_is_equal()) << precision;
        ReplicaSpec clips{both.within.specs[1].training, 9, both.within.specs[1].model};
        clips.training.clip = 0.5;
        both.begin(1, clips);
        EXPECT_FALSE(both.step_is_equal()) << precision;
        both.deactivate(1);
        EXPECT_TRUE(both.step_is_equal()) << precision;
    }
}

TEST(BackwardUpdate, IsNotUsedWhileAReplicaHasAnotherOptimizer) {
    for (const auto& [optimizer, ema] : {std::pair("lion", 0.0), std::pair("sgd", 0.9)}) {
        const Params adamw = unclipped({{"ema", ema}});
        const Params other = with(adamw, {{"optimizer", std::string(optimizer)}, {"lr", 0.002}});
        TwoGroups both({adamw, other, with(adamw, {{"batch_size", std::int64_t{47}}})}, Fusion::padded);
        EXPECT_TRUE(both.within.trainer->plan().updates_in_backward);
        EXPECT_FALSE(both.step_is_equal()) << optimizer;
        both.deactivate(1);
        EXPECT_TRUE(both.step_is_equal()) << "the others go on with AdamW, after " << optimizer;
        both.begin(1, both.within.specs[1]);
        EXPECT_FALSE(both.step_is_equal()) << optimizer << " came later";
        TwoGroups alone({other});
        EXPECT_FALSE(alone.within.trainer->plan().updates_in_backward);
        EXPECT_FALSE(alone.step_is_equal()) << optimizer;
    }
}

TEST(BackwardUpdate, TheAverageIsOfTheUpdatedWeights) {
    for (const char* precision : {"float32", "bfloat16"}) {
        const double decay = 0.5;
        TwoGroups both(
            {unclipped({{"ema", decay}, {"precision", std::string(precision)}, {"eval_every", std::int64_t{1}}})});
        Group& group = both.within;
        const auto size = static_cast<std::size_t>(group.trainer->plan().arena.weights.columns);
        std::vector<float> before = group.state(0);
        for (int t = 1; t <= 6; ++t) {
            ASSERT_TRUE(both.step_is_equal());
            const std::vector<float> now = group.state(0);
            ASSERT_EQ(now.size(), 4 * size);
            const double rest = 1 - std::min(decay, (1.0 + t) / (10.0 + t));
            double moved = 0;
            for (std::size_t i = 0; i < size; ++i) {
                const double average = before[3 * size + i];
                EXPECT_NEAR(now[3 * size + i], average + rest * (now[i] - average), 1e-6);
                moved = std::max(moved, std::abs(double{now[i]} - before[i]));
            }
            EXPECT_GT(moved, 1e-4) << "the weights before the update would do as well";
            before = now;
        }
    }
}

TEST(BackwardUpdate, FoldsTrainAsEachWouldAlone) {
    const Params params = unclipped(
        {{"samples", std::int64_t{301}}, {"folds", std::int64_t{3}}, {"batch_size", std::int64_t{32}}, {"ema", 0.9}});
    TwoGroups both({params, params, params});
    ASSERT_EQ(both.within.trainer->plan().folds, 3);
    for (int step = 0; step < 2; ++step) EXPECT_TRUE(both.step_is_equal());
    EXPECT_NE(both.within.state(0), both.within.state(1));
    for (int fold = 0; fold < 3; ++fold) {
        TwoGroups alone({params});
        alone.begin(0, both.within.specs[static_cast<std::size_t>(fold)]);
        for (int step = 0; step < 2; ++step) EXPECT_TRUE(alone.step_is_equal());
        EXPECT_EQ(alone.within.state(0), both.within.state(fold)) << fold;
    }
}

}  // namespace
}  // namespace hpo::test
