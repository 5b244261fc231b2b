#include "orchestrator/store/disk_sync.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "hpo/descriptor.hpp"
#include "hpo/doing.hpp"
#include "hpo/threads.hpp"
#include "os/files.hpp"

namespace hpo {

namespace {

/// The shortest time between the starts of two synchronisations unless a caller waits, so that trials that end every
/// millisecond do not keep the disk and a core busy.
constexpr std::chrono::milliseconds pause{10};
/// The longest delay of a synchronisation that request_soon() has asked for.
constexpr std::chrono::milliseconds lazy_pause{250};

}  // namespace

DiskSync::~DiskSync() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void DiskSync::request(std::int64_t count) {
    std::unique_lock lock(mutex_);
    if (count <= requested_) return;
    requested_ = count;
    changed_.notify_all();
    if (!thread_.joinable()) thread_ = start_thread("hpo-disk", [this] { work(); });
    if (!thread_.joinable() && !failed_) synchronise(lock);
}

void DiskSync::request_soon() {
    std::unique_lock lock(mutex_);
    if (soon_) return;
    soon_ = std::chrono::steady_clock::now() + lazy_pause;
    changed_.notify_all();
    if (!thread_.joinable()) thread_ = start_thread("hpo-disk", [this] { work(); });
    if (!thread_.joinable() && !failed_) synchronise(lock);
}

Result<std::int64_t> DiskSync::reached() const {
    const std::lock_guard lock(mutex_);
    if (failed_) return *failed_;
    return reached_;
}

Result<void> DiskSync::wait(std::int64_t count) {
    const Doing waiting("waits for the disk, to which results are written");
    request(count);
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return failed_ || reached_ >= count; });
    --waiting_;
    if (failed_) return *failed_;
    return {};
}

Result<void> DiskSync::settle(std::int64_t count) {
    const Doing waiting("waits for the disk, to which results are written");
    request(count);
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return failed_ || (reached_ >= count && !soon_ && !running_); });
    --waiting_;
    if (failed_) return *failed_;
    return {};
}

void DiskSync::listen(std::function<void()> listener) {
    const std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
}

void DiskSync::work() {
    std::unique_lock lock(mutex_);
    std::chrono::steady_clock::time_point next;
    for (;;) {
        const auto counted = [this] { return requested_ > reached_ && !failed_; };
        changed_.wait(lock, [&] { return ends_ || counted() || (soon_ && !failed_); });
        if (!ends_ && !counted()) changed_.wait_until(lock, *soon_, [&] { return ends_ || waiting_ > 0 || counted(); });
        if (!ends_) changed_.wait_until(lock, next, [this] { return ends_ || waiting_ > 0; });
        if (ends_) break;
        next = std::chrono::steady_clock::now() + pause;
        synchronise(lock);
        if (!tidy_ || failed_) continue;
        lock.unlock();
        tidy_();
        lock.lock();
    }
    if (soon_ && !failed_) synchronise(lock);
}

/// Releases the lock while the disk works.
void DiskSync::synchronise(std::unique_lock<std::mutex>& lock) {
    const std::int64_t written = requested_;  // later requests are for the next synchronisation
    soon_.reset();
    running_ = true;
    lock.unlock();
    const auto done = synchronise_();
    lock.lock();
    running_ = false;
    if (done)
        reached_ = std::max(reached_, written);
    else
        failed_ = done.error();
    if (listener_) listener_();
    changed_.notify_all();
}

Result<std::function<Result<void>()>> synchronise_log(const std::string& file) {
    const auto failed = [file](int code) {
        return Error{file + ": cannot be brought to the disk: " + std::strerror(code) +
                     (code == ENOSPC || code == EDQUOT ? ": free some space, then run again" : "")};
    };
    const auto log = std::make_shared<Descriptor>(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!*log) return failed(errno);
    return std::function<Result<void>()>([log, failed]() -> Result<void> {
        while (os::make_durable(log->get()) != 0)
            if (errno != EINTR) return failed(errno);
        return {};
    });
}

}  // namespace hpo
