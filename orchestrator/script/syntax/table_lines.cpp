#include "orchestrator/script/syntax/table_lines.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/table_cells.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_cells = 256;

/// Returns true if a comma in a cell may be one of thousands: "1,234".
bool may_group_thousands(string_view line) {
    constexpr std::size_t group = 3;
    const auto groups = [](string_view cell) {
        const auto comma = cell.find(',');
        const auto is_whole = [](string_view digits) { return std::all_of(digits.begin(), digits.end(), is_digit); };
        return comma != string_view::npos && comma > 0 && comma <= group && cell.front() != '0' &&
               cell.size() == comma + 1 + group && is_whole(cell.substr(0, comma)) && is_whole(cell.substr(comma + 1));
    };
    const auto cells = split_cells(line, ';', 1);
    return std::any_of(cells.begin(), cells.end(), groups);
}

/// Returns true if a comma of the line separates cells, and not the numbers of a vector: "[0.1, 0.2]".
bool has_outer_comma(string_view line) {
    int open = 0;
    for (const char c : line) {
        open += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c == ',' && open <= 0) return true;
    }
    return false;
}

/// Returns true if each colon is one of a time.
bool has_colons_of_times(string_view line) {
    for (auto at = line.find(':'); at != string_view::npos; at = line.find(':', at + 1))
        if (at == 0 || at + 1 >= line.size() || !is_digit(line[at - 1]) || !is_digit(line[at + 1])) return false;
    return true;
}

}  // namespace

std::vector<string_view> split_cells(string_view line, char separator, std::size_t blanks_between) {
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

std::vector<string_view> cells_in_bars(string_view line) {
    line = trim(line);
    if (line.find('|') == string_view::npos) return {};
    const bool framed = line.starts_with('|');
    if (framed) line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
    auto cells = split_cells(line, '|', 1);
    return cells.size() > 1 || framed ? cells : std::vector<string_view>{};
}

std::vector<string_view> cells_of_list(string_view line) {
    line = trim(line);
    const bool list = line.starts_with('[') && line.ends_with(']'),
               tuple = line.starts_with('(') && line.ends_with(')');
    if (!list && !tuple) return {};
    auto cells = split_cells(line.substr(1, line.size() - 2), ',', 1);
    const auto is_number = [](string_view cell) { return number_in(cell).has_value(); };
    return std::all_of(cells.begin(), cells.end(), is_number) ? cells : std::vector<string_view>{};
}

string_view without_bar(string_view line) {
    auto bar = line.find("%|");
    if (bar == string_view::npos) {  // "0.975: 100% 148/148 [00:38<00:00, 3.82it/s]"
        bar = line.find("% ");
        if (bar == string_view::npos) return line;
        const string_view work = line.substr(bar + 2, line.substr(bar + 2).find(' '));
        if (!is_ratio(work) || !line.substr(bar + 2 + work.size()).starts_with(" [")) return line;
    }
    const auto begin = line.find_last_not_of("0123456789. ", bar - (bar > 0 ? 1 : 0));
    if (begin == string_view::npos) return line;
    return line.substr(0, begin + (line[begin] == ':' ? 0 : 1));
}

string_view without_mark(string_view line) {
    for (const string_view arrow : {" <", " \u2190"})
        if (const auto at = line.find(arrow);
            at != string_view::npos && at > 0 && (line[at + 1] != '<' || line.substr(at + 2).starts_with('-')))
            return line.substr(0, at);
    if (line.ends_with(" \\")) line.remove_suffix(2);  // further columns of a data frame follow
    return line;
}

LineCells::LineCells(string_view line) : line_(line), cells_(cells_in_bars(line)) {
    const bool plain = cells_.empty() && line.find_first_of("=(") == string_view::npos && has_colons_of_times(line);
    if (plain && line.find(';') != string_view::npos) {
        if (line.find('.') == string_view::npos && !may_group_thousands(line)) {
            with_points_ = line;
            std::replace(with_points_.begin(), with_points_.end(), ',', '.');
            line_ = with_points_;
        }
        cells_ = split_cells(line_, separator_ = ';', 1);
    } else if (plain && has_outer_comma(line)) {
        cells_ = split_cells(line, separator_ = ',', 1);
    } else if (cells_.empty()) {
        cells_ = split_cells(line, separator_ = ' ', 1);
        wide_ = split_cells(line, ' ', 2);
    }
}

}  // namespace hpo::script
