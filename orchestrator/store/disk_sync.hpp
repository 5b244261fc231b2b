// Brings what was written to the disk, in a thread of its own: nobody waits for a disk who does not have to, and one
// synchronisation does for all that was written before it began.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "hpo/result.hpp"

namespace hpo {

/// Thread-safe. What was written is counted by whoever writes, from 1 on. Once a synchronisation has failed, nobody
/// knows what the disk has of what was written since the one before: that stays an Error.
class DiskSync {
   public:
    /// `synchronise` is called in the thread, which the first request starts: when it returns, all that was written
    /// before it was called is on the disk.
    explicit DiskSync(std::function<Result<void>()> synchronise) : synchronise_(std::move(synchronise)) {}
    /// Waits for the synchronisation that runs; what was requested since is given up.
    ~DiskSync();
    DiskSync(const DiskSync&) = delete;
    DiskSync& operator=(const DiskSync&) = delete;

    /// Everything up to `count` is written, and is to be brought to the disk within about 10 ms. Returns at once, or
    /// when it is on the disk if the system has no thread left.
    void request(std::int64_t count);
    /// How much is on the disk; 0: nothing that is known of.
    [[nodiscard]] Result<std::int64_t> reached() const;
    /// Requests it at once, and returns when it is on the disk.
    Result<void> wait(std::int64_t count);
    /// `listener` is called in the thread after each synchronisation, also one that fails; when this returns, the one
    /// before is no longer called. It must call nothing of this object. Empty: nobody.
    void listen(std::function<void()> listener);

   private:
    void work();
    void synchronise(std::unique_lock<std::mutex>& lock);

    std::function<Result<void>()> synchronise_;
    mutable std::mutex mutex_;  ///< over all that follows but the thread
    std::condition_variable changed_;
    std::int64_t requested_ = 0;
    std::int64_t reached_ = 0;
    int waiting_ = 0;  ///< threads
    std::optional<Error> failed_;
    std::function<void()> listener_;
    bool ends_ = false;
    std::thread thread_;
};

/// For the constructor: the write-ahead log `file` of a database that this process has open in SQLite. It is opened
/// now, so that it is the same one however its folder is called later; that it is closed again releases no lock of
/// SQLite's, which lie on other files.
Result<std::function<Result<void>()>> synchronise_log(const std::string& file);

}  // namespace hpo
