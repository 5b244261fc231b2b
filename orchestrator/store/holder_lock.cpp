#include "orchestrator/store/holder_lock.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "orchestrator/store/file_lock.hpp"
#include "orchestrator/store/file_system.hpp"
#include "orchestrator/store/lock_owner.hpp"

namespace hpo {
namespace {

using Json = nlohmann::json;

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

/// Returns true if `path` still names the open file. A lock on a deleted file would be invisible to others.
bool same_file(int fd, const std::filesystem::path& path) {
    struct stat open {
    }, named{};
    return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
           open.st_dev == named.st_dev;
}

std::optional<Holder> read_holder(int fd) {
    char buffer[1024];
    const auto size = ::pread(fd, buffer, sizeof buffer, 0);
    if (size <= 0) return std::nullopt;
    const Json json = Json::parse(buffer, buffer + size, nullptr, false);
    try {
        return Holder{json.at("pid").get<std::int64_t>(), json.at("host").get<std::string>(),
                      json.value("socket", std::string())};
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

Result<void> write_holder(int fd, const Holder& holder, const std::filesystem::path& path) {
    const std::string text = Json{{"pid", holder.pid}, {"host", holder.host}, {"socket", holder.socket}}.dump(
                                 -1, ' ', false, Json::error_handler_t::replace) +
                             '\n';
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return Error{path.string() + ": cannot be written: " + std::strerror(errno)};
    return {};
}

bool is_living(const std::optional<Holder>& holder) {
    return holder && (holder->host != host_name() || ::kill(static_cast<pid_t>(holder->pid), 0) == 0 || errno == EPERM);
}

/// The file of a lock that was just taken may not name its holder yet, or still name the previous one.
std::optional<Holder> read_living_holder(int fd) {
    using namespace std::chrono;
    const auto deadline = steady_clock::now() + milliseconds(300);
    for (;;) {
        auto holder = read_holder(fd);
        if (is_living(holder) || steady_clock::now() > deadline) return holder;
        std::this_thread::sleep_for(milliseconds(5));
    }
}

/// Takes the lock, also of a holder that has just been killed: a process that it was about to start has the lock, too,
/// until it executes its program. Sets errno on failure.
bool take_from_the_living(int fd) {
    using namespace std::chrono;
    const auto deadline = steady_clock::now() + seconds(5);
    for (;;) {
        if (lock_file(fd)) return true;
        const int reason = errno;
        const bool is_held = reason == EAGAIN || reason == EACCES;
        if (!is_held || is_living(read_holder(fd)) || steady_clock::now() > deadline) return errno = reason, false;
        std::this_thread::sleep_for(milliseconds(5));
    }
}

}  // namespace

Result<HolderLock> HolderLock::take(const StudyFolder& study) {
    const auto path = study.lock();
    for (;;) {
        const mode_t mode = mode_of_locked_files(study.path);
        HolderLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode), path);
        if (lock.fd_ < 0 && errno == ELOOP)
            return Error{path.string() + ": a symbolic link, which is not followed: remove it"};
        if (lock.fd_ < 0) return Error{path.string() + ": cannot be opened: " + std::strerror(errno)};
        struct stat info {};
        if (::fstat(lock.fd_, &info) == 0 && (info.st_mode & 0777) != mode) (void)::fchmod(lock.fd_, mode);
        if (!take_from_the_living(lock.fd_)) {
            if (errno != EAGAIN && errno != EACCES)
                return Error{path.string() + ": cannot be locked: " + std::strerror(errno)};
            const auto holder = read_living_holder(lock.fd_);
            const std::string who =
                holder ? "process " + std::to_string(holder->pid) + " on " + holder->host : "another process";
            return Error{"study " + study.name() + " is already being run by " + who + " (" + path.string() + ")"};
        }
        if (!same_file(lock.fd_, path)) continue;
        if (auto written = write_holder(lock.fd_, {::getpid(), host_name(), ""}, path); !written)
            return written.error();
        return lock;
    }
}

Result<void> HolderLock::publish(const std::string& socket) {
    return write_holder(fd_, {::getpid(), host_name(), socket}, path_);
}

bool HolderLock::in_place() const { return same_file(fd_, path_); }

HolderLock::HolderLock(HolderLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
HolderLock& HolderLock::operator=(HolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
}
HolderLock::~HolderLock() {
    if (fd_ >= 0) ::close(fd_);
}

std::optional<Holder> holder_of(const StudyFolder& study) {
    const int fd = ::open(study.lock().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && !locks_on(study.lock()).empty()) return Holder{0, "unknown", ""};
    if (fd < 0) return std::nullopt;
    std::optional<Holder> holder;
    if (is_file_locked(fd)) {
        holder = read_living_holder(fd);
        if (!holder) holder = Holder{0, "unknown", ""};
    }
    ::close(fd);
    return holder;
}

}  // namespace hpo
