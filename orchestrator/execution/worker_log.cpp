#include "orchestrator/execution/worker_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <utility>

#include "hpo/printable.hpp"

namespace hpo {
namespace {

constexpr std::size_t recent_bytes = 8 * 1024;
constexpr int tail_lines = 20;
constexpr std::string_view gap_begin = "\n[", gap_end = " bytes of output were left out here]\n";
constexpr std::size_t gap_digits = 15;

/// Returns the file's bytes from `place` on, at most `size`; fewer at its end, or if it cannot be read.
std::string read_at(int file, std::int64_t place, std::int64_t size) {
    std::string bytes(static_cast<std::size_t>(size), '\0');
    std::size_t read = 0;
    while (read < bytes.size()) {
        const ssize_t count = ::pread(file, bytes.data() + read, bytes.size() - read, place + static_cast<off_t>(read));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        read += static_cast<std::size_t>(count);
    }
    bytes.resize(read);
    return bytes;
}

/// Overwrites the file's bytes from `place` on.
bool write_at(int file, std::string_view bytes, std::int64_t place) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), place);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
        place += written;
    }
    return true;
}

}  // namespace

std::string log_gap::line(std::int64_t left_out) {
    const std::string count = std::to_string(left_out);
    std::string line(gap_begin);
    line.append(gap_digits - std::min(gap_digits, count.size()), ' ') += count;
    return line.append(gap_end);
}

std::int64_t log_gap::length() { return static_cast<std::int64_t>(gap_begin.size() + gap_digits + gap_end.size()); }

std::int64_t log_gap::left_out(int file, std::int64_t place) {
    const std::string found = read_at(file, place, length());
    const std::size_t digit = found.find_first_not_of(' ', gap_begin.size());
    std::int64_t count = 0;
    if (digit != std::string::npos) std::from_chars(found.data() + digit, found.data() + found.size(), count);
    return count > 0 && found == line(count) ? count : 0;
}

void WorkerLog::open(std::filesystem::path file) {
    file_.reset();
    recent_.clear();
    size_ = 0;
    path_ = std::move(file);
}

void WorkerLog::create() {
    const auto path = std::exchange(path_, {});
    // Devices, pipes and links are refused: opening or writing one could block, or alter another file.
    file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666));
    struct stat info {};
    if (!file_ || cap_ <= 0 || ::fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return file_.reset();
    size_ = info.st_size;
    if (size_ == 0) return;
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    char line[64];
    std::strftime(line, sizeof line, "[another attempt begins, %Y-%m-%d %H:%M:%S %z]\n", &parts);
    write(line);
}

void WorkerLog::append(std::string_view bytes) {
    write(bytes);
    if (bytes.size() > recent_bytes) bytes.remove_prefix(bytes.size() - recent_bytes);
    recent_.append(bytes);
    if (recent_.size() > 2 * recent_bytes) recent_.erase(0, recent_.size() - recent_bytes);
}

void WorkerLog::write(std::string_view bytes) {
    if (!path_.empty()) create();
    while (file_ && !bytes.empty()) {
        if (size_ >= most_bytes() && !make_room()) return file_.reset();
        const auto room = static_cast<std::size_t>(most_bytes() - size_);
        // On a full disk the log ends here, and the trial goes on.
        if (!write_all(bytes.substr(0, room))) return file_.reset();
        bytes.remove_prefix(std::min(room, bytes.size()));
    }
}

bool WorkerLog::write_all(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        size_ += written;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// Moves the end of the file, a quarter of the cap, to the gap behind its begin. The end is copied before the file is
/// cut, so that a kill in between loses nothing of it. Returns false if the file cannot be changed.
bool WorkerLog::make_room() {
    struct stat info {};
    if (::fstat(file_.get(), &info) != 0) return false;
    size_ = info.st_size;
    if (size_ < most_bytes()) return true;  // another program has cut it
    const std::int64_t gap = log_gap::place(cap_), end = gap + log_gap::length();
    const std::int64_t before = log_gap::left_out(file_.get(), gap);
    const std::int64_t first = before ? end : gap;  // byte behind the begin
    std::string kept = read_at(file_.get(), size_ - cap_ / 4, cap_ / 4);
    const auto newline = kept.find('\n');
    if (newline != std::string::npos && newline < kept.size() / 2) kept.erase(0, newline + 1);
    const std::int64_t left_out = before + size_ - first - static_cast<std::int64_t>(kept.size());
    // pwrite() of a file that is open for appending would append.
    const int flags = ::fcntl(file_.get(), F_GETFL);
    if (flags < 0 || ::fcntl(file_.get(), F_SETFL, flags & ~O_APPEND) != 0) return false;
    const bool moved = write_at(file_.get(), log_gap::line(left_out), gap) && write_at(file_.get(), kept, end);
    size_ = end + static_cast<std::int64_t>(kept.size());
    return moved && ::ftruncate(file_.get(), size_) == 0 && ::fcntl(file_.get(), F_SETFL, flags) == 0;
}

std::string WorkerLog::tail() const {
    std::string_view text = recent_;
    if (text.size() > recent_bytes) text.remove_prefix(text.size() - recent_bytes);
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::size_t begin = text.size();
    for (int lines = 0; lines < tail_lines && begin != 0; ++lines) {
        const auto newline = text.rfind('\n', begin - 1);
        begin = newline == std::string_view::npos ? 0 : newline;
        if (begin != 0 && lines + 1 == tail_lines) ++begin;
    }
    return printable(text.substr(begin), true);
}

}  // namespace hpo
