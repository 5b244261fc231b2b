#include "worker/training/batch_loader.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "hpo/text.hpp"
#include "hpo/threads.hpp"

namespace hpo {

BatchLoader::BatchLoader(int threads, std::int64_t ahead, std::size_t bytes) : slots_(static_cast<std::size_t>(ahead)) {
    for (Slot& slot : slots_) slot.bytes.resize(bytes);
    for (int i = 0; i < threads; ++i)
        if (std::thread thread = start_thread("hpo-batches", [this] { load(); }); thread.joinable())
            threads_.push_back(std::move(thread));
}

BatchLoader::~BatchLoader() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void BatchLoader::begin(Fill fill, std::int64_t count) {
    std::unique_lock lock(mutex_);
    count_ = 0;
    changed_.wait(lock, [&] { return busy_ == 0; });
    for (Slot& slot : slots_) slot.loaded = false, slot.error = nullptr;
    fill_ = std::move(fill);
    count_ = count;
    begun_ = taken_ = 0;
    changed_.notify_all();
}

void BatchLoader::next(std::span<std::byte> to) {
    if (threads_.empty()) {
        std::vector<std::byte>& bytes = slots_.front().bytes;
        fill_(taken_++, bytes);
        std::memcpy(to.data(), bytes.data(), std::min(to.size(), bytes.size()));
        return;
    }
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(taken_);
    changed_.wait(lock, [&] { return slot.loaded; });
    const std::exception_ptr error = std::exchange(slot.error, nullptr);
    lock.unlock();
    if (!error) std::memcpy(to.data(), slot.bytes.data(), std::min(to.size(), slot.bytes.size()));
    lock.lock();
    slot.loaded = false;
    ++taken_;
    changed_.notify_all();
    if (error) std::rethrow_exception(error);
}

void BatchLoader::load() {
    std::unique_lock lock(mutex_);
    const auto can_load = [&] { return begun_ < count_ && begun_ < taken_ + static_cast<std::int64_t>(slots_.size()); };
    for (;;) {
        changed_.wait(lock, [&] { return ends_ || can_load(); });
        if (ends_) return;
        const std::int64_t number = begun_++;
        Slot& slot = slot_of(number);
        ++busy_;
        lock.unlock();
        std::exception_ptr error;
        try {
            fill_(number, slot.bytes);
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        slot.error = error;
        slot.loaded = true;
        --busy_;
        changed_.notify_all();
    }
}

namespace {

std::string milliseconds(double seconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3g ms", 1000 * seconds);
    return text;
}

}  // namespace

LoadingChoice choose_loading(const LoadingWish& wish, const LoadingTimes& times) {
    constexpr double worth_a_thread = 0.05, overlaps_anyway = 0.5;
    constexpr int most_threads = 8;
    constexpr int batches_for_each = 2;
    LoadingChoice choice;
    const bool automatic = wish.threads < 0;
    std::string why = "as configured";
    if (!automatic) {
        choice.threads = wish.threads;
    } else {
        const double saved = wish.on_host_cores ? times.waiting : times.loading;
        const double least = wish.on_host_cores ? worth_a_thread : overlaps_anyway;
        if (times.update > 0 && saved >= least * times.update) {
            // The rest is the time of the computation.
            const double rest = std::max(times.update - times.loading, times.update / (2 * most_threads));
            choice.threads = std::clamp(static_cast<int>(std::ceil(times.loading / rest)), 1, most_threads);
        }
        const auto updates = static_cast<double>(std::max<std::int64_t>(1, times.updates));
        why = "loading a batch took " + milliseconds(times.loading / updates) + " of an update's " +
              milliseconds(times.update / updates);
        if (wish.on_host_cores) why += ", waiting for the disk " + milliseconds(times.waiting / updates) + " of it";
    }
    if (wish.prefetch == 0) choice.threads = 0;
    if (choice.threads > 0)
        choice.ahead = wish.prefetch > 0 ? wish.prefetch
                                         : std::min<std::int64_t>(batches_for_each * choice.threads, wish.most_ahead);
    choice.text = std::string("loading: ") + (automatic ? "auto: " : "") +
                  (choice.threads == 0 ? "no threads, each batch when it is used"
                                       : counted(choice.threads, "thread") + ", up to " +
                                             counted(choice.ahead, "batch", "batches") + " ahead") +
                  "; " + why;
    return choice;
}

std::int64_t most_batches_ahead(int threads, int prefetch, std::int64_t batch_bytes) {
    constexpr std::int64_t most_bytes = std::int64_t{1} << 26, most = 16;
    if (threads == 0 || prefetch == 0) return 0;
    if (prefetch > 0) return prefetch;
    if (threads > 0) return 2 * threads;
    return std::clamp(most_bytes / std::max<std::int64_t>(1, batch_bytes), std::int64_t{1}, most);
}

std::optional<double> seconds_ready() {
    // "ON_A_CORE WAITED_FOR_ONE SLICES", nanoseconds. The first is as of the last tick only.
    char text[96];
    const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    const auto size = ::read(file, text, sizeof text - 1);
    ::close(file);
    long long on_core = 0, waited = 0;
    text[std::max<std::ptrdiff_t>(size, 0)] = 0;
    timespec now{};
    if (std::sscanf(text, "%lld %lld", &on_core, &waited) != 2 || ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return std::nullopt;
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec + waited);
}

}  // namespace hpo
