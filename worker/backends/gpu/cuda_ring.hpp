// Pinned memory of the host through which ordinary memory goes to a CUDA device: an asynchronous copy from pageable
// memory is not promised to have read it when the call returns.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "worker/backends/gpu/cuda_api.hpp"

namespace hpo::gpu::cuda {

/// Parts take turns: one is filled while those before it are on their way.
class Ring {
   public:
    /// `data` may be reused on return. The context is current. Returns the driver's status; without pinned memory it
    /// waits for the copy.
    int write(const Api& api, Stream stream, Address to, const std::byte* data, std::size_t bytes) {
        const std::lock_guard lock(busy_);
        if (!memory_ && !refused_) refused_ = api.allocate_host(&memory_, part_bytes * parts) != success || !memory_;
        if (refused_) {
            const int status = api.write(to, data, bytes, stream);
            return status == success ? api.synchronise(stream) : status;
        }
        while (bytes > 0) {
            const std::size_t now = std::min(bytes, part_bytes);
            std::byte* const part = static_cast<std::byte*>(memory_) + turn_ * part_bytes;
            Event& sent = sent_[turn_];
            int status = sent ? api.wait_for_event(sent) : api.create_event(&sent, event_without_timing);
            if (status != success) return status;
            std::memcpy(part, data, now);
            status = api.write(to, part, now, stream);
            if (status == success) status = api.record_event(sent, stream);
            if (status != success) return status;
            turn_ = (turn_ + 1) % parts;
            to += now;
            data += now;
            bytes -= now;
        }
        return success;
    }

    /// The context is current, and nothing is on its way.
    void give_back(const Api& api) {
        for (Event& sent : sent_)
            if (sent) api.destroy_event(sent);
        if (memory_) api.release_host(memory_);
    }

   private:
    static constexpr std::size_t parts = 8, part_bytes = std::size_t{256} << 10;

    std::mutex busy_;
    void* memory_ = nullptr;
    bool refused_ = false;
    std::array<Event, parts> sent_{};
    std::size_t turn_ = 0;
};

}  // namespace hpo::gpu::cuda
