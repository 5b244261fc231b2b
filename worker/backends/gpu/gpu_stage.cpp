// A GPU's stage: two parts of host memory that the device copies from by turns, each fenced against the operations that
// read the target of its last copy.
#include <array>
#include <cassert>
#include <new>
#include <utility>

#include "worker/backends/gpu/gpu_stream.hpp"

namespace hpo::gpu {

namespace {

class GpuStage final : public Stage {
   public:
    GpuStage(Runtime& runtime, Memory arena, std::size_t bytes) : runtime_(runtime), arena_(arena), bytes_(bytes) {
        for (Part& part : parts_) {
            part.data = runtime_.allocate_host(bytes);
            if (!part.data) throw std::bad_alloc();
        }
    }
    ~GpuStage() override {
        for (Part& part : parts_) {
            for (const Fence fence : {part.sent, part.awaited, part.free})
                if (fence != 0) runtime_.forget(fence);
            if (part.data) runtime_.release_host(part.data);
        }
    }
    GpuStage(const GpuStage&) = delete;
    GpuStage& operator=(const GpuStage&) = delete;

    std::span<std::byte> next() override {
        Part& part = parts_[next_part_];
        if (part.sent != 0) runtime_.wait(std::exchange(part.sent, 0));
        if (part.awaited != 0) runtime_.forget(std::exchange(part.awaited, 0));
        return {part.data, bytes_};
    }
    void send(const Tensor& to) override {
        Part& part = parts_[next_part_];
        assert(part.sent == 0 && to.bytes() <= bytes_);
        // The operations that read the other part's target have been enqueued by now.
        parts_[1 - next_part_].free = runtime_.mark();
        part.awaited = part.free != 0 ? std::exchange(part.free, 0) : runtime_.mark();
        part.sent = runtime_.send(arena_, to.offset, part.data, to.bytes(), part.awaited);
        next_part_ = 1 - next_part_;
    }

   private:
    struct Part {
        std::byte* data = nullptr;
        Fence sent = 0;     ///< behind its copy; 0: there is none on its way
        Fence free = 0;     ///< behind the operations that read the target of its last copy
        Fence awaited = 0;  ///< by the copy on its way
    };
    Runtime& runtime_;
    Memory arena_;
    std::size_t bytes_;
    std::array<Part, 2> parts_{};
    std::size_t next_part_ = 0;
};

}  // namespace

std::unique_ptr<Stage> GpuStream::stage(std::size_t bytes) {
    return std::make_unique<GpuStage>(runtime_, arena_.memory(), bytes);
}

}  // namespace hpo::gpu
