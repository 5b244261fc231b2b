// Threads that share the work of one operation of the CPU backend.
//
// Results must not depend on the number of threads, which may change between two operations, nor on the other rows that
// are computed at once. So where the size of parts matters (sums are taken by part, or a library rounds in another
// order for another size), it is fixed. Each thread has a range of the parts of its own, so that it finds in its cache
// the rows that it has written in the operation before, and helps the others when it has finished.
//
// Where other programs use the cores, threads wait for each other more than they gain. The calling thread then works
// alone for a second.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace hpo {

/// Items (rows, elements) in `count` parts of `size` items, the last of which has the rest.
struct Parts {
    int count = 1;
    std::int64_t size = 0;
    std::int64_t items = 0;

    [[nodiscard]] std::int64_t first(int part) const { return part * size; }
    [[nodiscard]] std::int64_t length(int part) const {
        return items - first(part) < size ? items - first(part) : size;
    }
};

/// Parts of `size` items; one part if there are no items.
Parts parts_of(std::int64_t items, std::int64_t size);

/// Cuts work into at most 32 parts, each a multiple of `multiple` items and at least `least` items long. For work whose
/// result does not depend on the cut.
Parts cut(std::int64_t items, std::int64_t least, std::int64_t multiple = 1);

/// Tells from the times of a thread whether other programs use the cores on which it shares work with others.
class Contention {
   public:
    using Duration = std::chrono::steady_clock::duration;
    /// Takes in the duration of some work of the calling thread, and the time that it then waited for the others.
    /// Returns true, some 50 ms after the last answer, if it has waited for more than a third of that time for the
    /// others, or for more than a fifth for a core. On an idle machine both shares are below a twentieth.
    bool is_high(Duration working, Duration waiting);

   private:
    Duration working_{}, waiting_{};
    /// The time that the calling thread had waited for a core at the last answer. Its waits while it worked alone
    /// count, so that it seldom tries to share on a busy machine.
    std::optional<Duration> queued_;
};

class ThreadPool {
   public:
    ThreadPool() = default;  ///< the calling thread alone
    ~ThreadPool() { end_helpers(); }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    /// Computes from now on with one thread for each of `cores`, the calling thread among them; with none or one, on
    /// the calling thread alone. The other threads run on these cores, but not on the core of the calling thread if it
    /// is bound to one. There are fewer threads where the system refuses more.
    void use(std::span<const int> cores);
    [[nodiscard]] int threads() const { return static_cast<int>(helpers_.size()) + 1; }

    /// Calls work(part) once for each part, on several threads at a time, and returns when all calls have returned.
    /// `work` must not throw, and must not call run().
    template <class F>
    void run(int parts, F&& work) {
        if (helpers_.empty() || parts == 1 || rests()) {
            for (int part = 0; part < parts; ++part) work(part);
            return;
        }
        share(
            parts, [](void* what, int part) { (*static_cast<std::remove_reference_t<F>*>(what))(part); },
            const_cast<void*>(static_cast<const void*>(&work)));
    }

   private:
    using Work = void (*)(void* what, int part);
    using Time = std::chrono::steady_clock::time_point;

    [[nodiscard]] bool rests() const {
        return rests_until_ > Time{} && std::chrono::steady_clock::now() < rests_until_;
    }
    void share(int parts, Work work, void* what);
    void take_parts(int thread);
    void help(int thread);
    void end_helpers();

    /// The untaken parts of one thread, on a cache line of their own.
    struct alignas(64) Range {
        std::atomic<int> next{0};
        int end = 0;
    };

    std::vector<std::thread> helpers_;
    std::vector<int> cores_;  ///< as given to use()
    Contention contention_;
    Time rests_until_{};  ///< the calling thread works alone
    Work work_ = nullptr;
    void* what_ = nullptr;
    std::unique_ptr<Range[]> ranges_;  ///< by thread; the calling thread is number 0
    /// The lowest bit: the work is open to helpers. The others: twice the number of those that have joined it.
    std::atomic<std::uint32_t> joined_{0};
    std::atomic<std::uint32_t> left_{0};    ///< helpers that have joined the work and have finished
    std::atomic<std::uint32_t> called_{0};  ///< increases with each work, and when the helpers are to end
    std::atomic<bool> ends_{false};
};

}  // namespace hpo
