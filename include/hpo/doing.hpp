// The activity that keeps the event loop's thread from its loop. SIGQUIT asks for it
// (orchestrator/execution/questions.hpp), and is answered even while the loop is kept.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

namespace hpo {

/// A text that lives as long as the program, "waits for a lock"; nullptr: nothing that may take long. Read by a signal
/// handler.
inline std::atomic<const char*> doing_now{nullptr};
/// The begin of that activity, in milliseconds of CLOCK_MONOTONIC.
inline std::atomic<std::int64_t> doing_since{0};
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

/// Milliseconds of CLOCK_MONOTONIC. A signal handler may call it.
inline std::int64_t monotonic_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

/// Names the activity of the calling thread, which is the loop's, until the end of the scope. Then the one before
/// counts again.
class Doing {
   public:
    explicit Doing(const char* what, std::int64_t since = monotonic_ms()) : before_since_(doing_since.exchange(since)) {
        before_ = doing_now.exchange(what);
    }
    ~Doing() {
        doing_now = before_;
        doing_since = before_since_;
    }
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    const char* before_ = nullptr;
    std::int64_t before_since_;
};

}  // namespace hpo
