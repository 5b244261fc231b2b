#include "worker/data/table_survey.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "worker/data/correlation.hpp"
#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/field_kinds.hpp"
#include "worker/data/number_fit.hpp"

namespace hpo {
namespace {

constexpr std::int64_t most_rows = 1'000'000'000;
constexpr std::int64_t most_features = 65'536;
constexpr std::size_t most_values = 1000;         // different ones of a categorical column
constexpr std::size_t most_telling_values = 64;   // of a column that may give the target away
constexpr std::size_t most_classes = 4096;        // of a target with texts
constexpr std::size_t most_numeric_classes = 20;  // of a target with whole numbers, unless the task is given

/// The values seen in a column, while the file is read.
struct Seen {
    std::int64_t numbers = 0, others = 0;
    std::int64_t formatted = 0;    ///< of the others, those that are numbers for people
    std::int64_t other_place = 0;  ///< of the first value that is no number
    std::string other;
    std::int64_t beyond_place = 0;  ///< of the first number that is infinite, or too large
    std::string beyond;
    double beyond_number = 0;
    std::string first;  ///< value
    bool varies = false;
    std::int64_t unfit_place = 0;  ///< of the first value but 0 and 1
    std::string unfit;
    std::vector<bool> equals;  ///< by target: true if equal in every row
    // For a table with one target:
    std::map<std::string, std::string, std::less<>> target_of;  ///< the target beside each value, of a few values
    bool tells = true;                                          ///< no value came with two
    Correlation with_target;                                    ///< of numbers
};

class Survey {
   public:
    Survey(const DataConfig& config, TableSource& source, Table& table)
        : config_(config), source_(source), table_(table) {}

    Result<void> run() {
        if (auto read = read_columns(); !read) return read;
        auto read =
            source_.each_row(wanted_first(), [this](auto place, auto cells) { return first_pass(place, cells); });
        if (!read) return read;
        table_.reading_bytes = source_.peak_bytes();
        if (table_.rows < 3)
            return broken("has " + grouped(table_.rows, "row") + (config_.format == "csv" ? " below its header" : "") +
                          ": at least 3 are needed, to train, to validate and to test");
        if (auto settled = settle_columns(); !settled) return settled;
        if (auto settled = settle_task(); !settled) return settled;
        counts_.resize(table_.columns.size());
        read = source_.each_row(wanted_again(), [this](auto place, auto cells) { return second_pass(place, cells); });
        if (!read) return read;
        return settle_levels();
    }

   private:
    [[nodiscard]] Error broken(const std::string& what) const { return {table_.file.string() + ": " + what}; }
    [[nodiscard]] std::string where(std::int64_t place, std::size_t column) const {
        return source_.unit() + (" " + std::to_string(place)) + ", column " + std::to_string(column + 1) + " (" +
               shown_name(table_.columns[column].name) + "): ";
    }
    /// While rows are read, which names the file.
    [[nodiscard]] Error in_row(std::int64_t place, std::size_t column, const std::string& what) const {
        return {where(place, column) + what};
    }
    [[nodiscard]] Error at(std::int64_t place, std::size_t column, const std::string& what) const {
        return broken(where(place, column) + what);
    }
    /// "FILE: column 3 (width)".
    [[nodiscard]] Error of_column(std::size_t column, const std::string& what) const {
        return broken("column " + std::to_string(column + 1) + " (" + shown_name(table_.columns[column].name) + ") " +
                      what);
    }

    Result<void> read_targets(const std::vector<std::string>& names) {
        const auto columns = target_columns(names, config_.target, "data.target", table_.file);
        if (!columns) return columns.error();
        if (columns->size() > 1 && config_.task == Task::classification)
            return Error{"data.target: " + std::to_string(columns->size()) +
                         " columns, where task: classification predicts one; several labels of 0 and 1 are task: "
                         "multi-label"};
        for (const std::size_t column : *columns) {
            table_.targets.push_back({.column = column});
            table_.columns[column].kind = ColumnKind::target;
        }
        return {};
    }

    [[nodiscard]] bool is_feature_or_target(std::size_t column) const {
        const ColumnKind kind = table_.columns[column].kind;
        return kind != ColumnKind::ignored && kind != ColumnKind::group;
    }

    /// Returns the parts of columns to read first: all features and targets.
    [[nodiscard]] std::vector<Wanted> wanted_first() const {
        std::vector<Wanted> wanted(table_.columns.size(), Wanted::nothing);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (is_feature_or_target(i)) wanted[i] = Wanted::text;
        return wanted;
    }
    /// Returns the parts of columns to read again: those with levels, groups or classes.
    [[nodiscard]] std::vector<Wanted> wanted_again() const {
        std::vector<Wanted> wanted(table_.columns.size(), Wanted::nothing);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            if (table_.columns[i].kind == ColumnKind::category || i == group_) wanted[i] = Wanted::text;
        if (table_.task == Task::classification) wanted[table_.targets.front().column] = Wanted::text;
        return wanted;
    }

    /// Sets the use of each column, by the configuration.
    Result<void> read_columns() {
        if (auto named = name_columns(); !named) return named;
        for (std::size_t i = 0; i < table_.columns.size(); ++i) {
            TableColumn& column = table_.columns[i];
            const SourceColumn& source = source_.columns()[i];
            // A column that the configuration does not name is a number until its values are known.
            const bool unnamed = column.kind == ColumnKind::number;
            column.is_index = unnamed && source.is_index;
            if (column.is_index) column.kind = ColumnKind::ignored;
            if (column.kind == ColumnKind::ignored) continue;
            if (!source.unreadable.empty()) return of_column(i, source.unreadable);
            if (!source.dates.empty() && (unnamed || column.kind == ColumnKind::target))
                return of_column(i, source.dates + further_dates(i));
        }
        return {};
    }

    Result<void> name_columns() {
        const std::vector<std::string> names = source_.names();
        for (const std::string& name : names) table_.columns.push_back({name});
        if (names.size() == 1)
            return broken("has one column alone, " + quoted_name(names[0]) +
                          ": a target and at least one other column are needed" +
                          (config_.format == "csv" ? ", separated by commas" : ""));
        seen_.resize(names.size());
        if (auto found = read_targets(names); !found) return found;
        for (const auto& [key, list, kind] :
             {std::tuple("data.ignore", &config_.ignore, ColumnKind::ignored),
              std::tuple("data.categorical", &config_.categorical, ColumnKind::category)}) {
            const auto columns = columns_listed(names, *list, key, table_.file);
            if (!columns) return columns.error();
            for (const std::size_t column : *columns) {
                const std::string& name = names[column];
                const bool is_target = table_.columns[column].kind == ColumnKind::target;
                if (is_target && kind == ColumnKind::ignored)
                    return Error{std::string(key) + ": " + quoted_name(name) + " is the target"};
                if (is_target)
                    return Error{std::string(key) + ": " + quoted_name(name) +
                                 " is the target; task: classification makes classes of its numbers"};
                if (table_.columns[column].kind == ColumnKind::ignored)
                    return Error{std::string(key) + ": " + quoted_name(name) + " is named in data.ignore, too"};
                table_.columns[column].kind = kind;
            }
        }
        for (Seen& seen : seen_) seen.equals.assign(table_.targets.size(), true);
        if (config_.group.empty()) return {};
        const auto group = column_named(names, config_.group, "data.validation.group", table_.file);
        if (!group) return group.error();
        const TableColumn& column = table_.columns[*group];
        if (column.kind == ColumnKind::target || column.kind == ColumnKind::category)
            return Error{"data.validation.group: " + quoted_name(config_.group) +
                         (column.kind == ColumnKind::target ? " is the target"
                                                            : " is named in data.categorical, too: a column that "
                                                              "divides the rows is no feature")};
        group_ = *group;
        table_.columns[*group].kind = ColumnKind::group;
        return {};
    }

    static void compare_with_target(Seen& seen, const Cell& cell, const Cell& target) {
        if (cell.number && target.number) seen.with_target.add(*cell.number, *target.number);
        if (!seen.tells) return;
        const auto before = seen.target_of.find(cell.text);
        if (before == seen.target_of.end())
            seen.target_of.emplace(cell.text, target.text);
        else if (before->second != target.text)
            seen.tells = false;
        if (seen.target_of.size() > most_telling_values) seen.tells = false;
        if (!seen.tells) seen.target_of.clear();
    }

    /// Types, missing values, and the values of the target.
    Result<void> first_pass(std::int64_t place, std::span<const Cell> cells) {
        if (++table_.rows > most_rows) return Error{"more than " + std::to_string(most_rows) + " rows"};
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!is_feature_or_target(i)) continue;
            TableColumn& column = table_.columns[i];
            const Cell& cell = cells[i];
            const auto& number = cell.number;
            Seen& seen = seen_[i];
            if (table_.rows == 1) seen.first = cell.text;
            seen.varies = seen.varies || cell.text != seen.first;
            for (std::size_t t = 0; t < seen.equals.size(); ++t)
                seen.equals[t] = seen.equals[t] && same_value(cell, cells[table_.targets[t].column]);
            if (seen.equals.size() == 1 && column.kind != ColumnKind::target)
                compare_with_target(seen, cell, cells[table_.targets.front().column]);
            if (cell.missing) {
                if (column.kind == ColumnKind::target) return in_row(place, i, missing_target(cell.text));
                ++column.missing;
                continue;
            }
            if (number && unfit_reason(*number) != nullptr && seen.beyond_place == 0) {
                seen.beyond_place = place;
                seen.beyond = cell.text;
                seen.beyond_number = *number;
            }
            if ((!number || (*number != 0 && *number != 1)) && seen.unfit_place == 0) {
                seen.unfit_place = place;
                seen.unfit = cell.text;
            }
            if (number) {
                ++seen.numbers;
            } else {
                if (seen.formatted == seen.others && is_formatted_number(cell.text)) ++seen.formatted;
                if (seen.others++ > 0) continue;
                seen.other_place = place;
                seen.other = cell.text;
            }
        }
        for (TargetColumn& target : table_.targets) {
            const auto& number = cells[target.column].number;
            if (!number) continue;
            target.low = table_.rows == 1 ? *number : std::min(target.low, *number);
            target.high = table_.rows == 1 ? *number : std::max(target.high, *number);
            target.ones += *number == 1 ? 1 : 0;
            whole_targets_ = whole_targets_ && *number == std::floor(*number);
        }
        if (table_.targets.size() == 1 && class_counts_.size() <= most_classes) {
            const std::string name(cells[table_.targets.front().column].text);
            if (class_counts_[name]++ == 0 && !is_utf8(name))
                return in_row(place, table_.targets.front().column, wrong_encoding(name));
        }
        return {};
    }

    static bool same_value(const Cell& a, const Cell& b) {
        return a.text == b.text || (a.number && b.number && *a.number == *b.number);
    }

    /// Numbers that no mean can be taken of.
    [[nodiscard]] Result<void> check_range(std::size_t i) const {
        const Seen& seen = seen_[i];
        if (seen.beyond_place == 0 || seen.others > 0 || table_.columns[i].kind == ColumnKind::category) return {};
        return at(seen.beyond_place, i, quoted_name(seen.beyond) + unfit_reason(seen.beyond_number));
    }

    /// Returns the end of the error of a column of dates: the further columns that the next error would name.
    [[nodiscard]] std::string further_dates(std::size_t column) const {
        std::string names;
        for (std::size_t i = column + 1; i < table_.columns.size(); ++i) {
            const bool unnamed = table_.columns[i].kind == ColumnKind::number && !source_.columns()[i].is_index;
            if (unnamed && (!source_.columns()[i].dates.empty() || (seen_[i].others > 0 && is_date(seen_[i].other))))
                names += (names.empty() ? "" : ", ") + shown_name(table_.columns[i].name);
        }
        return names.empty() ? "" : "; further columns of dates: " + names;
    }

    /// Fails if a column has a text among numbers, which would turn all its values into names.
    [[nodiscard]] Result<void> check_numeric(std::size_t i) const {
        const Seen& seen = seen_[i];
        const TableColumn& column = table_.columns[i];
        if (seen.others == 0 || column.kind == ColumnKind::category) return {};
        const bool is_target = column.kind == ColumnKind::target;
        const std::string as_names =
            is_target ? "; if these are classes, give task: classification"
                      : "; if these are names, say so by data.categorical: " + shown_name(column.name);
        const auto such_as = [&] {
            return ", such as " + quoted_name(seen.other) + " in " + source_.unit() + " " +
                   std::to_string(seen.other_place);
        };
        if (is_date(seen.other))
            return of_column(
                i, "holds dates or times" + such_as() + ": write them as numbers (a day's number, a month, a weekday)" +
                       (is_target ? as_names
                                  : "; leave the column out by data.ignore, or take its values as names by "
                                    "data.categorical: " +
                                        shown_name(column.name)) +
                       further_dates(i));
        if (seen.formatted == seen.others)
            return of_column(i, "holds numbers" + such_as() +
                                    ": write them without separators of thousands, a decimal comma, or the sign of a "
                                    "unit, such as 1234.5" +
                                    as_names);
        if (seen.numbers >= 9 * seen.others)
            return at(
                seen.other_place, i,
                quoted_name(seen.other) + " is no number, but " + std::to_string(seen.numbers) + " other values are" +
                    (is_target ? "" : "; if these are names, say so by data.categorical: " + shown_name(column.name)));
        return {};
    }

    Result<void> settle_columns() {
        for (std::size_t i = 0; i < table_.columns.size(); ++i) {
            TableColumn& column = table_.columns[i];
            if (column.kind == ColumnKind::ignored || column.kind == ColumnKind::group) continue;
            const bool is_target = column.kind == ColumnKind::target;
            if (!config_.task || !is_target)
                if (auto checked = check_numeric(i); !checked) return checked;
            if (auto checked = check_range(i); !checked) return checked;
            const Seen& seen = seen_[i];
            if (column.kind == ColumnKind::number && seen.others > 0) column.kind = ColumnKind::category;
            column.constant = !seen.varies;
            const auto values = static_cast<std::int64_t>(seen.target_of.size());
            column.tells_target = !is_target && seen.equals.size() == 1 &&
                                  ((seen.tells && seen.varies && table_.rows >= 20 * values) ||
                                   (seen.with_target.complete() && seen.others == 0 && column.missing == 0));
            column.equals_target =
                !is_target && std::find(seen.equals.begin(), seen.equals.end(), true) != seen.equals.end();
        }
        return {};
    }

    Result<void> settle_task() {
        if (table_.targets.size() > 1 || config_.task == Task::multi_label) return settle_targets();
        const std::size_t its = table_.targets.front().column;
        const Seen& target = seen_[its];
        const bool many = class_counts_.size() > most_classes;
        const bool numbers = target.others == 0;
        const bool few = whole_targets_ && class_counts_.size() <= most_numeric_classes;
        table_.task = config_.task.value_or(numbers && !few ? Task::regression : Task::classification);
        if (table_.task == Task::regression && !numbers)
            return at(target.other_place, its,
                      quoted_name(target.other) + " is no number, which task: regression needs");
        if (class_counts_.size() == 1)
            return of_column(its, "is the target, and has the same value in every row, " + quoted_name(target.first) +
                                      ": there is nothing to learn");
        if (config_.split == SplitKind::stratified && table_.task == Task::regression)
            return Error{"data.split: stratified is for classes, and the target is a number: use random or time"};
        table_.split = config_.split != SplitKind::automatic ? config_.split
                       : table_.task == Task::classification ? SplitKind::stratified
                                                             : SplitKind::random;
        if (table_.task == Task::regression) return {};
        if (many)
            return of_column(its, "is the target, and has more than " + std::to_string(most_classes) +
                                      " different values" + (numbers ? ": for numbers, task: regression" : ""));
        if (const auto why = unrepeated_classes(class_counts_.size(), table_.rows, target.first, numbers); !why.empty())
            return of_column(its, "is the target, and " + why);
        for (const auto& [name, count] : class_counts_) table_.classes.push_back({name, count});
        if (numbers)
            std::sort(table_.classes.begin(), table_.classes.end(), [](const ClassCount& a, const ClassCount& b) {
                return std::pair(*number_of(a.name), a.name) < std::pair(*number_of(b.name), b.name);
            });
        for (std::size_t i = 0; i < table_.classes.size(); ++i)
            class_numbers_[table_.classes[i].name] = static_cast<std::int32_t>(i);
        table_.labels.reserve(static_cast<std::size_t>(table_.rows));
        return {};
    }

    /// Determines the task with several columns to predict, or with labels.
    Result<void> settle_targets() {
        const bool labels = std::all_of(table_.targets.begin(), table_.targets.end(),
                                        [&](const TargetColumn& one) { return seen_[one.column].unfit_place == 0; });
        table_.task = config_.task.value_or(labels ? Task::multi_label : Task::regression);
        const bool predicts_labels = table_.task == Task::multi_label;
        for (const TargetColumn& target : table_.targets) {
            const Seen& seen = seen_[target.column];
            if (predicts_labels && seen.unfit_place > 0)
                return at(seen.unfit_place, target.column,
                          quoted_name(seen.unfit) +
                              " is neither 0 nor 1, by which task: multi-label tells whether a row has the label");
            if (!predicts_labels && seen.others > 0)
                return at(seen.other_place, target.column,
                          quoted_name(seen.other) + " is no number, which task: regression needs");
        }
        if (std::none_of(table_.targets.begin(), table_.targets.end(),
                         [&](const TargetColumn& one) { return seen_[one.column].varies; }))
            return broken(table_.targets.size() == 1
                              ? "the target has the same value in every row: there is nothing to learn"
                              : "each target has the same value in every row: there is nothing to learn");
        if (config_.split == SplitKind::stratified)
            return Error{"data.split: stratified is for classes, and there are " +
                         std::string(predicts_labels ? "labels" : "numbers") + " to predict: use random or time"};
        table_.split = config_.split == SplitKind::automatic ? SplitKind::random : config_.split;
        return {};
    }

    /// The values of categorical columns, and each row's class.
    Result<void> second_pass(std::int64_t place, std::span<const Cell> cells) {
        if (++rows_again_ > table_.rows) return Error{"changed while it was read"};
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (table_.columns[i].kind != ColumnKind::category) continue;
            if (counts_[i][cells[i].missing ? std::string() : std::string(cells[i].text)]++ == 0 &&
                !is_utf8(cells[i].text))
                return in_row(place, i, wrong_encoding(cells[i].text));
            if (counts_[i].size() > most_values)
                return in_row(place, i,
                              "more than " + std::to_string(most_values) + " different texts, such as " +
                                  quoted_name(cells[i].text) +
                                  ": a name of the row? Leave the column out by data.ignore: " +
                                  shown_name(table_.columns[i].name));
        }
        if (group_) {
            const Cell& cell = cells[*group_];
            if (cell.missing) return in_row(place, *group_, "the group is missing (" + quoted_name(cell.text) + ")");
            const auto [its, is_new] = group_numbers_.try_emplace(std::string(cell.text), table_.group_rows.size());
            if (is_new) table_.group_rows.push_back(0);
            ++table_.group_rows[its->second];
            table_.groups.push_back(static_cast<std::int32_t>(its->second));
        }
        if (table_.task != Task::classification) return {};
        const auto found = class_numbers_.find(std::string(cells[table_.targets.front().column].text));
        if (found == class_numbers_.end()) return Error{"changed while it was read"};
        table_.labels.push_back(found->second);
        return {};
    }

    /// The values that may be levels, in alphabetical order.
    Result<void> settle_levels() {
        if (rows_again_ != table_.rows) return broken("changed while it was read");
        for (std::size_t i = 0; i < table_.columns.size(); ++i) {
            TableColumn& column = table_.columns[i];
            std::vector<std::int64_t> frequent;  // counts
            for (const auto& [value, count] : counts_[i]) {
                column.rare += count;
                if (count < least_level_rows) continue;
                column.values.push_back(value);
                frequent.push_back(count);
            }
            std::sort(column.values.begin(), column.values.end());
            std::sort(frequent.begin(), frequent.end(), std::greater());
            for (std::size_t level = 0; level < column.levels(); ++level) column.rare -= frequent[level];
        }
        const std::int64_t features = table_.features();
        if (features == 0) return broken("has no column but the target and those of data.ignore");
        if (features > most_features)
            return broken("becomes " + std::to_string(features) + " features: at most " +
                          std::to_string(most_features) + " are possible");
        return {};
    }

    const DataConfig& config_;
    TableSource& source_;
    Table& table_;
    std::vector<Seen> seen_;
    std::map<std::string, std::int64_t> class_counts_;
    std::unordered_map<std::string, std::int32_t> class_numbers_;
    std::optional<std::size_t> group_;  ///< column
    std::unordered_map<std::string, std::size_t> group_numbers_;
    std::vector<std::unordered_map<std::string, std::int64_t>> counts_;
    bool whole_targets_ = true;
    std::int64_t rows_again_ = 0;
};

}  // namespace

Result<void> survey_columns(const DataConfig& config, TableSource& source, Table& table) {
    return Survey(config, source, table).run();
}

}  // namespace hpo
