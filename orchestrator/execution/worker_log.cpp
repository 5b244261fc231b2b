#include "orchestrator/execution/worker_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "hpo/printable.hpp"

namespace hpo {
namespace {

constexpr std::size_t recent_bytes = 8 * 1024;
constexpr int tail_lines = 20;

}  // namespace

void WorkerLog::open(std::filesystem::path file) {
    file_.reset();
    recent_.clear();
    size_ = 0;
    path_ = std::move(file);
}

void WorkerLog::create() {
    const auto path = std::exchange(path_, {});
    // Devices, pipes and links are refused: opening or writing one could block, or alter another file.
    file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666));
    struct stat info {};
    if (!file_ || ::fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) return file_.reset();
    size_ = info.st_size;
    if (size_ >= cap_) return file_.reset();
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
    if (!file_) return;
    const bool last = size_ + static_cast<std::int64_t>(bytes.size()) > cap_;
    std::string cut;
    if (last) {
        cut = bytes.substr(0, static_cast<std::size_t>(cap_ - size_));
        cut += "\n[the log is full at " + std::to_string(cap_) + " bytes; the rest was dropped]\n";
        bytes = cut;
    }
    size_ += static_cast<std::int64_t>(bytes.size());
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return file_.reset();  // disk full: the log ends here, the trial goes on
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (last) file_.reset();
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
