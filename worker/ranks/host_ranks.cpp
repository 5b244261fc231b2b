#include "worker/ranks/host_ranks.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "os/descriptors.hpp"
#include "os/files.hpp"

namespace hpo {
namespace {

constexpr std::size_t numbers_at_once = std::size_t{1} << 17;  // floats of each rank that lie in the memory
constexpr std::size_t line = 64;                               // bytes, of a cache
constexpr std::size_t words_bytes = 512;
constexpr int kind_bit = 56;              // of the number that names an exchange; its length is below
constexpr int looks_before_sleep = 4000;  // some 0.1 ms, in which ranks with a core each usually arrive

void relax_core() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

/// Written by rank 0.
struct alignas(line) HostCommunicator::Shared {
    std::atomic<std::uint64_t> released;  ///< barriers that all have reached
    std::atomic<std::int32_t> lost;       ///< a rank that has ended, plus 1; 0: none
};

/// Written by the rank itself.
struct alignas(line) HostCommunicator::Own {
    std::atomic<std::uint64_t> arrived;   ///< barriers that it has reached
    std::atomic<std::uint64_t> exchange;  ///< of the last one: its kind and length, see kind_bit
    std::atomic<std::uint32_t> sleeps;    ///< it waits at its socket, or is about to
    std::atomic<std::int64_t> peak;
    char words[words_bytes];
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

std::size_t host_ranks_bytes(int size) {
    constexpr std::size_t of_rank = words_bytes + 2 * line;
    return line + static_cast<std::size_t>(size) * of_rank +
           (static_cast<std::size_t>(size) + 1) * numbers_at_once * sizeof(float);
}

Result<HostRanks> make_host_ranks(int size) {
    const auto failed = [](const char* what) {
        return Error{std::string("cannot ") + what + " for the processes of a trial: " + std::strerror(errno)};
    };
    HostRanks made;
    made.memory = os::shared_memory("hpo-ranks");
    if (!made.memory || ::ftruncate(made.memory.get(), static_cast<off_t>(host_ranks_bytes(size))) != 0)
        return failed("make shared memory");
    for (int rank = 1; rank < size; ++rank) {
        os::Pair pair = os::stream_pair(os::Calls::return_at_once);
        if (!pair) return failed("make a socket");
        made.lead.push_back(std::move(pair.one));
        made.follow.push_back(std::move(pair.other));
    }
    return made;
}

HostCommunicator::HostCommunicator(int rank, int size, const Descriptor& memory, std::vector<Descriptor> sockets)
    : rank_(rank), size_(size), sockets_(std::move(sockets)) {
    static_assert(sizeof(Own) <= words_bytes + 2 * line && sizeof(Shared) == line);
    void* const mapped = ::mmap(nullptr, host_ranks_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(mapped);
    shared_ = reinterpret_cast<Shared*>(memory_);  // begins as 0, which is the first state of all members
}

HostCommunicator::~HostCommunicator() { ::munmap(memory_, host_ranks_bytes(size_)); }

HostCommunicator::Own& HostCommunicator::own(int rank) const {
    return *reinterpret_cast<Own*>(memory_ + line + static_cast<std::size_t>(rank) * (words_bytes + 2 * line));
}

float* HostCommunicator::numbers(int rank) const {
    std::byte* const first = memory_ + line + static_cast<std::size_t>(size_) * (words_bytes + 2 * line);
    return reinterpret_cast<float*>(first) + static_cast<std::size_t>(rank) * numbers_at_once;
}

/// Tells the others, who may wait for this rank.
void HostCommunicator::end_all(int lost) {
    lost_ = lost;
    if (rank_ == 0) shared_->lost = lost + 1;
    for (const Descriptor& socket : sockets_) ::shutdown(socket.get(), SHUT_RDWR);
}

void HostCommunicator::fail(int lost) {
    end_all(lost);
    throw RankLost{lost};
}

/// Returns "rank 1 adds up 3 numbers".
std::string HostCommunicator::to_text(int rank, std::uint64_t exchange) {
    const std::string who = "rank " + std::to_string(rank);
    const std::string length = std::to_string(exchange & ((std::uint64_t{1} << kind_bit) - 1));
    switch (static_cast<Kind>(exchange >> kind_bit)) {
        case Kind::all_reduce:
            return who + " adds up " + length + " numbers";
        case Kind::broadcast:
            return who + " broadcasts " + length + " bytes";
        case Kind::barrier:
            break;
    }
    return who + " waits";
}

void HostCommunicator::part_from(int other, std::uint64_t exchange) {
    end_all(other);
    throw RanksParted(to_text(other, own(other).exchange.load(std::memory_order_relaxed)) + ", and " +
                      to_text(0, exchange));
}

void HostCommunicator::poke(std::size_t socket) {
    const char byte = 0;
    (void)::send(sockets_[socket].get(), &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);  // if it is full, the other one wakes
}

/// Waits for a byte from any socket. Throws RankLost at the end of one.
void HostCommunicator::sleep() {
    std::vector<pollfd> watched;
    watched.reserve(sockets_.size());
    for (const Descriptor& socket : sockets_) watched.push_back({socket.get(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), -1) <= 0) return;  // a signal
    for (std::size_t i = 0; i < watched.size(); ++i) {
        if (watched[i].revents == 0) continue;
        char bytes[256];
        const ssize_t count = ::recv(watched[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) continue;
        if (rank_ == 0) fail(static_cast<int>(i) + 1);
        fail(shared_->lost > 0 ? shared_->lost - 1 : 0);
    }
}

template <class Ready>
void HostCommunicator::wait_until(Ready ready) {
    for (int look = 0; look < looks_before_sleep; ++look) {
        if (ready()) return;
        relax_core();
    }
    std::atomic<std::uint32_t>& sleeps = own(rank_).sleeps;
    for (;;) {
        // Who makes it ready looks at `sleeps` afterwards, and this rank looks again after it has set it.
        sleeps = 1;
        if (ready()) break;
        sleep();
    }
    sleeps = 0;
}

void HostCommunicator::barrier() { meet(Kind::barrier, 0); }

/// Waits for all ranks, which must be here for the same exchange.
void HostCommunicator::meet(Kind kind, std::size_t length) {
    if (lost_ >= 0) throw RankLost{lost_};
    ++barriers_;
    const std::uint64_t exchange = static_cast<std::uint64_t>(kind) << kind_bit | length;
    if (rank_ > 0) {
        own(rank_).exchange.store(exchange, std::memory_order_relaxed);  // which `arrived` publishes
        own(rank_).arrived = barriers_;
        if (own(0).sleeps != 0) poke(0);
        return wait_until([this] { return shared_->released.load() >= barriers_; });
    }
    wait_until([this] {
        for (int rank = 1; rank < size_; ++rank)
            if (own(rank).arrived.load() < barriers_) return false;
        return true;
    });
    for (int rank = 1; rank < size_; ++rank)
        if (own(rank).exchange.load(std::memory_order_relaxed) != exchange) part_from(rank, exchange);
    shared_->released = barriers_;
    for (int rank = 1; rank < size_; ++rank)
        if (own(rank).sleeps != 0) poke(static_cast<std::size_t>(rank) - 1);
}

/// Each rank adds up a part of the numbers, over all ranks. The places of the ranks are free again after the second
/// barrier, and the sums are read before the first barrier of the next piece.
void HostCommunicator::all_reduce(std::span<float> values) {
    constexpr std::size_t in_line = line / sizeof(float);
    for (std::size_t done = 0; done < values.size(); done += numbers_at_once) {
        const std::span<float> piece = values.subspan(done, std::min(numbers_at_once, values.size() - done));
        std::memcpy(numbers(rank_), piece.data(), piece.size_bytes());
        meet(Kind::all_reduce, values.size());
        const std::size_t lines = (piece.size() + in_line - 1) / in_line;
        const auto part = [&](int rank) {
            return std::min(piece.size(),
                            lines * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size_) * in_line);
        };
        const std::size_t first = part(rank_), end = part(rank_ + 1);
        float* const sums = numbers(size_);
        std::copy(numbers(0) + first, numbers(0) + end, sums + first);
        for (int rank = 1; rank < size_; ++rank) {
            const float* const one = numbers(rank);
            for (std::size_t i = first; i < end; ++i) sums[i] += one[i];
        }
        meet(Kind::all_reduce, values.size());
        std::memcpy(piece.data(), sums, piece.size_bytes());
    }
}

void HostCommunicator::broadcast(std::span<std::byte> bytes) {
    constexpr std::size_t at_once = numbers_at_once * sizeof(float);
    for (std::size_t done = 0; done < bytes.size(); done += at_once) {
        const std::span<std::byte> piece = bytes.subspan(done, std::min(at_once, bytes.size() - done));
        // The sums of an earlier call may still be read by others, but the numbers of rank 0 are not.
        if (rank_ == 0) std::memcpy(numbers(0), piece.data(), piece.size());
        meet(Kind::broadcast, bytes.size());
        if (rank_ > 0) std::memcpy(piece.data(), numbers(0), piece.size());
        meet(Kind::broadcast, bytes.size());
    }
}

void HostCommunicator::leave_words(const std::string& text) {
    const std::size_t length = std::min(text.size(), words_bytes - 1);
    std::memcpy(own(rank_).words, text.data(), length);
    own(rank_).words[length] = 0;
}

std::string HostCommunicator::words_of(int rank) const {
    const char* const words = own(rank).words;
    return {words, ::strnlen(words, words_bytes)};
}

void HostCommunicator::set_peak(std::int64_t bytes) { own(rank_).peak = bytes; }
std::int64_t HostCommunicator::peak_of(int rank) const { return own(rank).peak; }

}  // namespace hpo
