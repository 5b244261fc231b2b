#include "orchestrator/store/summary_table.hpp"

#include <algorithm>
#include <numeric>

#include "orchestrator/store/database_file.hpp"

namespace hpo {

using sqlite::Statement;

namespace {

packed::TrialRows rows_with(const std::vector<std::uint32_t>& sums) {
    return {static_cast<std::int64_t>(sums.size()), std::accumulate(sums.begin(), sums.end(), std::uint64_t{0})};
}

}  // namespace

Result<void> SummaryTable::prepare_reading() {
    for (const auto& [statement, sql] :
         {std::pair{&totals_,
                    "SELECT body, sum, max((SELECT coalesce(max(sequence), 0) FROM event), "
                    "(SELECT coalesce(max(sequence), 0) FROM step)) FROM summary WHERE trial = 0"},
          {&rows_, "SELECT trial, body, sum FROM summary WHERE sequence > ? AND trial > 0 ORDER BY trial"}}) {
        auto made = database_.prepare(sql);
        if (!made) return made.error();
        *statement = *std::move(made);
    }
    readable_ = true;
    return {};
}

Result<void> SummaryTable::prepare_writing() {
    for (const auto& [statement, sql] : {std::pair{&insert_, "INSERT OR REPLACE INTO summary VALUES (?, ?, ?, ?)"},
                                         {&clear_, "DELETE FROM summary"}}) {
        auto made = database_.prepare(sql);
        if (!made) return made.error();
        *statement = *std::move(made);
    }
    return {};
}

/// Returns the row of the totals, if it is present and intact, and not newer than the events.
std::optional<SummaryTable::Totals> SummaryTable::totals() {
    std::optional<Totals> found;
    if (totals_.step() == Statement::Step::row && totals_.integer(1) == row_sum(0, totals_.bytes(0))) {
        StudyRecord record;
        packed::read_totals(record, totals_.bytes(0));
        if (record.sequence <= totals_.integer(2)) found = Totals{record.sequence, std::string(totals_.bytes(0))};
    }
    totals_.reset();
    return found;
}

/// Reads the rows that are newer than `since`. Returns true if they and the earlier ones match the totals; only then
/// the checksums are valid.
bool SummaryTable::read_rows(const Totals& totals, std::int64_t since, TrialParts parts, Rows* rows) {
    std::vector<std::uint32_t> sums = since == 0 ? std::vector<std::uint32_t>() : sums_;
    rows_.bind(1, since);
    auto step = rows_.step();
    for (; step == Statement::Step::row; step = rows_.step()) {
        const std::int64_t trial = rows_.integer(0);
        const std::string_view body = rows_.bytes(1);
        const std::uint32_t sum = row_sum(trial, body);
        // In the order of trials there is no gap, unless a row is missing.
        if (rows_.integer(2) != sum || trial > static_cast<std::int64_t>(sums.size()) + 1) break;
        if (trial > static_cast<std::int64_t>(sums.size())) sums.push_back(0);
        sums[static_cast<std::size_t>(trial) - 1] = sum;
        if (!rows) continue;
        rows->numbers.push_back(trial);
        rows->trials.push_back(rows->reader.read(body, parts));
    }
    rows_.reset();
    if (step != Statement::Step::done || packed::trial_rows_of(totals.body) != rows_with(sums)) return false;
    sums_ = std::move(sums);
    sums_of_ = totals.sequence;
    return true;
}

void SummaryTable::read(StudyRecord& record) {
    if (!readable_ || !database_.run("BEGIN")) return;  // reads totals and trials of one moment
    try {
        read_within(record);
    } catch (const std::exception&) {
        totals_.reset();
        rows_.reset();  // undecodable row: read the events instead
    }
    (void)database_.run("COMMIT");
}

void SummaryTable::read_within(StudyRecord& record) {
    const auto found = totals();
    if (!found || found->sequence <= record.sequence) return;
    Rows rows;
    if (record.summarized != 0 && record.summarized == sums_of_ && read_rows(*found, sums_of_, record.parts, &rows)) {
        record.trials.resize(sums_.size());
        for (std::size_t i = 0; i < rows.numbers.size(); ++i) record.trial(rows.numbers[i]) = std::move(rows.trials[i]);
    } else {
        rows = {};
        if (!read_rows(*found, 0, record.parts, &rows)) return;
        record.trials = std::move(rows.trials);
    }
    packed::read_totals(record, found->body);
}

std::int64_t SummaryTable::sequence() {
    sums_of_ = 0;
    if (!readable_ || !database_.run("BEGIN")) return 0;
    try {
        if (const auto found = totals()) (void)read_rows(*found, 0, TrialParts::standing, nullptr);
    } catch (const std::exception&) {
        totals_.reset();  // undecodable totals
    }
    (void)database_.run("COMMIT");
    return sums_of_;
}

Result<void> SummaryTable::write(const StudyRecord& record, std::span<const std::int64_t> trials) {
    std::vector<std::int64_t> all;
    written_sums_ = sums_;
    if (sums_of_ == 0) {
        const bool cleared = clear_.step() == Statement::Step::done;
        const Error error = cleared ? Error{} : database_.error();
        clear_.reset();
        if (!cleared) return error;
        all.resize(record.trials.size());
        std::iota(all.begin(), all.end(), std::int64_t{1});
        trials = all;
        written_sums_.clear();
    }
    written_sums_.resize(record.trials.size());
    for (const std::int64_t number : trials) {
        const std::string body = packed::of(record.trial(number));
        written_sums_[static_cast<std::size_t>(number) - 1] = row_sum(number, body);
        if (auto kept = insert(number, record.sequence, body); !kept) return kept;
    }
    written_ = record.sequence;
    return insert(0, record.sequence, packed::of_totals(record, rows_with(written_sums_)));
}

void SummaryTable::ended(bool committed) {
    if (committed && written_ != 0) {
        sums_.swap(written_sums_);
        sums_of_ = written_;
    }
    written_ = 0;
}

Result<void> SummaryTable::insert(std::int64_t trial, std::int64_t sequence, const std::string& body) {
    insert_.bind(1, trial);
    insert_.bind(2, sequence);
    insert_.bind_bytes(3, body);
    insert_.bind(4, std::int64_t{row_sum(trial, body)});
    const bool done = insert_.step() == Statement::Step::done;
    const Error error = done ? Error{} : database_.error();
    insert_.reset();
    if (!done) return error;
    return {};
}

}  // namespace hpo
