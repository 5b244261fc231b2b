#include "orchestrator/store/lock_owner.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "hpo/printable.hpp"

namespace hpo {
namespace {

std::string read_proc(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string describe_process(std::int64_t pid) {
    constexpr std::size_t most = 120;
    const std::string folder = "/proc/" + std::to_string(pid);
    std::string command = read_proc(folder + "/cmdline");
    while (!command.empty() && command.back() == '\0') command.pop_back();
    for (char& c : command)
        if (c == '\0') c = ' ';
    if (command.size() > most) command = command.substr(0, most) + "...";
    std::string text = "process " + std::to_string(pid);
    struct stat info {};
    if (::stat(folder.c_str(), &info) == 0) {
        const passwd* user = ::getpwuid(info.st_uid);
        text += " of " + (user ? std::string(user->pw_name) : "user " + std::to_string(info.st_uid));
    }
    return text + (command.empty() ? "" : " (" + printable_line(command) + ")");
}

/// Returns true if another process holds a lock on the bytes that conflicts with one of this kind.
bool conflicts(Descriptor& opened, const std::filesystem::path& file, short kind, off_t first, off_t count) {
    if (!opened) opened = Descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = first;
    lock.l_len = count;
    return opened && ::fcntl(opened.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace

std::vector<FileLock> locks_in(std::string_view proc_locks, std::uint64_t inode) {
    std::vector<FileLock> locks;
    std::istringstream lines{std::string(proc_locks)};
    for (std::string line; std::getline(lines, line);) {
        // Format: "3: POSIX ADVISORY READ 1234 08:01:5678 120 120". A waiting lock has "->" after its number.
        std::istringstream words(line);
        std::string number, kind, manner, access, place, end;
        FileLock lock;
        if (!(words >> number >> kind >> manner >> access >> lock.pid >> place >> lock.first >> end)) continue;
        if (kind != "POSIX" && kind != "OFDLCK") continue;
        if (place.substr(place.rfind(':') + 1) != std::to_string(inode)) continue;
        lock.pid = std::max(lock.pid, std::int64_t{0});
        lock.exclusive = access == "WRITE";
        lock.last = end == "EOF" ? INT64_MAX : std::stoll(end);
        locks.push_back(lock);
    }
    return locks;
}

std::vector<FileLock> locks_on(const std::filesystem::path& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) return {};
    return locks_in(read_proc("/proc/locks"), info.st_ino);
}

/// The writer waits for byte 120 of the shared memory (https://www.sqlite.org/walformat.html, section 2.3.1), for 122
/// while the log is recovered, and for a process that has the database exclusively.
std::string lockers_of(const std::filesystem::path& database) {
    std::set<std::int64_t> found;
    bool unknown = false;
    const auto take = [&](const FileLock& lock) {
        if (lock.pid == ::getpid()) return;
        lock.pid == 0 ? void(unknown = true) : void(found.insert(lock.pid));
    };
    for (const FileLock& lock : locks_on(database.string() + "-shm"))
        if ((lock.first <= 122 && lock.last >= 120) || (lock.exclusive && lock.last >= 123)) take(lock);
    for (const FileLock& lock : locks_on(database))
        if (lock.exclusive) take(lock);
    std::string text;
    for (const std::int64_t pid : found) text += (text.empty() ? "" : ", ") + describe_process(pid);
    if (text.empty() && unknown) text = "a process that is not seen from here (another container's)";
    return text;
}

bool LockQuestion::held() { return !lockers_of(database_).empty() || kernel_knows_holder(); }

bool LockQuestion::kernel_knows_holder() {
    return conflicts(memory_, database_.string() + "-shm", F_WRLCK, 120, 3) ||
           conflicts(file_, database_, F_RDLCK, 0, 0);
}

}  // namespace hpo
