#include "orchestrator/script/syntax/tables.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_cells = 256;

bool has_letter(string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return (is_letter(c) && c != '_') || static_cast<unsigned char>(c) >= 0x80; });
}

std::vector<string_view> split(string_view line, char separator, std::size_t blanks_between) {
    std::vector<string_view> cells;
    if (separator != ' ') {
        for (std::size_t begin = 0; begin <= line.size() && cells.size() < max_cells;) {
            const auto end = std::min(line.find(separator, begin), line.size());
            cells.push_back(trim(line.substr(begin, end - begin)));
            begin = end + 1;
        }
        return cells;
    }
    const string between = string(blanks_between, ' ');
    line = trim(line);
    while (!line.empty() && cells.size() < max_cells) {
        const auto end = std::min({line.find(between), line.find('\t'), line.size()});
        cells.push_back(trim(line.substr(0, end)));
        line = trim(line.substr(end));
    }
    return cells;
}

/// Returns the cells of a line in bars, or none. Bars at its ends are not separators.
std::vector<string_view> cells_in_bars(string_view line) {
    line = trim(line);
    if (line.find('|') == string_view::npos) return {};
    const bool framed = line.starts_with('|');
    if (framed) line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
    auto cells = split(line, '|', 1);
    return cells.size() > 1 || framed ? cells : std::vector<string_view>{};
}

std::optional<double> number_in(string_view cell) {
    if (cell.ends_with('*')) cell = trim(cell.substr(0, cell.size() - 1));  // marks the best
    auto number = leading_number(cell);
    if (!number) return {};
    const string_view rest = trim(cell.substr(number->second));
    const bool deviation = rest.starts_with("+-") || rest.starts_with("+/-") || rest.starts_with('(');
    return rest.empty() || rest == "%" || deviation ? std::optional(number->first) : std::nullopt;
}

/// Returns a column's or a row's name, without brackets that are left over from a group of columns, as in "Box(P".
string name_in(string_view cell) {
    const auto count = [&](char c) { return std::count(cell.begin(), cell.end(), c); };
    if (count('(') > count(')')) cell = cell.substr(cell.find('(') + 1);
    while (count(')') > count('(') || cell.ends_with(':')) cell.remove_suffix(1);
    return name_of(cell);
}

bool is_rule(string_view line) { return line.find_first_not_of(" \t-=+|:*_") == string_view::npos; }

/// Returns true if the cell may name a column.
bool is_header_cell(string_view cell) {
    return has_letter(cell) && !number_in(cell) && cell.find_first_of("={}\"'") == string_view::npos &&
           !name_in(cell).empty() &&
           cell.substr(0, cell.size() - (cell.ends_with(':') ? 1 : 0)).find(": ") == string_view::npos;
}

/// Returns the names of the columns, or nothing if these cells are no header. Without bars, at least one name must be a
/// word for a metric or a counter, so that prose is no header.
std::vector<string> header_of(const std::vector<string_view>& cells, bool in_bars) {
    std::vector<string> names;
    bool known = in_bars;
    for (const string_view cell : cells) {
        // The first column may have no name: it has the rows'.
        const bool blank = (cell.empty() && names.empty()) || cell == "#";
        if (!blank && !is_header_cell(cell)) return {};
        names.push_back(blank ? string() : name_in(cell));
        known = known || is_counter(names.back()) || contains_metric_word(names.back());
    }
    return known && names.size() > 1 ? names : std::vector<string>{};
}

bool ends_with_number(string_view cell) { return number_in(cell.substr(cell.find_last_of(' ') + 1)).has_value(); }

/// The last column's name of a header that a progress bar follows, as YOLO prints it.
string_view without_bar(string_view line) {
    const auto bar = line.find("%|");
    if (bar == string_view::npos) return line;
    const auto begin = line.find_last_not_of("0123456789. ", bar - (bar > 0 ? 1 : 0));
    if (begin == string_view::npos) return line;
    return line.substr(0, begin + (line[begin] == ':' ? 0 : 1));
}

/// The row without an arrow that marks it: "3  0.65  <- best".
string_view without_mark(string_view line) {
    for (const string_view arrow : {" <", " \u2190"})
        if (const auto at = line.find(arrow);
            at != string_view::npos && at > 0 && (line[at + 1] != '<' || line[at + 2] == '-'))
            return line.substr(0, at);
    return line;
}

}  // namespace

bool Tables::read(string_view line, Reading& reading) {
    if (is_rule(line)) {
        if (line.find_first_of("-=") != string_view::npos) section_.clear();
        return line.find('|') != string_view::npos;
    }
    line = without_mark(without_bar(line));
    Cells cells = cells_in_bars(line);
    char separator = '|';
    Cells wide;  // cells that several blanks separate
    if (cells.empty() && line.find_first_of(":=(") == string_view::npos && line.find(',') != string_view::npos) {
        cells = split(line, separator = ',', 1);
    } else if (cells.empty()) {
        cells = split(line, separator = ' ', 1);
        wide = split(line, ' ', 2);
    }
    std::vector<Columns> tables = std::exchange(candidates_, {});
    tables.push_back(columns_);
    for (Columns& table : tables) {
        if (table.names.empty() || table.separator != separator) continue;
        if (!read_row(table, cells, reading) && !read_row(table, wide, reading)) continue;
        columns_ = std::move(table);
        return true;
    }
    const bool in_bars = separator == '|';
    if (in_bars && read_pairs(cells, reading)) return true;
    for (const Cells& row : {cells, wide})
        if (auto names = header_of(row, in_bars); !names.empty()) candidates_.push_back({std::move(names), separator});
    // A line of names in bars is nothing else, but "| loss 0.5 |" has numbers beside them.
    const bool plain = std::none_of(cells.begin(), cells.end(), ends_with_number);
    return in_bars && !candidates_.empty() && (plain || cells[0].ends_with("metric"));
}

/// Reads a row below the columns. A cell in excess of the columns is the row's label, as in scikit-learn's reports.
bool Tables::read_row(const Columns& columns, const Cells& cells, Reading& reading) {
    const std::size_t count = columns.names.size();
    if (cells.size() < 2 || cells.size() < count || cells.size() > count + 1) return false;
    const std::size_t extra = cells.size() - count;
    const bool has_label = has_letter(cells[0]) && !number_in(cells[0]) && !is_digit(cells[0].front());
    std::size_t numbers = 0, texts = 0;
    for (const string_view cell : cells) {
        if (number_in(cell))
            ++numbers;
        else if (has_letter(cell) && !is_digit(cell.front()))
            ++texts;
    }
    const std::size_t least = has_label && columns.separator == ' ' ? 2 : 1;
    if (numbers < least || texts > (has_label ? 1U : 0U) || (extra > 0 && !has_label)) return false;

    static constexpr string_view all[] = {"all", "total", "overall", "mean", "avg", "average"};
    string label = has_label ? name_in(cells[0]) : "";
    if (std::find(std::begin(all), std::end(all), label) != std::end(all)) label.clear();
    // Two columns, or "Metric | Train | Val", have the names in their rows.
    const bool named_rows = has_label && extra == 0 && (count == 2 || fit(columns.names[0], "metric") <= Fit::spelling);
    for (std::size_t i = extra; i < cells.size(); ++i) {
        const auto number = number_in(cells[i]);
        const string& column = columns.names[i - extra];
        if (const auto epoch = ratio_of(cells[i]); epoch && is_epoch(column)) reading.epoch = epoch->first;
        if (!number || column.empty()) continue;
        if (is_epoch(column) && !reading.epoch) reading.epoch = *number;
        if (named_rows)
            count == 2 ? reading.add(label, *number) : reading.add(column + "_" + label, *number, label);
        else if (label.empty() || is_general(column))
            reading.add(column, *number);
        else if (phase_of(label) != Phase::none)
            reading.add(phase_in(column) == Phase::none ? label + "_" + column : column, *number, column);
        else
            reading.add(label + "_" + column, *number);
    }
    return true;
}

/// Reads a row of names, each with its number in the next cell. A name that ends with '/' and has no number begins a
/// section, to which the following names belong.
bool Tables::read_pairs(const Cells& cells, Reading& reading) {
    if (cells.empty() || cells.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < cells.size(); i += 2) {
        const bool section = cells[i].ends_with('/') && cells[i + 1].empty();
        if (!is_header_cell(cells[i]) || (!section && !number_in(cells[i + 1]))) return false;
    }
    for (std::size_t i = 0; i < cells.size(); i += 2) {
        const string name = name_in(cells[i]);
        if (const auto number = number_in(cells[i + 1]))
            reading.add(name.find('/') == string::npos ? section_ + name : name, *number, name);
        else
            section_ = name;
    }
    return true;
}

}  // namespace hpo::script
