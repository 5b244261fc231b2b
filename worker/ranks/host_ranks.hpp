// Ranks on one host, which share a piece of memory. Each has a socket to rank 0, by which it sleeps and wakes others,
// and by whose end it learns that the other side has ended, however that ended: no wait depends on a clock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"
#include "worker/ranks/communicator.hpp"

namespace hpo {

/// The memory and sockets of all ranks, made by rank 0 before the others start.
struct HostRanks {
    Descriptor memory;               ///< of host_ranks_bytes(size)
    std::vector<Descriptor> lead;    ///< of rank 0: its sockets to ranks 1, 2, ...
    std::vector<Descriptor> follow;  ///< the other ends, of ranks 1, 2, ...
};

/// Returns the bytes of memory that `size` ranks share.
std::size_t host_ranks_bytes(int size);

/// Makes the shared memory and the sockets, all of which close on exec.
Result<HostRanks> make_host_ranks(int size);

/// One rank's side. Rank 0 owns the sockets to all others, the others own one.
class HostCommunicator final : public Communicator {
   public:
    /// Maps `memory`, which may be closed afterwards. Throws std::bad_alloc.
    HostCommunicator(int rank, int size, const Descriptor& memory, std::vector<Descriptor> sockets);
    ~HostCommunicator() override;
    HostCommunicator(const HostCommunicator&) = delete;
    HostCommunicator& operator=(const HostCommunicator&) = delete;

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }
    void all_reduce(std::span<float> values) override;
    void broadcast(std::span<std::byte> bytes) override;
    void barrier() override;

    /// Leaves a text for rank 0, which reads it when this rank has ended: why it ends.
    void leave_words(const std::string& text);
    [[nodiscard]] std::string words_of(int rank) const;
    /// A number of each rank that rank 0 may read at any time: the most memory that it took.
    void set_peak(std::int64_t bytes);
    [[nodiscard]] std::int64_t peak_of(int rank) const;

   private:
    struct Shared;
    struct Own;
    enum class Kind : std::uint64_t { barrier, all_reduce, broadcast };
    [[nodiscard]] Own& own(int rank) const;
    [[nodiscard]] float* numbers(int rank) const;  ///< that this rank gives; size(): the sums
    template <class Ready>
    void wait_until(Ready ready);
    static std::string to_text(int rank, std::uint64_t exchange);
    void meet(Kind kind, std::size_t length);
    [[noreturn]] void part_from(int other, std::uint64_t exchange);
    void end_all(int lost);
    void sleep();
    [[noreturn]] void fail(int lost);
    void poke(std::size_t socket);

    int rank_, size_;
    std::vector<Descriptor> sockets_;
    std::byte* memory_;
    Shared* shared_;
    std::uint64_t barriers_ = 0;
    int lost_ = -1;
};

}  // namespace hpo
