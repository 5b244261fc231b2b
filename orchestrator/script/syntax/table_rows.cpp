#include "orchestrator/script/syntax/table_rows.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/metric_name.hpp"
#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr char comment = '#';
constexpr string_view delimiters = "\t;,| ";

/// Returns the cells of the first record in `text`, or nothing if it has an error.
std::optional<std::vector<string>> first_cells(string_view text, char delimiter) {
    std::optional<std::vector<string>> cells;
    CsvReader reader(
        [&](std::int64_t, std::span<const string_view> fields) -> Result<void> {
            cells.emplace(fields.begin(), fields.end());
            return Error{"enough"};
        },
        {.delimiter = delimiter});
    if (reader.feed(text)) (void)reader.finish();
    return cells;
}

bool is_number(const string& cell, char delimiter) { return number_in_cell(cell, delimiter).has_value(); }

/// Returns true if the cells can be the names of columns. A table may have a column without a name.
bool can_name(const std::vector<string>& cells, char delimiter) {
    return std::any_of(cells.begin(), cells.end(), [](const string& cell) { return !trim(cell).empty(); }) &&
           std::none_of(cells.begin(), cells.end(), [&](const string& cell) { return is_number(cell, delimiter); });
}

/// Returns the number of columns if `header` names those of the first of `rows`, else 0.
std::size_t columns_in(string_view header, string_view rows, char delimiter) {
    const auto names = first_cells(header, delimiter), cells = first_cells(rows, delimiter);
    if (!names || !cells || !can_name(*names, delimiter)) return 0;
    if (cells->size() != names->size() && cells->size() != names->size() + 1) return 0;
    const auto numeric = [&](const string& cell) { return is_number(cell, delimiter); };
    // A single word above a number may be a title, and words above words are prose.
    const bool fits = names->size() == 1
                          ? cells->size() == 1 && is_metric_name(names->front()) && numeric(cells->front())
                          : std::any_of(cells->begin(), cells->end(), numeric);
    return fits ? names->size() : 0;
}

}  // namespace

std::optional<double> number_in_cell(string_view cell, char delimiter) {
    const string_view text = trim(cell);
    const auto whole = [](string_view number) -> std::optional<double> {
        const auto found = leading_number(number);
        return found && found->second == number.size() ? std::optional(found->first) : std::nullopt;
    };
    if (const auto number = whole(text.ends_with('%') ? trim(text.substr(0, text.size() - 1)) : text)) return number;
    const auto comma = text.find(',');
    if (comma == string_view::npos || text.find(',', comma + 1) != string_view::npos) return {};
    // "1,234" may be a thousand; in a table whose delimiter is a semicolon the comma is the decimal point.
    const auto first = text.find_first_not_of("+-");
    const bool thousands = text.size() - comma == 4 && comma > first && comma - first <= 3 && text[first] != '0';
    if (thousands && delimiter != ';') return {};
    string decimal(text);
    decimal[comma] = '.';
    return whole(decimal);
}

std::optional<TableFormat> table_format(string_view text) {
    string_view header, rows;
    std::optional<std::size_t> commented;  // position of the '#' of the header, if it is a comment
    for (std::size_t at = 0; at < text.size() && rows.empty();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const string_view line = text.substr(at, end - at);
        const auto first = line.find_first_not_of(" \t\r");
        if (first != string_view::npos && line[first] == comment) {
            // A comment above a row of numbers names its columns, as NumPy writes it.
            if (header.empty() || commented) {
                header = line.substr(first + 1);
                commented = at + first;
            }
        } else if (first != string_view::npos) {
            const bool named =
                !header.empty() && std::any_of(delimiters.begin(), delimiters.end(), [&](char delimiter) {
                    return columns_in(header, text.substr(at), delimiter) > 0;
                });
            if (named || (!header.empty() && !commented)) {
                rows = text.substr(at);
            } else {
                header = line;
                commented.reset();
            }
        }
        at = end + 1;
    }
    std::optional<TableFormat> best;
    std::size_t most = 0;
    for (const char delimiter : delimiters) {
        const std::size_t columns = columns_in(header, rows, delimiter);
        // Names may have blanks, so that these separate columns only if nothing else does.
        if (columns > most && (delimiter != ' ' || most == 0)) {
            best = TableFormat{delimiter, commented};
            most = columns;
        }
    }
    return best;
}

TableRows::TableRows(string objective, char delimiter)
    : objective_(std::move(objective)),
      delimiter_(delimiter),
      reader_(
          [this](std::int64_t line, Cells cells) -> Result<void> {
              take(line, cells);
              return {};
          },
          {.delimiter = delimiter, .comment = comment}) {}

void TableRows::feed(string_view text, const Row& row) {
    if (broken_) return;
    row_ = &row;
    if (auto fed = reader_.feed(text); !fed) {
        broken_ = true;
        note(fed.error().message);
    }
}

void TableRows::finish(const Row& row) {
    if (broken_) return;
    row_ = &row;
    if (auto finished = reader_.finish(); !finished) note(finished.error().message);
    if (!found_ && std::find(columns_.begin(), columns_.end(), objective_) != columns_.end())
        note("its column '" + objective_ + "' has no number");
}

void TableRows::note(const string& problem) {
    if (problem_.empty()) problem_ = problem;
}

/// Returns true for a header amid rows, which loggers write when they start again or have more columns.
bool TableRows::names_columns(Cells cells) const {
    bool known = false;
    for (const string_view cell : cells) {
        if (number_in_cell(cell, delimiter_)) return false;
        const string name = metric_of(trim(cell), objective_);
        known = known || (!name.empty() && std::find(columns_.begin(), columns_.end(), name) != columns_.end());
    }
    return known;
}

void TableRows::name_columns(Cells cells) {
    columns_.clear();
    unnamed_.reset();
    for (const string_view cell : cells) columns_.push_back(metric_of(trim(cell), objective_));
    // The cell with the objective's own name is the objective, even if other cells get the same name.
    const auto exact =
        std::find_if(cells.begin(), cells.end(), [&](string_view cell) { return trim(cell) == objective_; });
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const string name = columns_[i];
        if (name.empty() || std::count(columns_.begin(), columns_.end(), name) < 2) continue;
        const auto kept = name == objective_ ? exact : cells.end();
        const bool twice = kept == cells.end() || std::count_if(cells.begin(), cells.end(), [&](string_view cell) {
                                                      return trim(cell) == objective_;
                                                  }) > 1;
        if (twice) note("several of its columns are '" + name + "'");
        for (std::size_t other = 0; other < columns_.size(); ++other)
            if (columns_[other] == name && (twice || cells.begin() + static_cast<std::ptrdiff_t>(other) != kept))
                columns_[other].clear();
    }
}

void TableRows::take(std::int64_t line, Cells cells) {
    if (columns_.empty() || names_columns(cells)) return name_columns(cells);
    std::size_t count = cells.size();
    if (!unnamed_) unnamed_ = count == columns_.size() + 1 && !trim(cells.back()).empty() ? 1 : 0;
    while (count > columns_.size() + *unnamed_ && trim(cells[count - 1]).empty()) --count;
    if (count != columns_.size() + *unnamed_)
        return note("its line " + std::to_string(line) + " has " + std::to_string(cells.size()) +
                    " cells, and its header has " + std::to_string(columns_.size()) +
                    ", so that rows such as this one are not read");
    Metrics metrics;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const string_view cell = cells[i + *unnamed_];
        if (const auto number = number_in_cell(cell, delimiter_)) {
            if (columns_[i] == objective_)
                metrics[objective_] = *number, found_ = true;
            else
                add(metrics, columns_[i], *number);
        } else if (columns_[i] == objective_ && !trim(cell).empty()) {
            note("its line " + std::to_string(line) + " has '" + string(trim(cell).substr(0, max_quoted_bytes)) +
                 "' as " + objective_ + ", which is not a number");
        }
    }
    if (!metrics.empty()) (*row_)(metrics);
}

}  // namespace hpo::script
