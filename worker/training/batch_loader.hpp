// Loads batches of staged samples ahead of their use by threads. The samples of a batch are fixed before it is loaded,
// so that the number of threads does not change results.
//
// The number of threads is chosen by measurement: the first updates of a trial load their batches between two
// computations, and their times decide (choose_loading).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace hpo {

/// Loads the batches of a sequence. One thread asks for them.
class BatchLoader {
   public:
    /// Writes batch `number` of the sequence to `to`. Called by several threads at once.
    using Fill = std::function<void(std::int64_t number, std::span<std::byte> to)>;

    /// `threads` and `ahead`: at least 1. A batch has at most `bytes`. If the system has fewer threads left, those do
    /// the work; without any, next() loads its batch itself.
    BatchLoader(int threads, std::int64_t ahead, std::size_t bytes);
    ~BatchLoader();
    BatchLoader(const BatchLoader&) = delete;
    BatchLoader& operator=(const BatchLoader&) = delete;

    /// Begins a sequence of `count` batches, and drops the rest of the previous one.
    void begin(Fill fill, std::int64_t count);
    /// Waits for the next batch and copies it. Rethrows an exception of `fill`.
    void next(std::span<std::byte> to);

   private:
    struct Slot {
        std::vector<std::byte> bytes;
        bool loaded = false;
        std::exception_ptr error;
    };

    void load();
    [[nodiscard]] Slot& slot_of(std::int64_t number) {
        return slots_[static_cast<std::size_t>(number) % slots_.size()];
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Slot> slots_;
    Fill fill_;
    std::int64_t count_ = 0, begun_ = 0, taken_ = 0;  ///< batches of the sequence
    int busy_ = 0;                                    ///< threads that call fill_
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

/// Total seconds of some updates.
struct LoadingTimes {
    std::int64_t updates = 0;
    double update = 0;   ///< of the updates, including their loading
    double loading = 0;  ///< of loading batches into the host's part of the stage
    double waiting = 0;  ///< part of `loading` that waits for a disk, not for a core
};

struct LoadingChoice {
    int threads = 0;         ///< 0: batches are loaded when they are used
    std::int64_t ahead = 0;  ///< batches
    std::string text;        ///< the choice and its reason, for users
};

/// The study's keys (-1: auto), and whether the device computes on the host's cores.
struct LoadingWish {
    int threads = -1, prefetch = -1;
    std::int64_t most_ahead = 0;  ///< see most_batches_ahead
    bool on_host_cores = true;
};

/// Chooses the number of threads and of batches ahead. `times` is not needed for a given number of threads.
///
/// On the host's cores a thread that computes takes a core from training, so that only waiting for a disk is worth one,
/// from a twentieth of an update on. Beside a device, loading overlaps with computing anyway while it takes less than
/// half of an update. Otherwise enough threads load that loading is as fast as computing, 8 at most, and two batches
/// ahead for each, as PyTorch's DataLoader has.
LoadingChoice choose_loading(const LoadingWish& wish, const LoadingTimes& times = {});

/// Returns the largest number of batches of `batch_bytes` that are loaded ahead; with auto at most 64 MiB.
std::int64_t most_batches_ahead(int threads, int prefetch, std::int64_t batch_bytes);

/// Returns the seconds that this thread has been on a core or waited for one since its start. The rest of the time it
/// waited for other things, such as a disk. Nothing if the system does not count these seconds.
std::optional<double> seconds_ready();

}  // namespace hpo
