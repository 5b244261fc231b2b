#include "orchestrator/script/rank_records.hpp"

#include <cstdlib>
#include <numeric>

namespace hpo::script {

namespace {

using std::string;

enum class Record : std::uint32_t {
    lines = 1,
    end = 2,  ///< fields: rank, status, sent, peak_bytes; then the output
};

/// Takes a field of supervisor::pack() from the begin of `bytes`.
std::int64_t take_field(std::string_view& bytes) {
    const auto end = bytes.find('\0');
    const std::int64_t number = std::atoll(string(bytes.substr(0, end)).c_str());
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    return number;
}

RankEnd end_in(std::string_view payload) {
    RankEnd end;
    end.rank = static_cast<std::size_t>(take_field(payload));
    end.status = static_cast<int>(take_field(payload));
    end.sent = static_cast<int>(take_field(payload));
    end.peak_bytes = take_field(payload);
    end.output = payload;
    return end;
}

}  // namespace

string lines_record(std::string_view lines) { return supervisor::frame(Record::lines, lines); }

string end_record(const RankEnd& end) {
    const string fields = supervisor::pack({std::to_string(end.rank), std::to_string(end.status),
                                            std::to_string(end.sent), std::to_string(end.peak_bytes)});
    return supervisor::frame(Record::end, fields + end.output);
}

string RankRecords::feed(std::string_view bytes) {
    string lines;
    readable_ = readable_ && frames_.feed(bytes, [&](std::uint32_t kind, std::string_view payload) {
        if (kind == static_cast<std::uint32_t>(Record::lines)) lines += payload;
        if (kind == static_cast<std::uint32_t>(Record::end)) ends_.push_back(end_in(payload));
    });
    return lines;
}

std::int64_t peak_of(const std::vector<RankEnd>& ends) {
    return std::accumulate(ends.begin(), ends.end(), std::int64_t{0},
                           [](std::int64_t sum, const RankEnd& end) { return sum + end.peak_bytes; });
}

}  // namespace hpo::script
