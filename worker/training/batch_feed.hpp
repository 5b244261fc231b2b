// Feeds staged samples, which lie in the host's memory or in files, to a device. The host gathers each batch, in the
// order that devices compute (see Gather), into one of two parts of a Stage, from which it is copied to one of two
// places in the arena while the device computes with the other. The host is ahead of the device by as much as the queue
// holds. Where that is too slow, threads load batches before (batch_loader.hpp).
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

/// Which samples the next batch of a replica has.
struct BatchOrder {
    std::uint64_t seed = 0;
    std::int64_t batch = 0;      ///< samples
    std::int64_t samples = 0;    ///< of its fold
    std::int64_t iteration = 0;  ///< updates done
    int fold = 0;
};

class BatchFeed {
   public:
    /// All arguments must outlive it. Throws std::bad_alloc.
    BatchFeed(Device& device, Stream& stream, const Buffer& arena, const GroupPlan& plan, const DeviceData& data,
              const Clock& clock);

    /// Whether samples are staged. Otherwise only `source` may be called.
    [[nodiscard]] bool stages() const { return stage_ != nullptr; }
    /// Where a micro-batch is gathered from: `samples` themselves, or the part of them that was sent last.
    [[nodiscard]] Samples source(const Samples& samples) const;
    /// Which of GroupArena::staged was sent last.
    [[nodiscard]] unsigned place() const { return place_; }

    /// Drops the batches that were loaded ahead: the next ones of some replica are others.
    void restart() { loads_training_ = false; }
    /// Sends the next batch of every replica. Orders that follow from those of the call before, update after update,
    /// are read after a restart only.
    void send_batches(std::span<const BatchOrder> orders);

    /// Prepares the rows of an evaluation: all `all` of `samples`, for one replica of each of `folds`.
    void begin_rows(const Samples& samples, std::int64_t all, std::span<const int> folds);
    /// Sends the next rows, which begin at `from`, to these replicas, of which the first is `first`.
    void send_rows(const Samples& samples, std::int64_t from, std::int64_t rows, int first);

    /// Takes in how long so many updates took, until that decides whether threads load batches.
    void took(std::int64_t updates, Seconds seconds);
    /// How batches are loaded, and why, for people; empty: it is not known yet, or samples are not staged.
    [[nodiscard]] const std::string& loading_text() const { return loading_text_; }
    /// Whether loading was measured to be slow, so that threads do it.
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
    std::vector<int> folds_;               ///< of the replicas that are evaluated
    std::unique_ptr<BatchLoader> loader_;  ///< with threads
    bool loads_training_ = false;          ///< loader_: its next batch is the next one of every replica
    LoadingWish wish_;
    std::string loading_text_;
    bool chooses_ = false;       ///< by the times of the first updates
    bool timed_before_ = false;  ///< the first window, which is slow, is not counted
    LoadingTimes times_;         ///< of these updates
};

}  // namespace hpo
