#include "orchestrator/script/metrics_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hpo/descriptor.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::size_t compared_bytes = 4096;  ///< at both ends of the part that has been read

/// Returns the kind of a file that is not regular, or an empty text.
std::string other_kind(const struct stat& info) {
    if (S_ISREG(info.st_mode)) return {};
    return S_ISDIR(info.st_mode)    ? "it is a directory"
           : S_ISFIFO(info.st_mode) ? "it is a pipe, and hpo reads files only"
                                    : "it is no regular file";
}

bool contains_at(int file, const std::string& text, std::int64_t at) {
    std::string found(text.size(), '\0');
    return ::pread(file, found.data(), found.size(), at) == static_cast<ssize_t>(text.size()) && found == text;
}

}  // namespace

MetricsFile::MetricsFile(std::string path, const std::string& objective, std::int64_t epochs)
    : path_(std::move(path)), metrics_(objective, epochs) {
    read([] { return false; }, [](const Metrics&, std::string_view) {});
    metrics_.forget();
}

/// Returns true if the file still begins with the part that has been read.
bool MetricsFile::continues(int file) const {
    return contains_at(file, begin_, 0) && contains_at(file, end_, offset_ - static_cast<std::int64_t>(end_.size()));
}

bool MetricsFile::read(const std::function<bool()>& enough, const FileMetrics::Record& record) {
    // A pipe is not opened: that alone would let its writer go on.
    struct stat info {};
    const auto failed = [&] {
        unreadable_ =
            errno == ENOENT ? "there is no such file" : std::string("it cannot be read: ") + std::strerror(errno);
        return false;
    };
    if (::stat(path_.c_str(), &info) != 0) return failed();
    unreadable_ = other_kind(info);
    if (!unreadable_.empty()) return false;
    const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file || ::fstat(file.get(), &info) != 0) return failed();
    unreadable_ = other_kind(info);
    if (!unreadable_.empty()) return false;
    if (!continues(file.get())) {
        metrics_.restart();
        offset_ = 0;
        begin_.clear();
        end_.clear();
    }
    char buffer[piece_bytes];
    bool any = false;
    while (!enough()) {
        const ssize_t size = ::pread(file.get(), buffer, sizeof buffer, offset_);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) failed();
        if (size <= 0) break;
        const std::string_view piece(buffer, static_cast<std::size_t>(size));
        any = true;
        offset_ += size;
        begin_ += piece.substr(0, compared_bytes - std::min(compared_bytes, begin_.size()));
        end_ += piece;
        if (end_.size() > compared_bytes) end_.erase(0, end_.size() - compared_bytes);
        metrics_.feed(piece, record);
    }
    return any;
}

std::string MetricsFile::problem() const {
    if (!unreadable_.empty()) return unreadable_;
    const std::string& problem = metrics_.problem();
    return problem.empty() || problem.starts_with("it") ? problem : "it " + problem;
}

}  // namespace hpo::script
