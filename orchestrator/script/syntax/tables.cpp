#include "orchestrator/script/syntax/tables.hpp"

#include <algorithm>
#include <span>

#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/table_cells.hpp"
#include "orchestrator/script/syntax/table_lines.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

/// Returns true for words of a sentence, which name no column: "We report loss", "lower is better".
bool is_sentence(string_view cell) {
    static constexpr string_view words[] = {"is", "are", "was", "the", "we", "this", "it", "will", "not", "and"};
    const auto cells = split_cells(cell, ' ', 1);
    return cells.size() > 2 && std::any_of(cells.begin(), cells.end(), [](string_view word) {
               return std::find(std::begin(words), std::end(words), lower_case(word)) != std::end(words);
           });
}

/// Returns true if the cell may name a column.
bool is_header_cell(string_view cell) {
    return has_letter(cell) && !number_in(cell) && !is_sentence(cell) &&
           cell.find_first_of("={}\"'") == string_view::npos && !name_in(cell).empty() &&
           cell.substr(0, cell.size() - (cell.ends_with(':') ? 1 : 0)).find(": ") == string_view::npos;
}

bool is_rule(string_view line) { return line.find_first_not_of(" \t-=+|:*_") == string_view::npos; }

/// Returns true for the name of a column whose cells name metrics, as tibbles of R have it.
bool names_metrics(const string& column) {
    const string name = lower_case(column);
    return name == "metric" || name == "measure";
}

/// Returns true for the name of a column with the values of metrics that another column names.
bool holds_values(const string& column) {
    static constexpr string_view values[] = {"value", "estimate", "measurement", "mean"};
    return std::find(std::begin(values), std::end(values), lower_case(column)) != std::end(values);
}

/// Reads a row with several numbers of the metric that the cell in the column `metric` names, and a phase beside it:
/// "| Valid | Accuracy | 98.0 | 1 | 98.6 | 2 |" below "| Split | Metric | Min. | Epoch | Max. | Epoch |" has
/// Valid_Accuracy_Min. and Valid_Accuracy_Max.
bool read_named_numbers(const std::vector<string>& names, std::span<const string_view> cells, std::size_t metric,
                        Reading& reading) {
    const auto phase =
        std::find_if(cells.begin(), cells.end(), [](string_view cell) { return phase_of(cell) != Phase::none; });
    const string name = name_in(cells[metric]);
    if (phase == cells.end() || name.empty()) return false;
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (const auto number = number_in(cells[i]); number && !is_counter(names[i]))
            reading.add(string(*phase) + '_' + name + '_' + names[i], *number);
    return true;
}

/// Returns the number of names that are of a metric or a counter.
std::ptrdiff_t known_in(const std::vector<string>& names) {
    return std::count_if(names.begin(), names.end(),
                         [](const string& name) { return is_counter(name) || contains_metric_word(name); });
}

/// Returns true for the label of a row: "min", and "1se", but no number, date or time.
bool is_row_label(string_view cell) {
    const bool plain = std::all_of(cell.begin(), cell.end(), [](char c) { return is_letter(c) || is_digit(c); });
    return has_letter(cell) && !number_in(cell) && (plain || !is_digit(cell.front()));
}

/// Returns true for the column of the averages of a row's metric: "RMSE (testset)  0.93 0.95 0.94" below "Fold 1 Fold 2
/// Mean".
bool is_average_column(const string& column) { return is_average(column) && is_statistic(column); }

/// Returns true if each name begins or ends where the one above it does: "loss last counter" below "average since
/// example".
template <typename Columns>
bool are_below(const Columns& columns, const Columns& above) {
    if (columns.begins.size() != above.begins.size()) return false;
    for (std::size_t i = 0; i < columns.begins.size(); ++i)
        if (columns.begins[i] != above.begins[i] && columns.ends[i] != above.ends[i]) return false;
    return true;
}

bool is_phase(const string& name) { return phase_of(name) != Phase::none; }

/// The row behind what a logger prints before it: "2019-02-01 00:17:12 - INFO - allennlp.trainer - loss | 0.7 | 0.8".
string_view without_logger(string_view line) {
    const auto bar = line.find('|');
    if (bar == string_view::npos || line.empty() || !is_digit(line.front())) return line;
    constexpr string_view level = " INFO | ", dash = " - ";
    const auto at = line.find(level), last_dash = line.substr(0, bar).rfind(dash);
    string_view row;
    if (at != string_view::npos)
        row = line.substr(at + level.size());
    else if (last_dash != string_view::npos && line.find(" INFO ") < last_dash)
        row = line.substr(last_dash + dash.size());
    const auto cells = cells_in_bars(row);
    const bool is_row = !cells.empty() && std::all_of(cells.begin(), cells.end(), [](string_view cell) {
        return number_in(cell) || cell == "N/A" || (is_header_cell(cell) && !ends_with_number(cell));
    });
    return is_row ? row : line;
}

}  // namespace

bool Tables::read(string_view line, Reading& reading) {
    if (is_rule(line)) {
        if (line.find_first_of("-=") != string_view::npos) section_.clear();
        return line.find('|') != string_view::npos;
    }
    line = without_mark(without_bar(without_logger(line)));
    const LineCells in_line(line);
    line = in_line.line();
    const Cells &cells = in_line.cells(), &wide = in_line.wide();
    const char separator = in_line.separator();
    if (!candidates_.empty() && cells.size() > 1 && std::all_of(cells.begin(), cells.end(), is_type)) return true;
    if (const Cells list = cells_of_list(line); list.size() > 1)
        for (Columns* const table : comma_tables())
            if (table->names.size() == list.size() && read_row(*table, list, reading)) {
                if (table != &columns_) columns_ = Columns(*table), candidates_.clear();
                return true;
            }
    std::vector<Columns> headers = std::exchange(candidates_, {});
    const Columns above = std::exchange(vector_, {});
    const auto reads = [&](const auto& read_row_of) {
        for (Columns& table : headers)
            if (table.separator == separator && !are_words_between_rows(table) && read_row_of(table)) {
                columns_ = std::move(table);
                return true;
            }
        return !columns_.names.empty() && columns_.separator == separator && read_row_of(columns_);
    };
    const auto reads_label = [&](Columns& table) {
        return lacks_a_cell(table, wide, line) && read_row(table, placed(table, wide, line), reading);
    };
    const auto reads_nameless = [&](Columns& table) {
        return (lacks_a_name(table, cells, line) && read_row(table, {cells.begin(), cells.end() - 1}, reading)) ||
               (lacks_a_name(table, wide, line) && read_row(table, {wide.begin(), wide.end() - 1}, reading));
    };
    // Rows with a cell for each column first: a header may be split at one blank or at several.
    if (reads(reads_label) || reads(reads_nameless) ||
        reads([&](Columns& table) { return read_row(table, cells, reading) || read_row(table, wide, reading); }) ||
        reads([&](Columns& table) { return read_row(table, placed(table, cells, line), reading); }) ||
        reads([&](Columns& table) { return read_indexed(table, cells, line, reading); })) {
        groups_.clear();
        return true;
    }
    const bool numeric =
        std::all_of(cells.begin(), cells.end(), [](string_view cell) { return number_in(cell) || is_ratio(cell); });
    const auto is_wider = [&](const Columns& table) {
        return table.separator == separator && table.names.size() > cells.size();
    };
    if (numeric && cells.size() > 2 && std::any_of(headers.begin(), headers.end(), is_wider)) {
        candidates_ = std::move(headers);  // a row with gaps, whose numbers are not below their names
        return true;
    }
    if (separator == ' ' && read_vector(above, cells, line, reading)) return true;
    const bool in_bars = separator == '|';
    if (in_bars && headers.size() == 1 && continues_header(headers.front(), cells)) {
        candidates_ = std::move(headers);
        return true;
    }
    if (in_bars && read_pairs(cells, reading)) return true;
    for (const Cells& row : {cells, wide})
        if (auto names = header_of(row, in_bars); !names.empty()) {
            Columns columns{.names = std::move(names), .separator = separator};
            const auto at = [&](string_view cell) { return static_cast<std::size_t>(cell.data() - line.data()); };
            if (separator == ' ') {
                for (const string_view cell : row) {
                    columns.begins.push_back(at(cell));
                    columns.ends.push_back(at(cell) + cell.size());
                }
                if (headers.empty() && row.size() > 2 && are_below(columns, above)) {
                    columns.running = std::any_of(above.names.begin(), above.names.end(), is_average);
                    for (std::size_t i = 0; i < row.size(); ++i)
                        columns.names[i] = above.names[i] + '_' + columns.names[i];
                }
            }
            candidates_.push_back(std::move(columns));
        }
    groups_.clear();
    for (const Columns& table : candidates_) {
        const std::size_t begin = table.names[0].empty() ? 1 : 0;
        if (std::all_of(table.names.begin() + static_cast<std::ptrdiff_t>(begin), table.names.end(), is_phase))
            groups_.assign(table.names.begin() + static_cast<std::ptrdiff_t>(begin), table.names.end());
    }
    // A line of names in bars is nothing else, but "| loss 0.5 |" has numbers beside them.
    const bool plain = std::none_of(cells.begin(), cells.end(), ends_with_number);
    return in_bars && !candidates_.empty() && (plain || cells[0].ends_with("metric"));
}

/// Returns the tables whose columns commas separate: those that a header just names, then the last one.
std::vector<Tables::Columns*> Tables::comma_tables() {
    std::vector<Columns*> tables;
    for (Columns& table : candidates_)
        if (table.separator == ',') tables.push_back(&table);
    if (columns_.separator == ',' && !columns_.names.empty()) tables.push_back(&columns_);
    return tables;
}

/// Returns true for words between the rows of a table with as many columns, as in "new best loss" below "epoch loss
/// acc": a header in its place would name more metrics.
bool Tables::are_words_between_rows(const Columns& table) const {
    const auto known = known_in(table.names);
    return table.separator == ' ' && columns_.separator == ' ' && columns_.names.size() == table.names.size() &&
           known < 2 && known < known_in(columns_.names);
}

/// Adds the second line of a header to its names: "| Mini-batch | Time |" above "| Accuracy | |". Returns false if
/// these cells are no such line, in which some cells are empty. Units in brackets are left out.
bool Tables::continues_header(Columns& columns, const Cells& cells) {
    const auto is_unit_cell = [](string_view cell) { return cell.starts_with('(') && cell.ends_with(')'); };
    const auto fits = [&](string_view cell) { return cell.empty() || is_unit_cell(cell) || is_header_cell(cell); };
    const auto is_name = [&](string_view cell) { return !cell.empty() && !is_unit_cell(cell); };
    if (cells.size() != columns.names.size() || !std::all_of(cells.begin(), cells.end(), fits) ||
        std::all_of(cells.begin(), cells.end(), is_name) || std::none_of(cells.begin(), cells.end(), is_name))
        return false;
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (is_name(cells[i])) columns.names[i] += (columns.names[i].empty() ? "" : "_") + name_in(cells[i]);
    return true;
}

/// Returns the names of the columns, or nothing if these cells are no header. Without bars, at least one name must be a
/// word for a metric or a counter, so that prose is no header, or all are phases. Names that repeat are of the groups
/// in the line above.
std::vector<string> Tables::header_of(const Cells& cells, bool in_bars) const {
    std::vector<string> names;
    bool known = in_bars, phases = true;
    int statistics = 0;
    for (const string_view cell : cells) {
        // The first column may have no name: it has the rows'.
        const bool unnamed =
            in_bars && (cell.empty() || (is_digit(cell.front()) && has_letter(cell) && !number_in(cell)));  // "1.96*SE"
        const bool in_brackets = !names.empty() && cell.starts_with('(') && cell.ends_with(')');  // "(%Epoch)"
        const bool left_out = !in_bars && cell == "...";  // columns of a wide data frame
        const bool blank = (cell.empty() && names.empty()) || cell == "#" || unnamed || in_brackets || left_out;
        if (!blank && !is_header_cell(cell)) return {};
        names.push_back(blank ? string() : name_in(cell));
        statistics += is_statistic(names.back()) ? 1 : 0;
        known = known || names_metrics(names.back()) || is_counter(names.back()) ||
                contains_metric_word(names.back()) || statistics > 1;
        phases = phases && (blank || is_phase(names.back()));
    }
    if (names.size() < 2 || (!known && !phases)) return {};
    if (groups_.size() < 2) return names;
    const std::vector<string> printed = names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto here = printed.begin() + static_cast<std::ptrdiff_t>(i);
        const auto times = std::count(printed.begin(), printed.end(), printed[i]);
        if (!printed[i].empty() && times == static_cast<std::ptrdiff_t>(groups_.size()))
            names[i] =
                groups_[static_cast<std::size_t>(std::count(printed.begin(), here, printed[i]))] + '_' + printed[i];
    }
    return names;
}

/// Returns the cells of a row, in columns that blanks separate, at the places of the names above them, which all end or
/// begin where their names do. A text in front of them is the label, and a number there, which is that of the row, is
/// left out. Returns nothing if a cell is not right below one name.
Tables::Cells Tables::placed(const Columns& columns, const Cells& cells, string_view line) {
    if (columns.ends.size() != columns.names.size() || cells.size() < 2 || cells.size() > columns.names.size() + 1)
        return {};
    if (heads_classes(columns) && cells.size() > columns.names.size()) return {};  // a class is no number of a row
    const auto begin_of = [&](string_view cell) { return static_cast<std::size_t>(cell.data() - line.data()); };
    const auto end_of = [&](string_view cell) { return begin_of(cell) + cell.size(); };
    const bool in_front = end_of(cells.front()) <= columns.begins.front() &&
                          (cells.size() == columns.names.size() + 1 || lacks_a_cell(columns, cells, line));
    const auto below = [&](const std::vector<std::size_t>& places, const auto& place_of) {
        Cells row(columns.names.size());
        for (std::size_t cell = in_front ? 1 : 0; cell < cells.size(); ++cell) {
            const auto place = std::find(places.begin(), places.end(), place_of(cells[cell]));
            if (place == places.end() || !row[static_cast<std::size_t>(place - places.begin())].empty()) return Cells{};
            row[static_cast<std::size_t>(place - places.begin())] = cells[cell];
        }
        return row;
    };
    Cells row = below(columns.ends, end_of);  // as pandas, skorch and most others align numbers
    if (row.empty()) row = below(columns.begins, begin_of);
    if (!row.empty() && in_front && is_row_label(cells.front())) row.insert(row.begin(), cells.front());
    return row;
}

/// Reads a row with its number in front and texts among its cells, as pandas and R print data frames: "1:  1  iris
/// classif.rpart  0.05" below "nr task_id learner_id classif.ce". Each cell begins or ends where its name does.
bool Tables::read_indexed(const Columns& columns, const Cells& cells, string_view line, Reading& reading) {
    const std::size_t count = columns.names.size();
    if (cells.size() != count + 1 || columns.ends.size() != count || heads_classes(columns)) return false;
    const auto begin_of = [&](string_view cell) { return static_cast<std::size_t>(cell.data() - line.data()); };
    string_view index = cells.front();
    if (index.ends_with(':')) index.remove_suffix(1);
    if (index.empty() || !std::all_of(index.begin(), index.end(), is_digit) ||
        begin_of(index) + index.size() > columns.begins.front())
        return false;
    string texts;
    for (std::size_t i = 0; i < count; ++i) {
        const string_view cell = cells[i + 1];
        if (begin_of(cell) != columns.begins[i] && begin_of(cell) + cell.size() != columns.ends[i]) return false;
        if (!number_in(cell) && has_letter(cell)) texts += string(cell) + ' ';
    }
    if (texts.empty()) return false;
    reading.row = texts;
    reading.row_is_named = true;
    for (std::size_t i = 0; i < count; ++i)
        if (const auto number = number_in(cells[i + 1])) reading.add(columns.names[i], *number);
    return true;
}

/// Returns true for a row with a label left of all names and as many cells as names, of which one has none. "Weighted
/// Avg." of Weka has no class.
bool Tables::lacks_a_cell(const Columns& columns, const Cells& cells, string_view line) {
    constexpr std::size_t least = 3;
    return cells.size() >= least && cells.size() == columns.names.size() && columns.begins.size() == cells.size() &&
           has_letter(cells.front()) && !number_in(cells.front()) &&
           static_cast<std::size_t>(cells.front().data() - line.data()) + cells.front().size() <=
               columns.begins.front();
}

/// Returns true for a row with a label whose cells end right below all names, and whose last number has none, as below
/// a header of YOLO that the terminal was too narrow for.
bool Tables::lacks_a_name(const Columns& columns, const Cells& cells, string_view line) {
    const std::size_t count = columns.names.size();
    if (count < 2 || columns.ends.size() != count || cells.size() != count + 1 || number_in(cells.front()) ||
        !number_in(cells.back()))
        return false;
    return std::equal(columns.ends.begin(), columns.ends.end(), cells.begin(), [&](std::size_t end, string_view cell) {
        return static_cast<std::size_t>(cell.data() - line.data()) + cell.size() == end;
    });
}

/// Reads numbers each of which ends right below one of the names that the last line consists of, as R shows a vector.
bool Tables::read_vector(const Columns& names, const Cells& cells, string_view line, Reading& reading) {
    const auto end_of = [&](string_view cell) {
        return static_cast<std::size_t>(cell.data() - line.data()) + cell.size();
    };
    const bool all = !cells.empty() && cells.size() == names.names.size() &&
                     std::equal(cells.begin(), cells.end(), names.ends.begin(), [&](string_view cell, std::size_t end) {
                         return number_in(cell) && end_of(cell) == end;
                     });
    if (all && line.find('.') != string_view::npos) {
        for (std::size_t i = 0; i < cells.size(); ++i) reading.add(names.names[i], *number_in(cells[i]));
        return true;
    }
    for (const string_view cell : cells) {
        if (!is_header_cell(cell) || ends_with_number(cell)) {
            vector_ = {};
            break;
        }
        vector_.begins.push_back(static_cast<std::size_t>(cell.data() - line.data()));
        vector_.names.push_back(name_in(cell));
        vector_.ends.push_back(end_of(cell));
    }
    return false;
}

/// Returns true for the columns of scikit-learn's reports, where a number in front of a row is a class.
bool Tables::heads_classes(const Columns& columns) { return columns.names.back() == "support"; }

/// Returns true for columns whose rows are of settings, which the first one has, and no steps: "mtry RMSE MAE".
bool Tables::heads_settings(const Columns& columns) {
    const auto& names = columns.names;
    return !names[0].empty() && !contains_metric_word(names[0]) &&
           std::none_of(names.begin(), names.end(), is_progress) &&
           std::any_of(names.begin(), names.end(), contains_metric_word);
}

/// Reads a row below the columns. A cell in excess of the columns is the row's label, as in scikit-learn's reports.
/// Once a row had neither a text nor a number in the last column, a text there is a remark.
bool Tables::read_row(Columns& columns, const Cells& all_cells, Reading& reading) {
    const std::size_t count = columns.names.size();
    std::span<const string_view> cells = all_cells;
    if (cells.size() == count + 1 && (is_clock(cells.back()) || is_mark(cells.back()))) cells = cells.first(count);
    if (cells.size() < 2 || cells.size() < count || cells.size() > count + 1) return false;
    const auto is_torn = [](string_view cell) { return cell.starts_with('[') != cell.ends_with(']'); };
    const auto is_several = [](string_view cell) {
        return !number_in(cell) && number_in(cell.substr(0, cell.find(' '))) && ends_with_number(cell);
    };
    // A vector that was split at its blanks, or two cells that were not.
    if (std::any_of(cells.begin(), cells.end(), is_torn) || std::any_of(cells.begin(), cells.end(), is_several))
        return false;
    const std::size_t extra = cells.size() - count;
    const bool is_class = extra == 1 && heads_classes(columns) && number_in(cells[0]);
    const bool is_counted = extra == 1 && is_row_label(cells[0]) && is_digit(cells[0].front());  // "1se" of glmnet
    const bool has_label =
        is_class || is_counted || (has_letter(cells[0]) && !number_in(cells[0]) && !is_digit(cells[0].front()));
    const auto is_text = [](string_view cell) {
        return !number_in(cell) && has_letter(cell) && !is_digit(cell.front()) && !cell.starts_with('[') &&
               !says_nothing(cell);
    };
    const auto numbers = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), number_in));
    auto texts = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), is_text));
    if (read_named(columns, cells.subspan(extra), reading)) return true;
    const bool remarks = extra == 0 && numbers > 1 && is_text(cells.back());
    // A text behind numbers that count nothing is a class, as in "0.94 0.03 Iris-setosa" of Weka: no result of all.
    const bool label_behind = remarks && numbers + 1 == count && texts == 1 && !columns.numeric_last &&
                              std::none_of(columns.names.begin(), columns.names.end(), is_progress);
    if (label_behind && columns.separator == ' ') return true;
    if (remarks && columns.remarks && !columns.numeric_last) --texts;
    if (has_text_columns(columns, cells)) {
        for (std::size_t i = 0; texts > 0 && i < count; ++i)
            if (is_text(cells[i])) reading.row += string(cells[i]) + ' ';
        texts = 0;
    }
    const bool of_texts = columns.separator == '|' && extra == 0 && texts > 1 && has_label && heads_results(columns) &&
                          are_apart(columns, cells);
    if (of_texts) {
        for (const string_view cell : cells)
            if (is_text(cell)) reading.row += string(cell) + ' ';
        reading.row_is_named = true;
        texts = 0;
    }
    const std::size_t least = has_label && columns.separator == ' ' ? 2 : 1;
    if (numbers < least || texts > (has_label ? 1U : 0U) || (extra > 0 && !has_label)) return false;

    static constexpr string_view all[] = {"all", "total", "overall", "mean", "avg", "average"};
    if (!remarks && number_in(cells.back())) columns.numeric_last = true;
    columns.remarks = columns.remarks || !remarks;
    columns.numeric.resize(count);
    for (std::size_t i = 0; extra == 0 && i < count; ++i)
        if (number_in(cells[i])) columns.numeric[i] = true;
    if (!has_label && extra == 0 && heads_settings(columns)) reading.row = columns.names[0] + ' ' + string(cells[0]);
    string label = is_class                 ? "class_" + string(cells[0])
                   : is_counted             ? "row_" + string(cells[0])
                   : has_label && !of_texts ? name_in(cells[0])
                                            : "";
    if (std::find(std::begin(all), std::end(all), label) != std::end(all)) label.clear();
    reading.running = reading.running || columns.running;
    // Two columns, or "Metric | Train | Val", have the names in their rows.
    const bool named_rows =
        has_label && !of_texts && extra == 0 && (count == 2 || fit(columns.names[0], "metric") <= Fit::spelling);
    for (std::size_t i = extra; i < cells.size(); ++i) {
        const auto number = number_in(cells[i]);
        const string& column = columns.names[i - extra];
        if (const auto epoch = ratio_of(cells[i]); epoch && is_epoch(column)) reading.epoch = epoch->first;
        if (!number && is_unread(cells[i])) reading.unread.push_back(column);
        if (!number || column.empty()) continue;
        if (is_epoch(column) && !reading.epoch) reading.epoch = *number;
        if (const NamedNumber* before = reading.find(column);
            before != nullptr && before->number != *number && label.empty() && !named_rows)
            reading.find(column)->doubt = Doubt::several_times;
        if (named_rows)
            count == 2 ? reading.add(label, *number) : reading.add(column + "_" + label, *number, label);
        else if (label.empty() || is_general(column))
            reading.add(column, *number);
        else if (phase_of(column) != Phase::none && phase_of(label) == Phase::none)
            reading.add(column + "_" + label, *number, label);
        else if (phase_of(label) != Phase::none)
            reading.add(phase_in(column) == Phase::none ? label + "_" + column : column, *number, column);
        else
            reading.add(label + "_" + column, *number,
                        is_average_column(column) ? label.substr(0, label.find("_(")) : "");
    }
    return true;
}

/// Returns true for columns of a counter and of results beside those of texts.
bool Tables::heads_results(const Columns& columns) {
    const auto& names = columns.names;
    return std::any_of(names.begin(), names.end(), is_counter) &&
           std::any_of(names.begin(), names.end(), contains_metric_word);
}

/// Returns true if no text of this row is in a column that has had numbers.
bool Tables::are_apart(const Columns& columns, std::span<const string_view> cells) {
    for (std::size_t i = 0; i < cells.size() && i < columns.numeric.size(); ++i)
        if (columns.numeric[i] && !number_in(cells[i]) && has_letter(cells[i]) && !says_nothing(cells[i])) return false;
    return true;
}

/// Returns true for a row that begins with a number, of a table with signs between its columns, if its texts are single
/// words in columns without numbers: "1,0.5,True" below "epoch,val_loss,best".
bool Tables::has_text_columns(const Columns& columns, std::span<const string_view> cells) {
    if (columns.separator == ' ' || cells.size() != columns.names.size() || !number_in(cells[0])) return false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (number_in(cells[i]) || cells[i].empty()) continue;
        const bool numeric = i < columns.numeric.size() && columns.numeric[i];
        if (numeric || cells[i].find_first_of(" \t:=") != string_view::npos) return false;
    }
    return std::count_if(cells.begin(), cells.end(), number_in) > 1;
}

/// Reads a row with the number of the metric that another cell names, and a text beside them: "accuracy multiclass
/// 0.91" below ".metric .estimator .estimate". Of several numbers it is the one in the column of values.
bool Tables::read_named(const Columns& columns, std::span<const string_view> cells, Reading& reading) {
    const auto& names = columns.names;
    const auto column = std::find_if(names.begin(), names.end(), names_metrics);
    if (cells.size() < 3 || cells.size() != names.size() || column == names.end()) return false;
    auto number = std::find_if(cells.begin(), cells.end(), number_in);
    std::string texts;
    for (std::size_t i = 0; i < cells.size(); ++i)
        if (!number_in(cells[i]) && has_letter(cells[i]) && names[i] != *column) texts += string(cells[i]) + ' ';
    if (std::count_if(cells.begin(), cells.end(), number_in) != 1) {
        const auto value = std::find_if(names.begin(), names.end(), holds_values);
        number = value == names.end() || texts.empty() ? cells.end() : cells.begin() + (value - names.begin());
    }
    if (number == cells.end() && !texts.empty())
        return read_named_numbers(names, cells, static_cast<std::size_t>(column - names.begin()), reading);
    if (number == cells.end() || !number_in(*number)) return false;
    const string name = name_in(cells[static_cast<std::size_t>(column - names.begin())]);
    if (!name.empty()) reading.add(name, *number_in(*number));
    reading.row = texts;
    reading.row_is_named = true;
    return !name.empty();
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
