#include "orchestrator/script/ranks.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <charconv>

#include "hpo/signal_name.hpp"
#include "orchestrator/script/syntax/rank_prefix.hpp"

namespace hpo::script {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t longest_line = 3 * 1024;
constexpr string_view line_begin = "hpo: rank ", line_end = ", and the other ranks were ended";

/// Returns the rank of which a line is: 0 if it has no label.
std::size_t rank_of(string_view line) {
    const auto prefix = rank_prefix(line);
    return prefix ? static_cast<std::size_t>(prefix->rank) : 0;
}

std::optional<std::size_t> told_rank(string_view line) {
    if (!line.starts_with(line_begin) || !line.ends_with(line_end)) return {};
    std::size_t rank = 0;
    const auto [end, error] = std::from_chars(line.data() + line_begin.size(), line.data() + line.size(), rank);
    return error == std::errc() && *end == ' ' ? std::optional(rank) : std::nullopt;
}

class ReaderOfRank0 final : public LineReader {
   public:
    ReaderOfRank0(std::unique_ptr<LineReader> reader, bool labels) : reader_(std::move(reader)), labels_(labels) {}
    void read(string_view line, Reading& reading) override {
        const bool other = rank_of(line) > 0;
        if (told_rank(line) || (other && !labels_)) return;
        reader_->read(line, reading);
        if (other)
            for (NamedNumber& metric : reading.metrics) metric.bare = metric.name;
    }
    string warning() override { return reader_->warning(); }

   private:
    std::unique_ptr<LineReader> reader_;
    bool labels_;
};

}  // namespace

std::vector<string> rank_variables(std::size_t rank, std::size_t count, std::uint16_t port) {
    const string own = std::to_string(rank), all = std::to_string(count);
    return {"RANK=" + own,           "LOCAL_RANK=" + own,
            "WORLD_SIZE=" + all,     "LOCAL_WORLD_SIZE=" + all,
            "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port)};
}

bool RankEnds::ended(std::size_t rank, int status) {
    --left_;
    if (status == 0 || failure_) return false;
    failure_ = Failure{rank, status};
    return true;
}

string LabelledLines::feed(string_view bytes) {
    string lines;
    for (const char c : bytes) {
        if (c == '\n') {
            end_line(lines);
            continue;
        }
        if (returned_ && c != '\r') line_.clear();
        returned_ = c == '\r';
        if (!returned_) line_ += c;
        if (line_.size() >= longest_line) end_line(lines);
    }
    return lines;
}

string LabelledLines::rest() {
    string lines;
    if (!line_.empty()) end_line(lines);
    return lines;
}

void LabelledLines::end_line(string& lines) {
    lines += label_ + line_ + '\n';
    line_.clear();
    returned_ = false;
}

string failure_line(const RankEnds::Failure& failure) {
    const int status = failure.status;
    return string(line_begin) + std::to_string(failure.rank) +
           (WIFSIGNALED(status) ? " died of " + signal_name(WTERMSIG(status))
                                : " exited with status " + std::to_string(WEXITSTATUS(status))) +
           string(line_end);
}

std::unique_ptr<LineReader> reader_of_rank_0(std::unique_ptr<LineReader> reader, bool labels) {
    return std::make_unique<ReaderOfRank0>(std::move(reader), labels);
}

std::optional<FailedRank> failed_rank(string_view output) {
    std::vector<string_view> lines;
    for (string_view rest = output; !rest.empty();) {
        const auto end = std::min(rest.find('\n'), rest.size());
        lines.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto last = std::find_if(lines.rbegin(), lines.rend(), [](string_view line) { return told_rank(line); });
    if (last == lines.rend()) return {};
    FailedRank failed{*told_rank(*last), {}};
    for (auto line = lines.begin(); line != last.base() - 1; ++line) {
        if (rank_of(*line) != failed.rank) continue;
        const auto prefix = rank_prefix(*line);
        string_view own = line->substr(prefix ? prefix->size : 0);
        if (prefix && own.starts_with(' ')) own.remove_prefix(1);
        failed.output += string(own) + '\n';
    }
    return failed;
}

}  // namespace hpo::script
