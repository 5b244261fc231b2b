#include "worker/data/series.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/field_kinds.hpp"
#include "worker/data/number_fit.hpp"
#include "worker/data/table_source.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_series_rows = 1'000'000'000;
constexpr std::int64_t most_series_classes = 4096;

class SeriesReader {
   public:
    SeriesReader(const DataConfig& config, TableSource& source, Series& series)
        : config_(config), source_(source), series_(series), names_(source.names()) {}

    Result<void> run() {
        if (auto read = read_columns(); !read) return read;
        std::vector<Wanted> wanted(names_.size(), Wanted::nothing);
        for (std::size_t i = 0; i < names_.size(); ++i)
            if (column_of_field_[i])
                wanted[i] = Wanted::number;
            else if (is_target_[i] || compares_times_[i])
                wanted[i] = Wanted::text;
        auto read = source_.each_row(wanted, [this](auto place, auto cells) { return read_row(place, cells); });
        if (!read) return read;
        return has_classes() ? settle_classes() : Result<void>();
    }

   private:
    [[nodiscard]] bool has_classes() const { return config_.task == Task::classification; }

    /// Orders the classes, which were numbered as they came.
    Result<void> settle_classes() {
        if (class_numbers_.size() == 1)
            return Error{"data.target: column " + shown_name(series_.class_column) + " of " + series_.file.string() +
                         " has the same value in every row, " + quoted_name(class_numbers_.begin()->first) +
                         ": there is nothing to learn"};
        std::vector<std::pair<std::string, std::int32_t>> found(class_numbers_.begin(), class_numbers_.end());
        const bool numbers =
            std::all_of(found.begin(), found.end(), [](const auto& one) { return number_of(one.first).has_value(); });
        std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
            return numbers && *number_of(a.first) != *number_of(b.first) ? *number_of(a.first) < *number_of(b.first)
                                                                         : a.first < b.first;
        });
        const auto first = std::find_if(found.begin(), found.end(), [](const auto& one) { return one.second == 0; });
        if (const auto why = unrepeated_classes(found.size(), series_.rows, first->first, numbers); !why.empty())
            return Error{"data.target: column " + shown_name(series_.class_column) + " of " + series_.file.string() +
                         " " + why};
        std::vector<std::int32_t> place(found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            place[static_cast<std::size_t>(found[i].second)] = static_cast<std::int32_t>(i);
            series_.classes.push_back(found[i].first);
        }
        for (std::int32_t& label : series_.labels) label = place[static_cast<std::size_t>(label)];
        return {};
    }

    Result<void> add_label(std::int64_t place, std::size_t field, const Cell& cell) {
        if (cell.missing) return at(place, field, missing_target(cell.text));
        const auto number = static_cast<std::int32_t>(class_numbers_.size());
        const auto [its, is_new] = class_numbers_.try_emplace(std::string(cell.text), number);
        if (is_new && !is_utf8(cell.text)) return at(place, field, wrong_encoding(cell.text));
        if (is_new && class_numbers_.size() > static_cast<std::size_t>(most_series_classes))
            return at(place, field,
                      "more than " + grouped(most_series_classes) +
                          " different classes: for numbers to predict, task: regression");
        series_.labels.push_back(its->second);
        return {};
    }

    [[nodiscard]] Error broken(const std::string& what) const { return {series_.file.string() + ": " + what}; }
    [[nodiscard]] std::string column_text(std::size_t field) const {
        return "column " + std::to_string(field + 1) + " (" + shown_name(names_[field]) + ")";
    }
    /// While rows are read, which names the file.
    [[nodiscard]] Error at(std::int64_t place, std::size_t field, const std::string& what) const {
        return {source_.unit() + (" " + std::to_string(place)) + ", " + column_text(field) + ": " + what};
    }

    Result<void> read_columns() {
        const auto targets = target_columns(names_, config_.target, "data.target", series_.file);
        if (!targets) return targets.error();
        if (has_classes() && targets->size() > 1)
            return Error{"data.target: with task: classification, a series has one column of classes"};
        const auto ignored = columns_listed(names_, config_.ignore, "data.ignore", series_.file);
        if (!ignored) return ignored.error();
        column_of_field_.resize(names_.size());
        is_target_.resize(names_.size());
        compares_times_.resize(names_.size());
        for (std::size_t i = 0; i < names_.size(); ++i) {
            is_target_[i] = std::find(targets->begin(), targets->end(), i) != targets->end();
            const SourceColumn& source = source_.columns()[i];
            const bool is_ignored =
                std::find(ignored->begin(), ignored->end(), i) != ignored->end() || (source.is_index && !is_target_[i]);
            for (const std::string* const problem : {&source.unreadable, &source.dates})
                if (!is_ignored && !problem->empty()) return broken(column_text(i) + " " + *problem);
            if (is_target_[i] && has_classes() && !is_ignored) {
                series_.class_column = names_[i];
                continue;
            }
            if (!is_ignored) {
                column_of_field_[i] = series_.columns.size();
                series_.columns.push_back({.name = names_[i], .constant = true});
                continue;
            }
            if (is_target_[i]) return Error{"data.ignore: " + quoted_name(names_[i]) + " is the target"};
            // A line of text is read whole anyway; columns left out of a Parquet file are not.
            compares_times_[i] = !is_parquet(series_.file);
            series_.ignored.push_back(names_[i]);
        }
        for (const std::size_t target : *targets)
            if (!has_classes()) series_.targets.push_back(*column_of_field_[target]);
        if (series_.columns.empty())
            return Error{"data.target: " + series_.file.string() + " has no other column, to tell the classes from"};
        return {};
    }

    Result<void> read_row(std::int64_t place, std::span<const Cell> cells) {
        if (series_.rows == most_series_rows) return Error{"more than " + std::to_string(most_series_rows) + " rows"};
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (compares_times_[i]) compare_times(place, i, cells[i].text);
            if (has_classes() && is_target_[i])
                if (auto added = add_label(place, i, cells[i]); !added) return added;
            if (!column_of_field_[i]) continue;
            const auto value = value_of(place, i, cells[i]);
            if (!value) return value.error();
            SeriesColumn& column = series_.columns[*column_of_field_[i]];
            column.constant = column.constant && (series_.rows == 0 || *value == before(*column_of_field_[i]));
            series_.values.push_back(*value);
        }
        ++series_.rows;
        return {};
    }

    /// Notes disorder in a column that is left out. Dates that begin with the year are in the order of their texts.
    void compare_times(std::int64_t place, std::size_t field, std::string_view text) {
        if (!series_.disorder.empty()) return;
        std::string& last = last_time_[field];
        const bool comparable = text.size() >= 7 && text.size() == last.size() && is_date(text) &&
                                text.substr(0, 4).find_first_not_of("0123456789") == std::string_view::npos;
        if (comparable && text < last)
            series_.disorder = source_.unit() + (" " + std::to_string(place)) + ": " + quoted_name(text) + " follows " +
                               quoted_name(last) + " in column " + shown_name(names_[field]);
        last = text;
    }

    Result<double> value_of(std::int64_t place, std::size_t field, const Cell& cell) {
        if (cell.missing) {
            if (is_target_[field]) return at(place, field, missing_target(cell.text));
            ++series_.columns[*column_of_field_[field]].missing;
            return series_.rows == 0 ? std::numeric_limits<double>::quiet_NaN() : before(*column_of_field_[field]);
        }
        if (!cell.number)
            return at(place, field,
                      quoted_name(cell.text) + " is no number, which a series needs; " +
                          (is_target_[field] ? "for classes to predict, give task: classification"
                                             : "leave the column out by data.ignore: " + shown_name(names_[field])));
        if (const char* why = unfit_reason(*cell.number)) return at(place, field, quoted_name(cell.text) + why);
        return *cell.number;
    }

    /// The last value of a column, while a row is read.
    [[nodiscard]] double before(std::size_t column) const { return series_.value(series_.rows - 1, column); }

    const DataConfig& config_;
    TableSource& source_;
    Series& series_;
    std::vector<std::string> names_;  ///< of all columns of the file
    std::vector<std::optional<std::size_t>> column_of_field_;
    std::vector<bool> is_target_;                        ///< by field
    std::vector<bool> compares_times_;                   ///< by field
    std::map<std::size_t, std::string> last_time_;       ///< of columns that are left out
    std::map<std::string, std::int32_t> class_numbers_;  ///< as they came
};

/// The keys that a series depends on.
struct SeriesKey {
    std::string path, target, ignore;
    std::optional<Task> task;
    std::uintmax_t bytes = 0;
    fs::file_time_type changed;
    friend bool operator==(const SeriesKey&, const SeriesKey&) = default;
};

}  // namespace

Result<const Series*> read_series(const DataConfig& config) {
    if (config.path.empty()) return Error{"data.path: needed for format series: a file"};
    if (config.target.empty()) return Error{"data.target: needed for format series: the column to predict"};
    const fs::path file = config.path;
    if (auto exists = check_data_file(file); !exists) return exists.error();
    std::error_code missing;
    const SeriesKey key{config.path,
                        config.target,
                        config.ignore,
                        config.task,
                        fs::file_size(file, missing),
                        fs::last_write_time(file, missing)};
    static std::optional<std::pair<SeriesKey, Series>> last;
    if (last && last->first == key) return &last->second;
    last.reset();
    Series series;
    series.file = file;
    auto source = open_table(file, is_parquet(file) ? "parquet" : "csv");
    if (!source) return data_file_error(file, source.error());
    if (auto read = SeriesReader(config, **source, series).run(); !read) return data_file_error(file, read.error());
    series.reading_bytes = (*source)->peak_bytes();
    last.emplace(key, std::move(series));
    return &last->second;
}

}  // namespace hpo
