// The memory of a fake worker's trial: real memory of the host, and recorded memory of the fake device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hpo::fake {

inline constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// The memory of one trial; the destructor gives it back. Not thread-safe.
class TrialMemory {
   public:
    TrialMemory() = default;
    TrialMemory(const TrialMemory&) = delete;
    TrialMemory& operator=(const TrialMemory&) = delete;
    ~TrialMemory() { release(); }

    /// Takes more memory of this process's fake device. Returns false if it is full or does not exist.
    bool take_device(std::int64_t bytes);
    /// Takes more memory of the host and touches each page. Returns false if the system refuses it.
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

/// Returns the peak of this process's host memory in bytes since its start or the last reset, or nothing if unknown.
std::optional<std::int64_t> peak_host_bytes();
void reset_peak_host_bytes();

}  // namespace hpo::fake
