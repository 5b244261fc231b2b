// The CPU's queue: each operation is done when its call returns. Threads share the work of one operation by rows,
// elements, samples or images.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/backends/cpu/bfloat16.hpp"
#include "worker/backends/cpu/kernels.hpp"
#include "worker/backends/cpu/thread_pool.hpp"

namespace hpo {

class CpuBuffer : public Buffer {
   public:
    /// Null data when there is not enough memory. Zeroed.
    explicit CpuBuffer(std::size_t bytes);
    ~CpuBuffer() override;
    CpuBuffer(const CpuBuffer&) = delete;
    CpuBuffer& operator=(const CpuBuffer&) = delete;

    [[nodiscard]] std::size_t bytes() const override { return bytes_; }
    [[nodiscard]] std::byte* data() const { return data_; }

   private:
    std::size_t bytes_;
    std::byte* data_;
};

class CpuStream : public Stream {
   public:
    CpuStream(const Kernels& kernels, ThreadPool& threads, CpuBuffer& arena, int replicas)
        : kernels_(kernels), threads_(threads), arena_(arena), end_(replicas) {}

    [[nodiscard]] int replicas() const override { return end_ - first_; }
    void select_replicas(int first, int count) override {
        first_ = first;
        end_ = first + count;
    }
    void write_bytes(const Tensor& to, int replica, std::span<const std::byte> data) override;
    void read_bytes(const Tensor& from, int replica, std::span<std::byte> data) override;
    void synchronise() override {}
    void copy_from(const Buffer& arena, const Tensor& from, const Tensor& to) override;
    [[nodiscard]] bool convolves() const override { return true; }
    void enqueue(const Operation& operation) override {
        std::visit([this](const auto& arguments) { compute(arguments); }, operation);
    }
    std::unique_ptr<Stage> stage(std::size_t bytes) override;

   private:
#define HPO_DECLARE_COMPUTE(name, Structure) void compute(const Structure& arguments);
    HPO_OPERATIONS(HPO_DECLARE_COMPUTE)
#undef HPO_DECLARE_COMPUTE

    /// One replica's elements; null for none.
    template <class T = float>
    [[nodiscard]] T* at(const Tensor& tensor, int replica) const;
    void follow_statistics(const BatchNorm& arguments, int replica) const;
    [[nodiscard]] const EmbeddedColumn* columns_at(const Tensor& columns, int replica) const;
    /// A one number per replica's number for one replica.
    template <class T = float>
    [[nodiscard]] T value(const Tensor& tensor, int replica) const;
    struct Rows {
        std::int64_t first = 0;  ///< sample of the batch
        std::int64_t count = 0;  ///< of the replica; the others are padding
    };
    /// The valid rows of a micro-batch of `rows` rows.
    [[nodiscard]] Rows valid_rows(const Extent& extent, int replica, std::int64_t rows) const;
    [[nodiscard]] std::size_t kernel_of(Activation activation, const Tensor& activations, int replica) const;
    [[nodiscard]] std::int64_t valid_columns(const Extent& extent, int replica, std::int64_t columns) const;
    /// The part of the samples that the replica works on: see Gather::Fold.
    [[nodiscard]] std::size_t part_of(const Gather& arguments, int replica) const;
    /// Gathers the elements of a replica's rows from row `begin` of the output on.
    template <class T>
    void gather_rows(const Gather& arguments, int replica, std::int64_t first, std::int64_t begin,
                     std::span<const std::int32_t> rows, float* to);
    template <class Label, class Kernel>
    void each_cross_entropy(const CrossEntropy& arguments, Kernel kernel);
    [[nodiscard]] float rate_of(const Update& update, int replica) const;
    [[nodiscard]] bool updates(const Update& update, int replica) const;
    [[nodiscard]] DropoutDraw draw(const Dropout& dropout, int replica) const;
    /// Calls work(first, count) for parts of `items` items of `each` elements, on several threads. The result must be
    /// the same however they are cut.
    template <class F>
    void share(std::int64_t items, std::int64_t each, F&& work) const;
    /// Shares elements one by one. The parts begin where vectors do.
    template <class F>
    void share_elements(std::int64_t count, F&& work) const;
    /// The same as share() where the items are added to `sums`, each of `columns` numbers or null: work(first, count,
    /// sums) is given others to add to, which are added up in the order of the parts.
    template <std::size_t N, class F>
    void share_and_add(std::int64_t items, std::int64_t each, std::int64_t columns, const std::array<float*, N>& sums,
                       F&& work);
    [[nodiscard]] int convolving_threads(const Tensor& workspace) const;
    [[nodiscard]] float* workspace_of_thread(const Tensor& workspace, int replica) const;
    template <class Step, class F>
    void share_update(const Update& update, const Step& step, float no_decay, F&& work) const;
    void round_decayed(const Update& update, int replica) const;
    [[nodiscard]] Bfloat16Products& bfloat16();
    /// Zeroes a result, to which the kernels add.
    void prepare(const Tensor& target, int replica, Write write) const;

    const Kernels& kernels_;
    ThreadPool& threads_;
    CpuBuffer& arena_;
    std::unique_ptr<Bfloat16Products> bfloat16_;  ///< from the first product on
    std::vector<float> partial_sums_;             ///< of share_and_add
    int first_ = 0;                               ///< of the replicas
    int end_;
};

constexpr std::int64_t least_elements_of_a_part = std::int64_t{1} << 14;  // some 5 us of simple work

template <class F>
void CpuStream::share(std::int64_t items, std::int64_t each, F&& work) const {
    if (threads_.threads() == 1) return work(std::int64_t{0}, items);
    const Parts parts = cut(items, least_elements_of_a_part / std::max<std::int64_t>(1, each));
    threads_.run(parts.count, [&](int part) { work(parts.first(part), parts.length(part)); });
}

template <class F>
void CpuStream::share_elements(std::int64_t count, F&& work) const {
    if (threads_.threads() == 1) return work(std::int64_t{0}, count);
    const Parts parts = cut(count, least_elements_of_a_part, 64);
    threads_.run(parts.count, [&](int part) { work(parts.first(part), parts.length(part)); });
}

template <std::size_t N, class F>
void CpuStream::share_and_add(std::int64_t items, std::int64_t each, std::int64_t columns,
                              const std::array<float*, N>& sums, F&& work) {
    const std::int64_t worth_further_sums = 64 * columns;
    const std::int64_t least = std::max(worth_further_sums, least_elements_of_a_part);
    const Parts parts = parts_of(items, std::max<std::int64_t>(1, least / std::max<std::int64_t>(1, each)));
    const std::int64_t of_part = static_cast<std::int64_t>(N) * columns;
    partial_sums_.assign(static_cast<std::size_t>(parts.count * of_part), 0.0F);
    const auto partial = [&](int part, std::size_t i) {
        return partial_sums_.data() + part * of_part + static_cast<std::int64_t>(i) * columns;
    };
    threads_.run(parts.count, [&](int part) {
        std::array<float*, N> its{};
        for (std::size_t i = 0; i < N; ++i)
            if (sums[i]) its[i] = partial(part, i);
        work(parts.first(part), parts.length(part), its);
    });
    for (int part = 0; part < parts.count; ++part)
        for (std::size_t i = 0; i < N; ++i)
            if (sums[i]) kernels_.add(columns, partial(part, i), sums[i]);
}

template <class T>
T CpuStream::value(const Tensor& tensor, int replica) const {
    assert(tensor.elements() == 1);
    return *at<T>(tensor, replica);
}

template <class T>
T* CpuStream::at(const Tensor& tensor, int replica) const {
    if (!tensor) return nullptr;
    assert(tensor.type == type_of<std::remove_const_t<T>>());
    const std::size_t offset = tensor.offset + static_cast<std::size_t>(replica) * tensor.replica_stride;
    assert(offset + tensor.bytes() <= arena_.bytes());
    return reinterpret_cast<T*>(arena_.data() + offset);
}

}  // namespace hpo
