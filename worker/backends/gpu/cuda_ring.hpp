// Pinned memory of the host through which ordinary memory is copied to and from a CUDA device. An asynchronous copy
// from pageable memory is not promised to have read it when the call returns, and the driver's own copies to pageable
// memory reach a fraction of the bus's speed.
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
        if (!open(api)) {
            const int status = api.write(to, data, bytes, stream);
            return status == success ? api.synchronise(stream) : status;
        }
        while (bytes > 0) {
            const std::size_t now = std::min(bytes, part_bytes);
            Event& copied = copied_[turn_];
            int status = copied ? api.wait_for_event(copied) : api.create_event(&copied, event_without_timing);
            if (status != success) return status;
            std::memcpy(part(turn_), data, now);
            status = api.write(to, part(turn_), now, stream);
            if (status == success) status = api.record_event(copied, stream);
            if (status != success) return status;
            turn_ = (turn_ + 1) % parts;
            to += now;
            data += now;
            bytes -= now;
        }
        return success;
    }

    /// Returns when `data` has been written. The context is current. Returns the driver's status. While one part is
    /// taken out, those after it are on their way.
    int read(const Api& api, Stream stream, Address from, std::byte* data, std::size_t bytes) {
        const std::lock_guard lock(busy_);
        if (!open(api)) {
            const int status = api.read(data, from, bytes, stream);
            return status == success ? api.synchronise(stream) : status;
        }
        // The copies of a stream are done in their order, so that a part may be asked for while its last write is still
        // on its way.
        const std::size_t first = turn_;
        std::size_t asked = 0;
        for (std::size_t taken = 0; taken * part_bytes < bytes; ++taken) {
            for (; asked < taken + parts && asked * part_bytes < bytes; ++asked) {
                const std::size_t turn = (first + asked) % parts;
                Event& copied = copied_[turn];
                int status = copied ? success : api.create_event(&copied, event_without_timing);
                if (status == success)
                    status = api.read(part(turn), from + asked * part_bytes, size_of(asked, bytes), stream);
                if (status == success) status = api.record_event(copied, stream);
                if (status != success) return status;
            }
            const std::size_t turn = (first + taken) % parts;
            if (const int status = api.wait_for_event(copied_[turn]); status != success) return status;
            std::memcpy(data + taken * part_bytes, part(turn), size_of(taken, bytes));
        }
        turn_ = (first + asked) % parts;
        return success;
    }

    /// The context is current, and nothing is on its way.
    void give_back(const Api& api) {
        for (Event& copied : copied_)
            if (copied) api.destroy_event(copied);
        if (memory_) api.release_host(memory_);
    }

   private:
    static constexpr std::size_t parts = 8, part_bytes = std::size_t{256} << 10;

    /// False: there is no pinned memory.
    bool open(const Api& api) {
        if (!memory_ && !refused_) refused_ = api.allocate_host(&memory_, part_bytes * parts) != success || !memory_;
        return !refused_;
    }
    [[nodiscard]] std::byte* part(std::size_t turn) const {
        return static_cast<std::byte*>(memory_) + turn * part_bytes;
    }
    /// Bytes of the part with this number of a copy of `bytes`.
    static std::size_t size_of(std::size_t number, std::size_t bytes) {
        return std::min(part_bytes, bytes - number * part_bytes);
    }

    std::mutex busy_;
    void* memory_ = nullptr;
    bool refused_ = false;
    std::array<Event, parts> copied_{};
    std::size_t turn_ = 0;
};

}  // namespace hpo::gpu::cuda
