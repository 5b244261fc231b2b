// How the ranks of a trial exchange numbers. Ranks are processes that train one trial together, each with a part of
// every batch. Every rank calls the same functions in the same order, with the same sizes; a call returns once all
// ranks have called it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace hpo {

/// Thrown by every call once a rank has ended; all further calls throw it, too. It is no std::exception, so that code
/// which turns errors into outcomes does not catch it.
struct RankLost {
    int rank = 0;  ///< the first one that is known to have ended
};

/// Thrown by rank 0 if another rank has called another function or with another size, which is a defect of this
/// program. The other ranks are told that a rank has ended.
struct RanksParted : std::logic_error {
    using std::logic_error::logic_error;
};

/// Used by one thread of each rank.
class Communicator {
   public:
    virtual ~Communicator() = default;

    [[nodiscard]] virtual int rank() const = 0;  ///< 0 to size() - 1
    [[nodiscard]] virtual int size() const = 0;

    /// Replaces `values`, of the same length in all ranks, by the sums over the ranks. Each sum is taken in the order
    /// of the ranks, so that all ranks get the same bits, and so does the next run.
    virtual void all_reduce(std::span<float> values) = 0;
    /// Replaces `bytes` by those of rank 0.
    virtual void broadcast(std::span<std::byte> bytes) = 0;
    /// Returns once all ranks have called it.
    virtual void barrier() = 0;

    /// Replaces `value` by that of rank 0.
    template <class T>
    void broadcast_value(T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        broadcast(std::as_writable_bytes(std::span<T, 1>(&value, 1)));
    }
};

/// The micro-batches of one rank: first, first + every, ... below `count`.
struct RankMicroBatches {
    std::uint32_t first = 0;
    std::uint32_t every = 1;
};
/// Returns the micro-batches of this rank; all of them without a communicator.
inline RankMicroBatches micro_batches_of(const Communicator* ranks) {
    if (ranks == nullptr) return {};
    return {static_cast<std::uint32_t>(ranks->rank()), static_cast<std::uint32_t>(ranks->size())};
}

}  // namespace hpo
