// Synchronises written data with the disk on a thread of its own. Only callers of wait() block, and one synchronisation
// covers all data written before it began.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hpo/result.hpp"

namespace hpo {

/// Thread-safe. The writer counts its writes, from 1 on. After a failed synchronisation the state of the disk is
/// unknown, so that the Error is permanent.
class DiskSync {
   public:
    /// `synchronise` is called on the thread, which the first request starts. When it returns, all data written before
    /// its call is on the disk. `tidy` is called on the thread after each synchronisation, once all who wait for it
    /// know.
    explicit DiskSync(std::function<Result<void>()> synchronise, std::function<void()> tidy = {})
        : synchronise_(std::move(synchronise)), tidy_(std::move(tidy)) {}
    /// Waits for the running synchronisation. Synchronises once more if request_soon() asked for it, and drops later
    /// counts.
    ~DiskSync();
    DiskSync(const DiskSync&) = delete;
    DiskSync& operator=(const DiskSync&) = delete;

    /// Requests that the first `count` writes reach the disk, within about 10 ms. Returns at once; if the system has no
    /// thread left, synchronises first.
    void request(std::int64_t count);
    /// Requests that all that was written so far reaches the disk within about 250 ms, so that writes many times a
    /// second share a synchronisation. Counts no write. Returns at once.
    void request_soon();
    /// Returns the number of writes known to be on the disk. Fails permanently after a failed synchronisation.
    [[nodiscard]] Result<std::int64_t> reached() const;
    /// Requests the first `count` writes, and returns when they are on the disk.
    Result<void> wait(std::int64_t count);
    /// Requests the first `count` writes and all that request_soon() asked for, and returns when they are on the disk.
    Result<void> settle(std::int64_t count);
    /// Calls `listener` on the thread after each synchronisation, also after a failed one. The previous listener is not
    /// called after this returns. It must not call this object. Empty: no calls.
    void listen(std::function<void()> listener);

   private:
    void work();
    void synchronise(std::unique_lock<std::mutex>& lock);

    std::function<Result<void>()> synchronise_;
    std::function<void()> tidy_;
    mutable std::mutex mutex_;  ///< guards all members below
    std::condition_variable changed_;
    std::int64_t requested_ = 0;
    std::int64_t reached_ = 0;
    std::optional<std::chrono::steady_clock::time_point> soon_;  ///< when a synchronisation begins at the latest
    bool running_ = false;                                       ///< a synchronisation
    int waiting_ = 0;                                            ///< threads
    std::optional<Error> failed_;
    std::function<void()> listener_;
    bool ends_ = false;
    std::thread thread_;
};

/// Returns the argument of the constructor for the write-ahead log `file` of a database that this process has open in
/// SQLite. Opens the log now, so that a renamed folder does not matter. Closing it releases none of SQLite's locks,
/// which are on other files.
Result<std::function<Result<void>()>> synchronise_log(const std::string& file);

}  // namespace hpo
