// Batches of staged samples, loaded ahead of their use by threads. Which samples a batch has is settled before it is
// loaded, so that the number of threads changes no number of a trial.
//
// How many threads pay is measured: the first updates of a trial load their batches between two computations, and the
// times decide (choose_loading).
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

    /// Begins a sequence of `count` batches, and drops what is left of the one before.
    void begin(Fill fill, std::int64_t count);
    /// Copies the next batch; waits for it. Throws what `fill` threw.
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

/// Seconds of some updates, all together.
struct LoadingTimes {
    std::int64_t updates = 0;
    double update = 0;   ///< with their loading
    double loading = 0;  ///< batches into the host's part of the stage
    double waiting = 0;  ///< of `loading`: for a disk, not for a core
};

struct LoadingChoice {
    int threads = 0;         ///< 0: batches are loaded when they are used
    std::int64_t ahead = 0;  ///< batches
    std::string text;        ///< what was chosen and why, for people
};

/// What the keys ask for, -1 for auto, on a device that computes on the host's cores (the CPU) or on its own.
struct LoadingWish {
    int threads = -1, prefetch = -1;
    std::int64_t most_ahead = 0;  ///< see most_batches_ahead
    bool on_host_cores = true;
};

/// Without `times`, which is for a number of threads that is given.
///
/// On the host's cores a thread that computes takes a core from training, so that only waiting for a disk is worth one,
/// from a twentieth of an update on. Beside a device, loading overlaps with computing anyway while it takes less than
/// half of an update. Then there are as many threads as make loading as fast as computing, 8 at most, and two batches
/// ahead for each, as PyTorch's DataLoader has.
LoadingChoice choose_loading(const LoadingWish& wish, const LoadingTimes& times = {});

/// The most batches of so many bytes that are loaded ahead, of whatever is chosen: with auto at most 64 MiB.
std::int64_t most_batches_ahead(int threads, int prefetch, std::int64_t batch_bytes);

/// Seconds for which this thread has been on a core or waited for one, since it began: the rest of its time it waited
/// for something else, such as a disk. Nothing where the system does not count this.
std::optional<double> seconds_ready();

}  // namespace hpo
