// A GPU's queue on one arena: turns operations into launches, by their shapes and sizes alone.
#pragma once

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

namespace hpo::gpu {

class GpuBuffer : public Buffer {
   public:
    GpuBuffer(Runtime& runtime, Memory memory, std::size_t bytes) : runtime_(runtime), memory_(memory), bytes_(bytes) {}
    ~GpuBuffer() override { runtime_.release(memory_); }
    GpuBuffer(const GpuBuffer&) = delete;
    GpuBuffer& operator=(const GpuBuffer&) = delete;

    [[nodiscard]] std::size_t bytes() const override { return bytes_; }
    [[nodiscard]] Memory memory() const { return memory_; }

   private:
    Runtime& runtime_;
    Memory memory_;
    std::size_t bytes_;
};

constexpr std::int64_t divide_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }
/// Returns the number of work-groups for `items` work-items.
constexpr std::int64_t groups_of_items(std::int64_t items) { return divide_up(items, WORK_GROUP_SIZE); }
constexpr u32 parts_of(std::int64_t most_useful) {
    return static_cast<u32>(std::clamp<std::int64_t>(most_useful, 1, MAX_PARTS));
}
inline u32 word(std::int64_t number) {
    assert(number >= 0 && number <= std::numeric_limits<u32>::max());
    return static_cast<u32>(number);
}

/// Bytes that a stream of `replicas` replicas takes in addition to its arena, for partial results of reductions.
constexpr std::size_t workspace_bytes(int replicas) { return static_cast<std::size_t>(replicas) * WORKSPACE_BYTES; }

/// Returns the number of parts of the rows, in each of which work-groups sum up SUBGROUP_SIZE columns. Few columns
/// alone would keep few cores of a GPU busy, and many rows let them wait for the memory many times, one after the
/// other. Another launch puts the parts together, which does not pay for few rows. The number follows from the shape
/// alone: the order of additions must not depend on which replicas share the group.
constexpr u32 row_parts(std::int64_t rows, std::int64_t columns) {
    if (rows < LEAST_SPLIT) return 1;
    return static_cast<u32>(std::clamp<std::int64_t>(MAX_COLUMN_SUMS / columns, 1, rows / PART_ROWS));
}

class GpuStream : public Stream {
   public:
    /// `workspace`: workspace_bytes(replicas).
    GpuStream(Runtime& runtime, GpuBuffer& arena, std::unique_ptr<GpuBuffer> workspace, int replicas)
        : runtime_(runtime), arena_(arena), workspace_(std::move(workspace)), replicas_(replicas) {}

    /// Waits for the work in flight, since neither a running recording nor its memory may be freed.
    ~GpuStream() override;
    GpuStream(const GpuStream&) = delete;
    GpuStream& operator=(const GpuStream&) = delete;

    [[nodiscard]] int replicas() const override { return replicas_; }
    void select_replicas(int first, int count) override {
        first_replica_ = first;
        replicas_ = count;
    }
    void write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) override;
    void read_bytes(const Tensor& from, int replica, std::span<std::byte> data) override;
    void synchronise() override { runtime_.synchronise(); }
    void copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) override;
    [[nodiscard]] bool updates_in_backward() const override { return true; }
    void enqueue(const Operation& operation) override {
        std::visit([this](const auto& arguments) { compute(arguments); }, operation);
    }
    std::unique_ptr<Stage> stage(std::size_t bytes) override;
    void repeat(std::uint64_t name, const std::function<void()>& operations) override;

   private:
#define HPO_DECLARE_COMPUTE(name, Structure) void compute(const Structure& arguments);
    HPO_OPERATIONS(HPO_DECLARE_COMPUTE)
#undef HPO_DECLARE_COMPUTE

    /// The state of `repeat` for a name and a range of replicas.
    struct Repeated {
        std::uint64_t name;
        int first_replica, replicas;
        std::unique_ptr<Recording> recording;
        bool refused = false;
    };
    template <class Arguments>
    void launch(Kernel kernel, std::int64_t groups, const Arguments& arguments);
    template <class Arguments>
    void launch(Kernel kernel, std::int64_t groups, const Arguments& arguments, Memory other);
    void add_column_totals(const Tensor& first, const Tensor& second, std::int64_t columns, u32 parts, Write write);
    void each_cross_entropy(const CrossEntropy& arguments, Kernel first, u32 parts);
    /// The sizes of a product: C is m x n, and the sums run over k.
    struct Sizes {
        std::int64_t m, n, k;
    };
    void multiply(Form form, const Tensor& a, const Tensor& b, const Tensor& c, const Sizes& sizes, Write write,
                  Precision precision);
    /// Returns the bytes from the first selected replica's first element to the last one's last.
    [[nodiscard]] std::size_t bytes_of_selected(const Tensor& tensor) const {
        return static_cast<std::size_t>(replicas_ - 1) * tensor.replica_stride + tensor.bytes();
    }
    void check(const Tensor& tensor) const;
    [[nodiscard]] TensorRef ref(const Tensor& tensor) const;
    [[nodiscard]] ExtentArguments ref(const Extent& extent) const;
    [[nodiscard]] DropoutArguments ref(const Dropout& dropout) const;
    [[nodiscard]] UpdateArguments ref(const Update& update) const;
    [[nodiscard]] AdamWArguments ref(const AdamW& adamw) const;
    [[nodiscard]] AttentionArguments ref(const Attention& attention) const;

    Runtime& runtime_;
    GpuBuffer& arena_;
    std::unique_ptr<GpuBuffer> workspace_;
    int first_replica_ = 0;
    int replicas_;
    std::vector<Repeated> repeated_;
};

template <class Arguments>
void GpuStream::launch(Kernel kernel, std::int64_t groups, const Arguments& arguments) {
    launch(kernel, groups, arguments, workspace_->memory());
}

template <class Arguments>
void GpuStream::launch(Kernel kernel, std::int64_t groups, const Arguments& arguments, Memory other) {
    runtime_.launch({.kernel = kernel,
                     .groups = word(groups),
                     .replicas = word(replicas_),
                     .arena = arena_.memory(),
                     .other = other,
                     .arguments = &arguments,
                     .argument_bytes = sizeof(Arguments)});
}

}  // namespace hpo::gpu
