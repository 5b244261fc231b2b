// Feeds staged samples, which lie in the host's memory or in files, to a device. The host gathers each batch, in the
// order that devices compute (see Gather), into one of two parts of a Stage. From there it is copied to one of two
// places in the arena while the device computes with the other. The host runs ahead of the device by the length of the
// queue. If that is too slow, threads load batches ahead (batch_loader.hpp).
//
// Samples in the device's memory need no feeding: there the first operation of a micro-batch gathers them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/batch_loader.hpp"
#include "worker/training/group_plan.hpp"

namespace hpo {

/// The position of a replica's next batch in its order of samples.
struct BatchOrder {
    std::uint64_t seed = 0;
    std::int64_t batch = 0;      ///< samples
    std::int64_t samples = 0;    ///< training samples of its fold
    std::int64_t iteration = 0;  ///< updates done
    int fold = 0;
};

class BatchFeed {
   public:
    /// All arguments must outlive it. Throws std::bad_alloc.
    BatchFeed(Device& device, Stream& stream, const Buffer& arena, const GroupPlan& plan, const DeviceData& data,
              const Clock& clock);

    /// Returns true if samples are staged. Otherwise only `source` may be called.
    [[nodiscard]] bool stages() const { return stage_ != nullptr; }
    /// Returns the source of a micro-batch: `samples`, or the part that was sent last.
    [[nodiscard]] Samples source(const Samples& samples) const;
    /// Returns the index in GroupArena::staged that was sent last.
    [[nodiscard]] unsigned place() const { return place_; }

    /// Drops the batches that were loaded ahead, after a change of some replica's order.
    void restart() { loads_training_ = false; }
    /// Sends the next batch of every replica. Reads `orders` only after a restart, since later ones follow from them.
    void send_batches(std::span<const BatchOrder> orders);

    /// Prepares the rows of an evaluation: the first `all` of `samples`, for a replica of each of `folds`.
    void begin_rows(const Samples& samples, std::int64_t all, std::span<const int> folds);
    /// Sends the next rows, which begin at `from`, to these replicas, of which the first is `first`.
    void send_rows(const Samples& samples, std::int64_t from, std::int64_t rows, int first);

    /// Takes in the duration of updates, which decides whether threads load batches.
    void took(std::int64_t updates, Seconds seconds);
    /// Returns how batches are loaded, and why, for users; empty if it is undecided or samples are not staged.
    [[nodiscard]] const std::string& loading_text() const { return loading_text_; }
    /// Returns true if loading was measured to be slow, so that threads load.
    [[nodiscard]] bool loading_limits() const { return loader_ && wish_.threads < 0; }

   private:
    [[nodiscard]] std::size_t bytes() const { return plan_.arena.staged[0].bytes.all_replicas(plan_.replicas).bytes(); }
    [[nodiscard]] std::span<std::byte> part_of(std::span<std::byte> host, std::size_t k) const;
    void put(const Samples& from, int fold, std::int64_t sample, std::span<std::byte> part, std::int64_t row) const;
    void fill_batches(std::span<const BatchOrder> orders, std::int64_t number, std::span<std::byte> host) const;
    void fill_rows(const Samples& samples, std::int64_t from, std::int64_t rows, std::span<const int> folds,
                   std::span<std::byte> host) const;
    void send(int first, int count);
    void use(const LoadingChoice& choice);

    const Buffer& arena_;
    const GroupPlan& plan_;
    const DeviceData& data_;
    const Clock& clock_;
    std::unique_ptr<Stage> stage_;  ///< none: samples are not staged
    unsigned place_ = 0;
    std::vector<int> folds_;               ///< folds of the evaluated replicas
    std::unique_ptr<BatchLoader> loader_;  ///< with threads
    bool loads_training_ = false;          ///< loader_ continues the present order of every replica
    LoadingWish wish_;
    std::string loading_text_;
    bool chooses_ = false;       ///< the times of the first updates decide
    bool timed_before_ = false;  ///< the first window, which is slow, is not counted
    LoadingTimes times_;         ///< of these updates
};

}  // namespace hpo
