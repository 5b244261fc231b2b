#include "orchestrator/store/result_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include "hpo/text.hpp"
#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

std::string line_of(const StoredEnd& end) {
    std::ostringstream text;
    text.precision(17);
    text << end.sequence << ' ' << end.trial << ' ' << static_cast<int>(end.state) << ' ' << end.sum << ' ';
    end.value ? text << *end.value : text << '-';
    const std::string body = text.str();
    return body + ' ' + std::to_string(row_sum(end.sequence, body)) + '\n';
}

std::optional<StoredEnd> end_of(const std::string& line) {
    StoredEnd end;
    int state = 0;
    std::string value;
    std::uint32_t sum = 0;
    std::istringstream words(line);
    if (!(words >> end.sequence >> end.trial >> state >> end.sum >> value >> sum)) return std::nullopt;
    if (row_sum(end.sequence, std::string_view(line).substr(0, line.rfind(' '))) != sum) return std::nullopt;
    if (state < 0 || state >= static_cast<int>(trial_state_names.size())) return std::nullopt;
    end.state = static_cast<TrialState>(state);
    if (value != "-") end.value = std::strtod(value.c_str(), nullptr);
    return end;
}

/// Calls `take(begin, result)` for each valid line, with the offset of its start, from the last to the first, until it
/// returns false.
template <class Take>
void each_from_the_end(const std::string& text, Take&& take) {
    for (std::size_t end = text.rfind('\n'); end != std::string::npos && end > 0;) {
        const std::size_t before = text.rfind('\n', end - 1);
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        const auto found = end_of(text.substr(begin, end - begin));
        if (found && !take(begin, *found)) return;
        end = before;
    }
}

/// Returns the text of a regular file; empty if there is none.
std::string content_of(const fs::path& file) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return {};
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string lines_of(std::span<const StoredEnd> ends) {
    std::string lines;
    for (const StoredEnd& end : ends) lines += line_of(end);
    return lines;
}

}  // namespace

ResultLog::~ResultLog() {
    std::error_code ignored;
    if (out_ && !fs::exists(database_.string() + "-wal", ignored)) fs::remove(file(), ignored);
}

std::vector<StoredEnd> ResultLog::missing(const std::function<bool(const StoredEnd&)>& held) const {
    std::vector<StoredEnd> ends;
    each_from_the_end(content_of(file()), [&](std::size_t, const StoredEnd& end) {
        if (held(end)) return false;
        ends.push_back(end);
        return true;
    });
    std::reverse(ends.begin(), ends.end());
    return ends;
}

Result<void> ResultLog::open(std::span<const StoredEnd> missing) {
    if (!missing.empty()) {
        const std::string text = content_of(file());
        std::size_t left = missing.size(), whole = 0;
        each_from_the_end(text, [&](std::size_t begin, const StoredEnd&) {
            whole = begin;
            return --left > 0;
        });
        if (auto replaced = replace_file(file(), text.substr(0, whole)); !replaced) return replaced;
    }
    out_ =
        Descriptor(::open(file().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    struct stat info {};
    if (!out_ || ::fstat(out_.get(), &info) != 0) return Error{file().string() + ": " + std::strerror(errno)};
    if (!S_ISREG(info.st_mode)) return Error{file().string() + ": is no regular file: remove it"};
    // A line that a kill has cut short must not spoil the next one.
    if (info.st_size > 0) acknowledge("\n");
    return {};
}

void ResultLog::add(std::span<const StoredEnd> ends) {
    if (ends.empty()) return;
    const std::lock_guard lock(mutex_);
    waiting_ += lines_of(ends);
}

std::string ResultLog::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
}

void ResultLog::acknowledge(const std::string& lines) {
    std::string_view rest = lines;
    while (!rest.empty()) {
        const ssize_t written = ::write(out_.get(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

void remove_result_log(const fs::path& database) {
    std::error_code ignored;
    fs::remove(database.string() + "-results", ignored);
}

std::string text_of(std::span<const StoredEnd> stored) {
    constexpr std::size_t most = 20;
    std::map<std::int64_t, StoredEnd> last;  // an end may be stored again with its reason
    for (const StoredEnd& end : stored) last.insert_or_assign(end.trial, end);
    std::vector<StoredEnd> ends;
    for (const auto& [trial, end] : last) ends.push_back(end);
    std::string text;
    for (std::size_t i = 0; i < ends.size() && i < most; ++i) {
        const StoredEnd& end = ends[i];
        text += (i == 0 ? "trial " : ", trial ") + std::to_string(end.trial) + " (" + std::string(to_text(end.state)) +
                (end.value ? ", " + short_number(*end.value) : "") + ")";
    }
    for (std::size_t from = most, to = most; from < ends.size(); from = to) {
        while (++to < ends.size() && ends[to].trial == ends[to - 1].trial + 1) {
        }
        text += (to - from == 1 ? ", trial " : ", trials ") + std::to_string(ends[from].trial) +
                (to - from == 1 ? "" : " to " + std::to_string(ends[to - 1].trial));
    }
    return text;
}

}  // namespace hpo
