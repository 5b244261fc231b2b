#include "worker/backends/cpu/thread_pool.hpp"

#include <sched.h>

#include <algorithm>

#include "hpo/threads.hpp"
#include "worker/backends/cpu/core_binding.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hpo {
namespace {

/// Number of looks of a helper for further work before it sleeps: some 50 us, which is longer than the time between two
/// operations of an update, and too short to disturb other programs.
constexpr int looks_before_sleep = 1500;
/// Number of looks at the other threads' work before the processor is offered to them: one of them may wait for it.
constexpr int looks_before_yield = 4000;

void relax() {
#if defined(__x86_64__)
    _mm_pause();
#else
    asm volatile("yield");
#endif
}

}  // namespace

Parts parts_of(std::int64_t items, std::int64_t size) {
    return {static_cast<int>(std::max<std::int64_t>(1, (items + size - 1) / size)), size, items};
}

Parts cut(std::int64_t items, std::int64_t least, std::int64_t multiple) {
    const std::int64_t most = std::min<std::int64_t>(32, items / std::max<std::int64_t>({1, least, multiple}));
    Parts best{1, items, items};
    std::int64_t best_time = items;  // of two threads, in items
    for (std::int64_t count = std::max<std::int64_t>(2, most / 2); count <= most; ++count) {
        const std::int64_t even = (items + count - 1) / count;
        const std::int64_t size = (even + multiple - 1) / multiple * multiple;
        const std::int64_t parts = (items + size - 1) / size, time = (parts + 1) / 2 * size;
        if (time <= best_time) best = {static_cast<int>(parts), size, items};
        best_time = std::min(time, best_time);
    }
    return best;
}

bool Contention::is_high(Duration working, Duration waiting) {
    constexpr std::chrono::milliseconds long_enough{50};
    working_ += working;
    waiting_ += waiting;
    const Duration passed = working_ + waiting_;
    if (passed < long_enough) return false;
    const auto queued = time_in_queue();
    const bool waits_for_core = queued && queued_ && *queued - *queued_ > passed / 5;
    const bool waits_for_others = waiting_ > passed / 3;
    queued_ = queued;
    working_ = waiting_ = {};
    return waits_for_core || waits_for_others;
}

void ThreadPool::use(std::span<const int> cores) {
    if (std::ranges::equal(cores, cores_)) return;
    end_helpers();
    cores_.assign(cores.begin(), cores.end());
    run_on_fast_cores();
    if (cores.size() < 2) return;
    std::vector<int> of_helpers = cores_;
    if (const std::vector<int> own = own_cores(); own.size() == 1) std::erase(of_helpers, own.front());
    ranges_ = std::make_unique<Range[]>(cores.size());
    while (helpers_.size() + 1 < cores.size()) {
        const auto number = static_cast<int>(helpers_.size()) + 1;
        std::thread helper = start_thread("hpo-compute", [this, number, of_helpers] {
            run_on(of_helpers);
            help(number);
        });
        if (!helper.joinable()) break;
        helpers_.push_back(std::move(helper));
    }
}

void ThreadPool::end_helpers() {
    ends_ = true;
    ++called_;
    called_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
    ends_ = false;
}

void ThreadPool::share(int parts, Work work, void* what) {
    work_ = work;
    what_ = what;
    for (int thread = 0; thread < threads(); ++thread) {
        const auto bound = [&](int number) { return static_cast<int>(std::int64_t{parts} * number / threads()); };
        ranges_[static_cast<std::size_t>(thread)].next.store(bound(thread), std::memory_order_relaxed);
        ranges_[static_cast<std::size_t>(thread)].end = bound(thread + 1);
    }
    left_.store(0, std::memory_order_relaxed);
    joined_.store(1, std::memory_order_release);
    called_.fetch_add(1, std::memory_order_release);
    called_.notify_all();
    const Time begun = std::chrono::steady_clock::now();
    take_parts(0);
    const Time worked = std::chrono::steady_clock::now();
    const std::uint32_t joined = joined_.exchange(0, std::memory_order_acq_rel) / 2;
    for (int looks = 0; left_.load(std::memory_order_acquire) != joined; ++looks) {
        if (looks < looks_before_yield)
            relax();
        else
            sched_yield();
    }
    const Time ended = std::chrono::steady_clock::now();
    if (contention_.is_high(worked - begun, ended - worked)) rests_until_ = ended + std::chrono::seconds(1);
}

void ThreadPool::take_parts(int thread) {
    for (int i = 0; i < threads(); ++i) {
        Range& range = ranges_[static_cast<std::size_t>((thread + i) % threads())];
        for (int part = range.next.fetch_add(1, std::memory_order_relaxed); part < range.end;
             part = range.next.fetch_add(1, std::memory_order_relaxed))
            work_(what_, part);
    }
}

void ThreadPool::help(int thread) {
    // The work of the first call may have begun before this thread ran.
    for (std::uint32_t seen = 0; !ends_;) {
        for (std::uint32_t state = joined_.load(std::memory_order_acquire); state & 1U;) {
            if (!joined_.compare_exchange_weak(state, state + 2, std::memory_order_acq_rel)) continue;
            take_parts(thread);
            left_.fetch_add(1, std::memory_order_release);
            break;
        }
        std::uint32_t now = called_.load(std::memory_order_acquire);
        for (int looks = 0; now == seen && looks < looks_before_sleep; ++looks) {
            relax();
            now = called_.load(std::memory_order_acquire);
        }
        if (now == seen) called_.wait(seen, std::memory_order_acquire);
        seen = called_.load(std::memory_order_acquire);
    }
}

}  // namespace hpo
