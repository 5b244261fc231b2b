#include "orchestrator/script/ranks.hpp"

#include <sys/wait.h>

#include "hpo/signal_name.hpp"
#include "orchestrator/script/syntax/rank_prefix.hpp"

namespace hpo::script {

namespace {

using std::string;
using std::string_view;

constexpr std::size_t longest_line = 16 * 1024;
constexpr std::size_t tail_bytes = 8 * 1024;

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

string RankLines::feed(string_view bytes) {
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

string RankLines::rest() {
    string lines;
    if (!line_.empty()) end_line(lines);
    return lines;
}

void RankLines::end_line(string& lines) {
    line_ += '\n';
    const auto own = rank_prefix(line_);
    if (!own || own->rank != static_cast<std::int64_t>(rank_)) lines += label_;
    lines += line_;
    tail_ += line_;
    if (tail_.size() > 2 * tail_bytes) tail_.erase(0, tail_.size() - tail_bytes);
    line_.clear();
    returned_ = false;
}

string failure_line(const RankEnds::Failure& failure) {
    const int status = failure.status;
    return "hpo: rank " + std::to_string(failure.rank) +
           (WIFSIGNALED(status) ? " died of " + signal_name(WTERMSIG(status))
                                : " exited with status " + std::to_string(WEXITSTATUS(status))) +
           ", and the other ranks were ended";
}

}  // namespace hpo::script
