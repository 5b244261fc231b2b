#include "orchestrator/script/syntax/file_metrics.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "orchestrator/script/syntax/metric_name.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t most_head_bytes = 256 * 1024;
constexpr string_view utf8_mark = "\xEF\xBB\xBF";
constexpr string_view blanks = " \t\r\n";

/// Returns why a file that begins so is no text, or an empty text.
string no_text(string_view head) {
    constexpr std::array<std::pair<string_view, const char*>, 5> kinds{
        {{"\xFF\xFE", "is written in UTF-16: write it in UTF-8"},
         {"\xFE\xFF", "is written in UTF-16: write it in UTF-8"},
         {"\x1F\x8B", "is compressed: write it as plain text"},
         {"PK\x03\x04", "is compressed: write it as plain text"},
         {"PAR1", "is a Parquet file: write CSV or JSON"}}};
    for (const auto& [begin, problem] : kinds)
        if (head.starts_with(begin)) return problem;
    return head.find('\0') != string_view::npos ? "contains zero bytes, so that it is no text: write CSV or JSON" : "";
}

/// Returns `text` up to the end of the second line that is neither empty nor a comment, or nothing if it has not ended.
/// A quote may include ends of lines.
std::optional<string_view> beginning(string_view text) {
    constexpr int most_lines = 20;
    int lines = 0, content = 0;
    std::size_t at = 0;
    bool in_quotes = false;
    for (auto end = text.find('\n'); end != string_view::npos; end = text.find('\n', at)) {
        const string_view line = text.substr(at, end - at);
        const auto first = line.find_first_not_of(" \t\r");
        content += first != string_view::npos && line[first] != '#' ? 1 : 0;
        in_quotes ^= std::count(line.begin(), line.end(), '"') % 2 == 1;
        at = end + 1;
        if (content >= 2 && (!in_quotes || ++lines > most_lines)) return text.substr(0, at);
    }
    return {};
}

}  // namespace

FileMetrics::FileMetrics(string objective, std::int64_t epochs)
    : objective_(std::move(objective)), epochs_(epochs), new_(objective_), wanted_({objective_}) {}

void FileMetrics::restart() {
    new_.restart();
    form_ = Form::unknown;
    head_.clear();
    json_ = {};
    table_.reset();
    lines_ = LineSplitter{max_text_line};
}

void FileMetrics::feed(string_view bytes, const Record& record) {
    if (form_ != Form::unknown) return read(bytes, record);
    head_ += bytes;
    decide(false, record);
}

void FileMetrics::finish(const Record& record) {
    if (form_ == Form::unknown) decide(true, record);
    if (form_ == Form::unknown && problem_.empty()) problem_ = "is empty";
    if (form_ == Form::json) json_.finish([&](string_view value) { take_json(value, record); });
    if (form_ == Form::table) table_->finish([&](const Metrics& metrics) { pass_on(metrics, {}, record); });
    if (form_ == Form::lines && !lines_.rest().empty()) read("\n", record);
}

/// Determines the form of the file by its first lines, once there are enough of them.
void FileMetrics::decide(bool ended, const Record& record) {
    string_view text = head_;
    if (text.starts_with(utf8_mark)) text.remove_prefix(utf8_mark.size());
    const auto first = text.find_first_not_of(blanks);
    if (first == string_view::npos) return;
    const auto second = text.find_first_not_of(blanks, first + 1);
    const bool list = text[first] == '[';
    if (list && second == string_view::npos && !ended) return;
    if (text[first] == '{' || (list && second != string_view::npos && string_view("{[").find(text[second]) < 2)) {
        form_ = Form::json;
    } else if (const auto lines = beginning(text); lines || ended || text.size() > most_head_bytes) {
        if (problem_ = no_text(lines.value_or(text)); !problem_.empty()) {
            form_ = Form::unreadable;
            return;
        }
        const auto format = table_format(text);
        form_ = format ? Form::table : Form::lines;
        if (format) {
            table_ = std::make_unique<TableRows>(objective_, format->delimiter);
            if (format->comment) read(text.substr(0, *format->comment), record);
            if (format->comment) text.remove_prefix(*format->comment + 1);
        } else if (!plain_) {
            plain_ = *make_output_reader({}, epochs_);
        }
    } else {
        return;
    }
    const string content(text);
    head_.clear();
    read(content, record);
}

void FileMetrics::read(string_view bytes, const Record& record) {
    switch (form_) {
        case Form::json:
            json_.feed(bytes, [&](string_view value) { take_json(value, record); });
            if (json_.left_out()) note_left_out("a JSON value", JsonValues::most_bytes);
            return;
        case Form::table:
            return table_->feed(bytes, [&](const Metrics& metrics) { pass_on(metrics, {}, record); });
        case Form::lines:
            lines_.feed(bytes, [&](string_view line) {
                Reading reading;
                plain_->read(line, reading);
                Metrics metrics;
                for (const WantedMetrics::Value& one : wanted_.find_in(reading)) add(metrics, one.name, one.number);
                pass_on(metrics, line, record);
            });
            if (lines_.dropped() > 0) note_left_out("a line", max_text_line);
            return;
        case Form::unknown:
        case Form::unreadable:
            return;
    }
}

void FileMetrics::note_left_out(const string& part, std::size_t most_bytes) {
    if (problem_.empty())
        problem_ = "has " + part + " of more than " + std::to_string(most_bytes / 1024) + " KiB, which is not read";
}

void FileMetrics::take_json(string_view value, const Record& record) {
    std::vector<Metrics> records;
    const string problem = add_records(value, objective_, records);
    if (problem_.empty()) problem_ = problem;
    for (const Metrics& metrics : records) pass_on(metrics, {}, record);
}

void FileMetrics::pass_on(const Metrics& metrics, string_view text, const Record& record) {
    if (new_.is_new(metrics)) record(metrics, text);
}

const string& FileMetrics::problem() const { return problem_.empty() && table_ ? table_->problem() : problem_; }

}  // namespace hpo::script
