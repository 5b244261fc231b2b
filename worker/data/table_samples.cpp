// The samples of tables: rows become features by the columns of table.hpp. Everything that is fitted
// (means, deviations, medians, the levels that are known) is of the training split alone.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "hpo/median.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/number_fit.hpp"
#include "worker/data/split.hpp"
#include "worker/data/table.hpp"
#include "worker/data/table_source.hpp"
#include "worker/data/trained_classes.hpp"

namespace hpo {
namespace {

using Row = std::span<const Cell>;

constexpr std::size_t batch_bytes = std::size_t{1} << 18;  // bytes that are passed on at once

/// The fit of one column.
struct Fit {
    NumberFit moments;
    std::vector<double> numbers;  ///< of numeric columns with missing values, for the median
    double median = 0;
    // For categorical columns:
    std::unordered_map<std::string_view, std::size_t> values;  ///< indices into the table's
    std::vector<std::int64_t> counts;                          ///< training rows with each value
    std::vector<std::size_t> levels;                           ///< values, the most frequent one first
    std::vector<std::size_t> features;                         ///< of each value: its level, or that of "other"
};

class TableLoader {
   public:
    TableLoader(const Table& table, TableSource& source, std::vector<RowUse> uses)
        : table_(table), source_(source), uses_(std::move(uses)), wanted_(table.columns.size(), Wanted::nothing) {
        fits_.resize(table.columns.size());
        for (std::size_t i = 0; i < fits_.size(); ++i) {
            const TableColumn& column = table.columns[i];
            for (std::size_t value = 0; value < column.values.size(); ++value)
                fits_[i].values[column.values[value]] = value;
            fits_[i].counts.resize(column.values.size());
            if (column.kind == ColumnKind::number) wanted_[i] = Wanted::number;
            if (column.kind == ColumnKind::category) wanted_[i] = Wanted::text;
            if (column.kind == ColumnKind::target && table.task != Task::classification) wanted_[i] = Wanted::number;
        }
    }

    Result<void> fit() {
        auto read = each_row([this](std::size_t row, Row cells) {
            if (uses_[row] == RowUse::train) fit_row(cells);
        });
        if (!read) return read;
        for (std::size_t i = 0; i < fits_.size(); ++i) {
            Fit& fit = fits_[i];
            choose_levels(table_.columns[i].levels(), fit);
            if (fit.numbers.empty()) continue;
            fit.median = median(std::exchange(fit.numbers, {}));
        }
        return {};
    }

    Result<void> encode(const SampleSink& sink) {
        std::array<Waiting, 2> waiting{Waiting{Part::train}, Waiting{Part::test}};
        auto read = each_row([&](std::size_t row, Row cells) {
            Waiting& its = waiting[uses_[row] == RowUse::test ? 1 : 0];
            add_features(cells, its.features);
            add_targets(row, cells, its.targets);
            ++its.count;
            if (its.features.size() * sizeof(float) >= batch_bytes) its.pass_on(sink);
        });
        if (!read) return read;
        for (Waiting& its : waiting) its.pass_on(sink);
        return {};
    }

    [[nodiscard]] DataFacts facts() const {
        using Json = nlohmann::ordered_json;
        Json columns = Json::array();
        for (std::size_t i = 0; i < fits_.size(); ++i) {
            const TableColumn& column = table_.columns[i];
            const Fit& fit = fits_[i];
            if (column.kind == ColumnKind::number) {
                Json json{{"name", column.name},
                          {"kind", "number"},
                          {"mean", fit.moments.mean()},
                          {"deviation", fit.moments.deviation()}};
                if (column.missing > 0) json["median"] = fit.median;
                columns.push_back(std::move(json));
            } else if (column.kind == ColumnKind::category) {
                Json levels = Json::array();
                for (std::size_t level = 0; level < column.levels(); ++level)
                    levels.push_back(level < fit.levels.size() ? Json(column.values[fit.levels[level]])
                                                               : Json(nullptr));
                columns.push_back({{"name", column.name}, {"kind", "category"}, {"levels", std::move(levels)}});
            }
        }
        Json targets = Json::array();
        for (const TargetColumn& target : table_.targets) {
            Json its{{"name", table_.columns[target.column].name}};
            if (table_.task == Task::regression) {
                its["mean"] = fits_[target.column].moments.mean();
                its["deviation"] = fits_[target.column].moments.deviation();
            }
            for (const ClassCount& one : table_.classes) its["classes"].push_back(one.name);
            targets.push_back(std::move(its));
        }
        Json json{{"columns", std::move(columns)}};
        const bool one = table_.targets.size() == 1 && table_.task != Task::multi_label;
        one ? json["target"] = targets.front() : json["targets"] = targets;
        DataFacts facts;
        if (one && table_.task == Task::regression) {
            const NumberFit& moments = fits_[table_.targets.front().column].moments;
            facts.target_mean = moments.mean();
            facts.target_deviation = moments.deviation();
        }
        facts.encoding = json.dump(-1, ' ', false, Json::error_handler_t::replace);
        return facts;
    }

   private:
    /// Rows of a part that the sink has yet to get.
    struct Waiting {
        Part part;
        std::int64_t first = 0, count = 0;
        std::vector<float> features{};
        std::vector<std::uint32_t> targets{};  ///< bits

        void pass_on(const SampleSink& sink) {
            if (count == 0) return;
            sink({part, first, count, std::as_bytes(std::span(features)), std::as_bytes(std::span(targets))});
            first += std::exchange(count, 0);
            features.clear();
            targets.clear();
        }
    };

    template <class F>
    Result<void> each_row(F&& visit) {
        std::size_t row = 0;
        const auto changed = [&] { return Error{table_.file.string() + ": changed while it was read"}; };
        if (source_.columns().size() != table_.columns.size()) return changed();
        auto read = source_.each_row(wanted_, [&](std::int64_t, Row cells) -> Result<void> {
            if (row == uses_.size()) return Error{"changed while it was read"};
            visit(row++, cells);
            return {};
        });
        if (!read) return read;
        if (row != uses_.size()) return changed();
        return {};
    }

    void fit_row(Row cells) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const TableColumn& column = table_.columns[i];
            Fit& fit = fits_[i];
            const bool number = column.kind == ColumnKind::number ||
                                (column.kind == ColumnKind::target && table_.task == Task::regression);
            if (number) {
                const auto& value = cells[i].number;
                if (!value) continue;
                fit.moments.add(*value);
                if (column.missing > 0) fit.numbers.push_back(*value);
            } else if (column.kind == ColumnKind::category) {
                if (const auto value = value_of(i, cells[i])) ++fit.counts[*value];
            }
        }
    }

    /// At most `most`, the number of features that are for levels. Values with equal counts are in alphabetical order.
    static void choose_levels(std::size_t most, Fit& fit) {
        for (std::size_t value = 0; value < fit.counts.size(); ++value)
            if (fit.counts[value] >= least_level_rows) fit.levels.push_back(value);
        std::stable_sort(fit.levels.begin(), fit.levels.end(),
                         [&](std::size_t a, std::size_t b) { return fit.counts[a] > fit.counts[b]; });
        if (fit.levels.size() > most) fit.levels.resize(most);
        fit.features.assign(fit.counts.size(), most);
        for (std::size_t level = 0; level < fit.levels.size(); ++level) fit.features[fit.levels[level]] = level;
    }

    /// Returns the index of the cell's value; nothing where too few rows have it.
    [[nodiscard]] std::optional<std::size_t> value_of(std::size_t column, const Cell& cell) const {
        const auto& values = fits_[column].values;
        const auto found = values.find(cell.missing ? std::string_view() : cell.text);
        return found == values.end() ? std::nullopt : std::optional(found->second);
    }

    void add_features(Row cells, std::vector<float>& to) const {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const TableColumn& column = table_.columns[i];
            const Fit& fit = fits_[i];
            if (column.kind == ColumnKind::number) {
                const auto& value = cells[i].number;
                to.push_back(
                    static_cast<float>((value.value_or(fit.median) - fit.moments.mean()) / fit.moments.deviation()));
                if (column.missing > 0) to.push_back(value ? 0.0F : 1.0F);
            } else if (column.kind == ColumnKind::category) {
                const std::size_t first = to.size();
                to.resize(first + column.levels() + 1);
                const auto value = value_of(i, cells[i]);
                to[first + (value ? fit.features[*value] : column.levels())] = 1;
            }
        }
    }

    void add_targets(std::size_t row, Row cells, std::vector<std::uint32_t>& to) const {
        if (table_.task == Task::classification) return to.push_back(static_cast<std::uint32_t>(table_.labels[row]));
        for (const TargetColumn& target : table_.targets) {
            const NumberFit& moments = fits_[target.column].moments;  // of labels 0 and 1
            const double value = cells[target.column].number.value_or(0);
            to.push_back(
                std::bit_cast<std::uint32_t>(static_cast<float>((value - moments.mean()) / moments.deviation())));
        }
    }

    const Table& table_;
    TableSource& source_;
    std::vector<RowUse> uses_;
    std::vector<Wanted> wanted_;
    std::vector<Fit> fits_;
};

ClassedSamples classed_rows(const Table& table) {
    return {.classes = table.labels,
            .count = static_cast<std::int64_t>(table.classes.size()),
            .name_of = [&table](std::size_t i) { return table.classes[i].name; },
            .sample = "row",
            .split = table.split};
}

/// A warning of classes that no row trains, or the error that one class alone is trained on.
Result<std::string> untrained_rows(const Table& table, const DataConfig& config, const TableParts& parts) {
    if (table.task != Task::classification) return std::string();
    return untrained_classes(config, classed_rows(table), [&](const DataConfig& fold) -> Result<RowSplit> {
        return split_table(table, fold, parts, 0);
    });
}

std::string target_line(const Table& table) {
    if (table.task == Task::multi_label) {
        std::vector<ClassCount> labels;
        for (const TargetColumn& one : table.targets) labels.push_back({table.columns[one.column].name, one.ones});
        return "target: " + labels_text(labels, table.rows);
    }
    if (table.task == Task::classification)
        return "target: " + shown_name(table.target().name) + ", " + classes_text(table.classes);
    const auto range = [](const TargetColumn& one) { return range_text(one.low, one.high); };
    if (table.targets.size() == 1)
        return "target: " + shown_name(table.target().name) + ", numbers from " + range(table.targets.front());
    NameList names;
    for (const TargetColumn& one : table.targets) names.add(table.columns[one.column].name, range(one));
    return names.line("targets");
}

}  // namespace

Result<DataShape> describe_table(const DataConfig& config) {
    const auto table = survey_table(config);
    if (!table) return table.error();
    DataShape shape;
    const auto parts = parts_of_table(**table, config);
    if (!parts) return parts.error();
    if (const auto untrained = untrained_rows(**table, config, *parts); !untrained) return untrained.error();
    shape.test = parts->test;
    shape.train = (*table)->rows - shape.test;
    if (parts->by_group) shape.grouped = parts->sizes;
    shape.sample = VectorShape{(*table)->features()};
    shape.categories = (*table)->categories();
    shape.task = (*table)->task;
    shape.outputs = static_cast<std::int64_t>(shape.task == Task::classification ? (*table)->classes.size()
                                                                                 : (*table)->targets.size());
    shape.standardised = true;
    shape.not_in_files = ((*table)->format == "csv" ? std::string("rows of text") : "the rows of a Parquet file") +
                         " cannot be read one by one: write the table as NumPy's arrays (format: npy)";
    // Loading holds the orders of rows with the places and labels that they are made from, uses and labels of the
    // table; the values whose medians are taken; and pages of a Parquet file.
    std::int64_t bytes_of_a_row = 6 * 4 + 1 + (parts->by_group ? 4 : 0);
    for (const TableColumn& column : (*table)->columns)
        if (column.kind == ColumnKind::number && column.missing > 0) bytes_of_a_row += 8;
    shape.loading_bytes =
        (*table)->rows * bytes_of_a_row + 4 * static_cast<std::int64_t>(batch_bytes) + (*table)->reading_bytes;
    return shape;
}

Result<Split> split_table(const DataConfig& config, const SplitSizes&, std::uint64_t data_seed) {
    const auto table = survey_table(config);
    if (!table) return table.error();
    const auto parts = parts_of_table(**table, config);
    if (!parts) return parts.error();
    return split_table(**table, config, *parts, data_seed).within;
}

Result<DataFacts> load_table(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink) {
    const auto table = survey_table(config);
    if (!table) return table.error();
    const auto parts = parts_of_table(**table, config);
    if (!parts) return parts.error();
    const auto source = open_table((*table)->file, (*table)->format);
    if (!source) return source.error();
    RowSplit split = split_table(**table, config, *parts, data_seed);
    if ((*table)->task == Task::classification)
        if (auto checked = check_trained_classes(config, classed_rows(**table), split.uses); !checked)
            return checked.error();
    TableLoader loader(**table, **source, std::move(split.uses));
    if (auto fitted = loader.fit(); !fitted) return fitted.error();
    if (auto encoded = loader.encode(sink); !encoded) return encoded.error();
    return loader.facts();
}

Result<std::vector<std::string>> explain_table(const DataConfig& config) {
    const auto surveyed = survey_table(config);
    if (!surveyed) return surveyed.error();
    const Table& table = **surveyed;
    const auto parts = parts_of_table(table, config);
    if (!parts) return parts.error();
    NameList numbers, categories, ignored;
    std::vector<std::string> warnings;
    for (const TableColumn& column : table.columns) {
        const std::string missing = column.missing > 0 ? grouped(column.missing) + " missing" : "";
        if (column.kind == ColumnKind::number) numbers.add(column.name, missing);
        if (column.kind == ColumnKind::ignored) ignored.add(column.name, column.is_index ? "the index of pandas" : "");
        if (column.kind == ColumnKind::category)
            categories.add(column.name, std::to_string(column.levels()) +
                                            (column.levels() == 1 ? " level" : " levels") +
                                            (column.rare > 0 ? ", other " + grouped(column.rare) : "") +
                                            (missing.empty() ? "" : ", " + missing));
        if (column.kind == ColumnKind::ignored || column.kind == ColumnKind::group) continue;
        if (column.equals_target)
            warnings.push_back("warning: column " + shown_name(column.name) + " equals " +
                               (table.targets.size() == 1 ? "the target" : "a target") +
                               " in every row: a leak? data.ignore leaves it out");
        else if (column.tells_target)
            warnings.push_back("warning: the target follows from column " + shown_name(column.name) +
                               " alone, in every row: a leak? data.ignore leaves it out");
        else if (column.missing == table.rows)
            warnings.push_back("warning: column " + shown_name(column.name) +
                               " has no value in any row: data.ignore leaves it out");
        else if (column.constant)
            warnings.push_back("warning: column " + shown_name(column.name) + " has the same value in every row");
        else if (column.kind == ColumnKind::category && column.values.empty())
            warnings.push_back("warning: column " + shown_name(column.name) +
                               " tells nothing, as no value is in at least 5 rows: data.ignore leaves it out");
    }
    if (table.task == Task::classification) {
        if (const std::string rare = rare_classes_text(table.classes, "rows"); !rare.empty()) warnings.push_back(rare);
    }
    const auto untrained = untrained_rows(table, config, *parts);
    if (!untrained) return untrained.error();
    if (!untrained->empty()) warnings.push_back(*untrained);
    std::vector<std::string> lines{
        grouped(table.rows, "row") + ", " + grouped(static_cast<std::int64_t>(table.columns.size()), "column") +
            ", which become " + grouped(table.features(), "feature"),
        split_sizes_text(parts->sizes, "rows") + ", " + grouped(parts->test) + " test: " +
            (parts->by_group ? "whole groups, by " + shown_name(config.group) + " (" +
                                   grouped(static_cast<std::int64_t>(table.group_rows.size())) + ")"
                             : split_text(table.split)),
        target_line(table)};
    if (!numbers.empty()) lines.push_back(numbers.line("numbers"));
    if (!categories.empty()) lines.push_back(categories.line("categories"));
    if (!ignored.empty()) lines.push_back(ignored.line("left out"));
    constexpr std::size_t most_warnings = 20;
    if (warnings.size() > most_warnings) warnings.resize(most_warnings);
    lines.insert(lines.end(), warnings.begin(), warnings.end());
    return lines;
}

}  // namespace hpo
