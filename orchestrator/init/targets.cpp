#include "orchestrator/init/targets.hpp"

#include <algorithm>
#include <map>

#include "hpo/from_chars.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"

namespace hpo::init {

namespace {

constexpr std::int64_t many_classes = 20;  // whole numbers that are classes, as the worker takes them

/// Returns true for a text that reads as this number, such as "1" and "1.0" for 1.
bool is(double number, const std::string& text) {
    double read = 0;
    const auto end = from_chars(text.data(), text.data() + text.size(), read).ptr;
    return end == text.data() + text.size() && read == number;
}

bool is_label(const ColumnFacts& column) {
    return column.kind == "number" && !column.values.empty() &&
           std::all_of(column.values.begin(), column.values.end(),
                       [](const auto& one) { return is(0, one.first) || is(1, one.first); });
}

std::int64_t percent(std::int64_t count, std::int64_t rows) {
    return (200 * count / std::max<std::int64_t>(1, rows) + 1) / 2;
}

/// Returns "50 (33 %)".
std::string count_and_share(std::int64_t count, std::int64_t share) {
    return std::to_string(count) + " (" + std::to_string(share) + " %)";
}

/// Returns the shares of the counts in percent. Where they add up to more than 100, those that were rounded up by most
/// are rounded down. Equal counts have equal shares.
std::map<std::int64_t, std::int64_t> shares_of(const std::vector<std::pair<std::string, std::int64_t>>& values,
                                               std::int64_t rows) {
    std::map<std::int64_t, std::int64_t> shares;
    std::int64_t sum = 0;
    for (const auto& [value, count] : values) sum += shares[count] = percent(count, rows);
    while (sum > 100) {
        const auto excess = [&](const auto& share) { return share.second * rows - 100 * share.first; };
        const auto most = std::max_element(shares.begin(), shares.end(),
                                           [&](const auto& a, const auto& b) { return excess(a) < excess(b); });
        if (excess(*most) <= 0) break;
        --most->second;
        sum -= std::count_if(values.begin(), values.end(), [&](const auto& one) { return one.second == most->first; });
    }
    return shares;
}

/// Returns "3 classes: setosa 50 (33 %), ...", the largest first.
std::string classes_text(std::vector<std::pair<std::string, std::int64_t>> values, std::int64_t rows) {
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text = std::to_string(values.size()) + " classes: ";
    const auto shares = shares_of(values, rows);
    for (std::size_t i = 0; i < std::min(values.size(), shown_names); ++i)
        text += (i > 0 ? ", " : "") + printable(values[i].first) + ' ' +
                count_and_share(values[i].second, shares.at(values[i].second));
    return text + (values.size() > shown_names ? ", ..." : "");
}

/// Returns the texts of the targets, of many the first ones.
template <typename TextOf>
std::string list_text(const Targets& targets, TextOf text_of) {
    std::string text;
    for (std::size_t i = 0; i < std::min(targets.columns.size(), shown_names); ++i)
        text += (i > 0 ? ", " : "") + text_of(*targets.columns[i]);
    return text + (targets.columns.size() > shown_names ? ", ..." : "");
}

/// Returns the number of rows that have the label.
std::int64_t rows_with(const ColumnFacts& label) {
    std::int64_t with = 0;
    for (const auto& [value, count] : label.values) with += is(1, value) ? count : 0;
    return with;
}

/// Returns "toxic 12 (3 %)".
std::string label_text(const ColumnFacts& label, std::int64_t rows) {
    const std::int64_t with = rows_with(label);
    return printable(label.name) + ' ' + count_and_share(with, percent(with, rows));
}

/// Returns " (grade has other values than 0 and 1)" if but for this column others were labels.
std::string why_no_labels(const Targets& targets) {
    const auto& columns = targets.columns;
    if (std::none_of(columns.begin(), columns.end(), [](auto* column) { return is_label(*column); })) return {};
    const auto other = std::find_if_not(columns.begin(), columns.end(), [](auto* column) { return is_label(*column); });
    return " (" + printable((*other)->name) + " has other values than 0 and 1)";
}

}  // namespace

double Targets::rarest(std::int64_t rows) const {
    std::int64_t least = rows;
    if (task != Task::regression)
        for (const ColumnFacts* column : columns)
            for (const auto& [value, count] : column->values) least = std::min(least, count);
    return static_cast<double>(least) / static_cast<double>(rows);
}

std::int64_t Targets::uneven_labels(std::int64_t rows, double share) const {
    return std::count_if(columns.begin(), columns.end(), [&](const ColumnFacts* column) {
        const std::int64_t with = rows_with(*column);
        return static_cast<double>(std::min(with, rows - with)) < share * static_cast<double>(rows);
    });
}

Result<Targets> targets_of(const DataFacts& facts, bool as_series) {
    Targets targets;
    for (const std::string& name : facts.targets)
        for (const ColumnFacts& column : facts.columns)
            if (column.name == name) targets.columns.push_back(&column);
    if (targets.columns.empty()) return Error{facts.path + ": no column can be predicted"};
    const auto refused = [&](const ColumnFacts& column, const std::string& why) {
        return Error{facts.path + ": the target " + printable(column.name) + ' ' + why + "; --target names " +
                     (targets.several() ? "other columns" : "another column")};
    };
    for (const ColumnFacts* column : targets.columns) {
        if (column->kind == "dates" || column->kind == "formatted" || column->kind == "unreadable")
            return refused(*column, "holds no plain numbers or names (" + printable(column->example) + ")");
        if (column->missing > 0)
            return refused(*column, "is missing in " + counted(column->missing, "row") + ": leave these rows out");
        if (column->distinct < 2) return refused(*column, "is the same in all rows: there is nothing to learn");
        if (column->kind == "number") continue;
        if (as_series) return refused(*column, "is no number");
        if (targets.several())
            return refused(*column, "holds texts (" + printable(column->example) +
                                        "): several targets are numbers, or labels of 0 and 1");
    }
    const ColumnFacts& first = *targets.columns.front();
    if (as_series) return targets;
    if (targets.several()) {
        if (std::all_of(targets.columns.begin(), targets.columns.end(), [](auto* column) { return is_label(*column); }))
            targets.task = Task::labels;
    } else if (first.kind != "number" || (first.whole && first.distinct <= many_classes)) {
        targets.task = Task::classification;
        if (first.distinct > most_names) return refused(first, "has over 1000 different texts, too many for classes");
    }
    return targets;
}

std::string target_line(const DataFacts& facts, const Targets& targets) {
    const ColumnFacts& first = *targets.columns.front();
    if (targets.task == Task::labels)
        return "targets   " + std::to_string(targets.columns.size()) + " labels: " +
               list_text(targets, [&](const ColumnFacts& column) { return label_text(column, facts.rows); });
    if (targets.several())
        return "targets   " + list_text(targets, [](const ColumnFacts& column) { return printable(column.name); }) +
               ": numbers" + why_no_labels(targets);
    return "target    " + printable(first.name) +
           (facts.target_was_guessed ? " (a guess; --target names another)" : "") + ": " +
           (targets.task == Task::classification ? classes_text(first.values, facts.rows) : "numbers");
}

}  // namespace hpo::init
