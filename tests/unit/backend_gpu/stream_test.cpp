// Tests the calls of a GpuStream to its runtime, and their order, with a runtime that computes nothing and keeps a
// list.
#include "worker/backends/gpu/gpu_stream.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace hpo::gpu {
namespace {

using ::testing::ElementsAre;

class ListingRuntime final : public Runtime {
   public:
    [[nodiscard]] std::string_view backend() const override { return "list"; }
    [[nodiscard]] std::string name() const override { return "list"; }
    [[nodiscard]] bool shares_host_memory() const override { return false; }
    [[nodiscard]] std::size_t total_bytes() const override { return 1 << 30; }
    [[nodiscard]] std::size_t context_bytes() const override { return 0; }
    [[nodiscard]] Result<void> computes_in(Precision) const override { return {}; }
    Result<Memory> allocate(std::size_t) override { return ++memories_; }
    void release(Memory memory) override { list.push_back("release " + std::to_string(memory)); }
    void write(Memory, std::size_t, const void*, std::size_t) override {}
    std::byte* allocate_host(std::size_t bytes) override {
        host_.push_back(std::make_unique<std::byte[]>(bytes));
        return host_.back().get();
    }
    void release_host(std::byte*) override {}
    Fence mark() override {
        list.push_back("mark " + std::to_string(++fences_));
        return fences_;
    }
    Fence send(Memory, std::size_t offset, const std::byte*, std::size_t, Fence after) override {
        list.push_back("send to " + std::to_string(offset) + " after " + std::to_string(after) + ", " +
                       std::to_string(++fences_));
        return fences_;
    }
    void wait(Fence fence) override { list.push_back("wait " + std::to_string(fence)); }
    void forget(Fence fence) noexcept override { forgotten.push_back(fence); }
    void read(Memory, std::size_t, void*, std::size_t) override {}
    void copy(Memory, std::size_t, Memory, std::size_t, std::size_t) override {}
    void launch(const Launch& launch) override {
        list.emplace_back(kernel_names[static_cast<std::size_t>(launch.kernel)]);
        groups.push_back(launch.groups);
        bytes_of_weights += weight_bytes(launch);
    }
    bool multiply(Memory, Form, const MultiplyArguments&, int) override { return false; }
    void flush() override {}
    [[nodiscard]] u64 launches() const override { return 0; }
    void synchronise() override { list.emplace_back("synchronise"); }

    [[nodiscard]] Fence fences() const { return fences_; }
    std::vector<std::string> list;
    std::vector<u32> groups;      ///< of each launch
    double bytes_of_weights = 0;  ///< of weights, their gradients and moments that launches read and write
    std::vector<Fence> forgotten;

   private:
    static double weight_bytes(const Launch& launch) {
        const auto product = [&](const MultiplyArguments& a) {
            return std::array<double, 3>{double(a.m), double(a.n), double(a.k)};
        };
        const void* arguments = launch.arguments;
        switch (launch.kernel) {
            case Kernel::multiply_by_transposed:
            case Kernel::multiply: {  // by the weights
                const auto [m, n, k] = product(*static_cast<const MultiplyArguments*>(arguments));
                return 4 * n * k;
            }
            case Kernel::multiply_transposed: {  // their gradient
                const auto [m, n, k] = product(*static_cast<const MultiplyArguments*>(arguments));
                return 4 * m * n;
            }
            case Kernel::multiply_and_adamw: {  // the weights and two moments, read and written
                const auto [m, n, k] = product(static_cast<const MultiplyAndAdamWArguments*>(arguments)->product);
                return 6 * 4 * m * n;
            }
            case Kernel::norm_parts:
                return 4 * static_cast<double>(static_cast<const GradientNormArguments*>(arguments)->count);
            case Kernel::adamw:  // and the gradient
                return 7 * 4 * static_cast<double>(static_cast<const AdamWArguments*>(arguments)->update.count);
            default:
                return 0;
        }
    }

    Memory memories_ = 0;
    Fence fences_ = 0;
    std::vector<std::unique_ptr<std::byte[]>> host_;
};

struct GpuStreamTest : ::testing::Test {
    [[nodiscard]] std::unique_ptr<GpuBuffer> buffer(std::size_t bytes) {
        return std::make_unique<GpuBuffer>(runtime, *runtime.allocate(bytes), bytes);
    }
    ListingRuntime runtime;
    std::unique_ptr<GpuBuffer> arena = buffer(4096);
    std::unique_ptr<Stream> stream = std::make_unique<GpuStream>(runtime, *arena, buffer(64), 1);
};

TEST_F(GpuStreamTest, WaitsForTheDeviceBeforeItsMemoryIsFreed) {
    stream->enqueue(Fill{{0, 0, 1, 4, Type::f32}, 1});
    stream.reset();
    EXPECT_THAT(runtime.list, ElementsAre("fill", "synchronise", "release 2"));
}

/// A copy must not overwrite the samples of an earlier batch that is still computed, and need not wait for the latest
/// batch.
TEST_F(GpuStreamTest, AStagedCopyWaitsForWhatReadItsTargetAndForNothingLater) {
    const std::array<Tensor, 2> targets{Tensor{0, 0, 1, 64, Type::u8}, Tensor{64, 0, 1, 64, Type::u8}};
    {
        const auto stage = stream->stage(64);
        for (std::size_t batch = 0; batch < 4; ++batch) {
            ASSERT_EQ(stage->next().size(), 64U);
            stage->send(targets[batch % 2]);
            stream->enqueue(Fill{{1024, 0, 1, 4, Type::f32}, 1});  // stands for the operation that reads the target
        }
    }
    EXPECT_THAT(runtime.list,
                ElementsAre("mark 1", "mark 2", "send to 0 after 2, 3", "fill",  // the first: after all
                            "mark 4", "send to 64 after 1, 5", "fill",           //
                            "wait 3", "mark 6", "send to 0 after 4, 7", "fill",  // not after the fill of 64
                            "wait 5", "mark 8", "send to 64 after 6, 9", "fill"));
    // All fences are given back once; two of them by waiting.
    std::sort(runtime.forgotten.begin(), runtime.forgotten.end());
    EXPECT_THAT(runtime.forgotten, ElementsAre(1, 2, 4, 6, 7, 8, 9));
    EXPECT_EQ(runtime.fences(), 9U);
}

/// The 10-class layer has one group of columns. Its parts of the rows keep more of a GPU busy, and a work-item then
/// waits for the memory a few times, in place of once in 64 rows.
TEST_F(GpuStreamTest, SumsOverManyRowsAreDividedAmongWorkGroups) {
    const auto launches_of = [&](std::int64_t rows, std::int64_t columns) {
        Layout layout(1);
        const Tensor gradient = layout.add(Type::f32, rows, columns), bias = layout.add(Type::f32, 1, columns);
        const auto memory = buffer(layout.bytes());
        GpuStream on(runtime, *memory, buffer(workspace_bytes(1)), 1);
        runtime.list.clear();
        runtime.groups.clear();
        on.enqueue(ActivateBackward{.gradient = gradient, .bias_gradient = bias});
        EXPECT_LE(row_parts(rows, columns) * columns, std::max<std::int64_t>(columns, MAX_COLUMN_SUMS));
        return runtime.groups;
    };
    EXPECT_THAT(launches_of(256, 10), ElementsAre(1)) << "a further launch would cost more";
    EXPECT_THAT(launches_of(4096, 10), ElementsAre(16, 1));
    EXPECT_THAT(runtime.list, ::testing::IsSupersetOf({"activate_backward", "column_totals"}));
    EXPECT_THAT(launches_of(4096, 512), ElementsAre(16 * 16, 16));
    EXPECT_THAT(launches_of(15360, 768), ElementsAre(10 * 24, 24));
    EXPECT_THAT(launches_of(4096, 16384), ElementsAre(512)) << "there are enough without";
}

/// Half of an update at a small batch is reading and writing what belongs to the weights.
TEST_F(GpuStreamTest, AnUpdateInTheBackwardPassMovesFewerBytes) {
    constexpr std::int64_t widths[] = {784, 512, 256, 128, 10}, batch = 32;
    const auto bytes = [&](bool within) {
        Layout layout(1);
        const auto add = [&](std::int64_t rows, std::int64_t columns) { return layout.add(Type::f32, rows, columns); };
        std::vector<Tensor> weights, gradients, firsts, seconds, outputs{add(batch, widths[0])};
        for (std::size_t i = 0; i < 4; ++i) {
            for (auto* all : {&weights, &gradients, &firsts, &seconds}) all->push_back(add(widths[i + 1], widths[i]));
            outputs.push_back(add(batch, widths[i + 1]));
        }
        const Tensor one = layout.add_per_replica(Type::f32), roots = add(1, 256);
        const auto memory = buffer(layout.bytes());
        GpuStream on(runtime, *memory, buffer(workspace_bytes(1)), 1);
        runtime.bytes_of_weights = 0;
        const auto adamw_of = [&](std::size_t i) {
            Update update{.weights = weights[i], .gradient = gradients[i]};
            update.learning_rates = update.weight_decay = update.alive = one;
            return AdamW{update, firsts[i], seconds[i], one, one, one, one};
        };
        for (std::size_t i = 0; i < 4; ++i) on.enqueue(Linear{outputs[i], weights[i], outputs[i + 1]});
        for (std::size_t i = 4; i-- > 0;) {
            const AdamW adamw = adamw_of(i);
            LinearBackward backward{outputs[i + 1], outputs[i], weights[i], gradients[i],
                                    i > 0 ? outputs[i] : Tensor{}};
            if (within) {
                backward.adamw = &adamw;
                backward.roots = roots.slice(0, 1, gradient_parts(widths[i + 1], widths[i]));
            }
            on.enqueue(backward);
            on.enqueue(GradientNorm{.gradient = within ? backward.roots : gradients[i],
                                    .limit = one,
                                    .norm = one,
                                    .factor = one,
                                    .scaling = {}});
            if (!within) on.enqueue(adamw);
        }
        return runtime.bytes_of_weights / 1e6;
    };
    EXPECT_NEAR(bytes(false), 23.3, 0.05);
    EXPECT_NEAR(bytes(true), 16.5, 0.05);
}

}  // namespace
}  // namespace hpo::gpu
