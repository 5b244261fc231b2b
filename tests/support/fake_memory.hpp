// The memory that a fake worker's trial takes: of the host, really; of the fake device, by its book.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hpo::fake {

inline constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// What one trial holds; given back with it. One thread at a time.
class TrialMemory {
   public:
    TrialMemory() = default;
    TrialMemory(const TrialMemory&) = delete;
    TrialMemory& operator=(const TrialMemory&) = delete;
    ~TrialMemory() { release(); }

    /// So much more of the fake device that this process was started on. False: it is full, or there is none.
    bool take_device(std::int64_t bytes);
    /// So much more of the host, each page touched. False: it was refused.
    bool take_host(std::int64_t bytes);

    void release();

    [[nodiscard]] std::int64_t device_bytes() const { return device_; }
    [[nodiscard]] std::int64_t host_bytes() const { return host_; }

   private:
    struct Block {
        void* start;
        std::size_t size;
    };
    std::vector<Block> blocks_;
    std::int64_t device_ = 0;
    std::int64_t host_ = 0;
};

/// Most bytes of the host that this process held since it began or since the last reset; absent: not told.
std::optional<std::int64_t> peak_host_bytes();
void reset_peak_host_bytes();

}  // namespace hpo::fake
