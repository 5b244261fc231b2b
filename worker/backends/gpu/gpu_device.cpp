#include "worker/backends/gpu/gpu_device.hpp"

#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {
namespace {

class GpuDevice : public Device {
   public:
    explicit GpuDevice(std::unique_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

    [[nodiscard]] std::string name() const override { return runtime_->name(); }
    [[nodiscard]] std::string driver() const override { return runtime_->driver(); }
    [[nodiscard]] std::string remark() const override { return runtime_->remark(); }
    [[nodiscard]] std::string products() const override { return runtime_->products(); }
    [[nodiscard]] std::string_view backend() const override { return runtime_->backend(); }
    [[nodiscard]] DeviceMemory memory() const override {
        return {.of_its_own = true,
                .shared_with_host = runtime_->shares_host_memory(),
                .total_bytes = runtime_->total_bytes(),
                .context_bytes = runtime_->context_bytes(),
                .granularity = runtime_->granularity(),
                .largest_piece = runtime_->largest_piece()};
    }
    void measure_context() override { runtime_->measure_context(); }
    [[nodiscard]] int slots() const override { return runtime_->is_cpu() ? 1 : max_replicas; }
    [[nodiscard]] std::optional<MemoryLeft> memory_left() override {
        std::size_t free = 0;
        std::size_t total = 0;
        if (!runtime_->memory_left(free, total)) return {};
        return MemoryLeft{free, total};
    }
    [[nodiscard]] std::int64_t part_bytes() const override { return std::int64_t{1} << 25; }
    [[nodiscard]] std::uint64_t launches() const override { return runtime_->launches(); }
    [[nodiscard]] std::size_t stream_bytes(int replicas) const override { return workspace_bytes(replicas); }

    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        return runtime_->computes_in(precision);
    }

    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
        auto buffer = take(bytes);
        if (!buffer) return buffer.error();
        return std::unique_ptr<Buffer>(*std::move(buffer));
    }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override {
        auto workspace = take(workspace_bytes(replicas));
        if (!workspace) throw DeviceFull(workspace.error().message);
        return std::make_unique<GpuStream>(*runtime_, static_cast<GpuBuffer&>(arena), *std::move(workspace), replicas);
    }

   private:
    Result<std::unique_ptr<GpuBuffer>> take(std::size_t bytes) {
        const auto memory = runtime_->allocate(bytes);
        if (!memory) return memory.error();
        return std::make_unique<GpuBuffer>(*runtime_, *memory, bytes);
    }

    std::unique_ptr<Runtime> runtime_;
};

}  // namespace

std::unique_ptr<Device> make_device(std::unique_ptr<Runtime> runtime) {
    return std::make_unique<GpuDevice>(std::move(runtime));
}

}  // namespace hpo::gpu
