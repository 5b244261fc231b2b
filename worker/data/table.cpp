#include "worker/data/table.hpp"

#include "worker/data/csv_columns.hpp"
#include "worker/data/split.hpp"
#include "worker/data/table_source.hpp"
#include "worker/data/table_survey.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

/// The keys that a survey depends on.
struct SurveyKey {
    std::string format, path, target, ignore, categorical, group;
    std::optional<Task> task;
    SplitKind split = SplitKind::automatic;
    std::uintmax_t bytes = 0;
    fs::file_time_type changed;
    friend bool operator==(const SurveyKey&, const SurveyKey&) = default;
};

}  // namespace

std::int64_t Table::features() const {
    std::int64_t sum = 0;
    for (const TableColumn& column : columns) sum += column.features();
    return sum;
}

std::vector<CategoryShape> Table::categories() const {
    std::vector<CategoryShape> found;
    std::int64_t first = 0;
    for (const TableColumn& column : columns) {
        if (column.kind == ColumnKind::category) found.push_back({first, column.features()});
        first += column.features();
    }
    return found;
}

Result<const Table*> survey_table(const DataConfig& config) {
    if (config.path.empty()) return Error{"data.path: needed for format " + config.format + ": a file"};
    if (config.target.empty())
        return Error{"data.target: needed for format " + config.format + ": the name of the column to predict"};
    const fs::path file = config.path;
    if (auto exists = check_data_file(file); !exists) return exists.error();
    std::error_code missing;
    const SurveyKey key{config.format,
                        config.path,
                        config.target,
                        config.ignore,
                        config.categorical,
                        config.group,
                        config.task,
                        config.split,
                        fs::file_size(file, missing),
                        fs::last_write_time(file, missing)};
    static std::optional<std::pair<SurveyKey, Table>> last;
    if (last && last->first == key) return &last->second;
    last.reset();
    Table table;
    table.file = file;
    auto source = open_table(table.file, config.format);
    if (!source) return data_file_error(file, source.error());
    if (auto read = survey_columns(config, **source, table); !read) return data_file_error(file, read.error());
    table.format = config.format;
    last.emplace(key, std::move(table));
    return &last->second;
}

Result<TableParts> parts_of_table(const Table& table, const DataConfig& config) {
    TableParts parts;
    if (!config.group.empty()) {
        auto division = divide_groups(config, table.group_rows);
        if (!division) return division.error();
        parts.test = division->test;
        parts.sizes = division->sizes;
        parts.by_group = *std::move(division);
        return parts;
    }
    parts.test = test_rows(config, table.rows);
    const auto sizes = split_sizes(config, table.rows - parts.test);
    if (!sizes) return sizes.error();
    parts.sizes = *sizes;
    if (table.split == SplitKind::stratified) {
        std::vector<std::int64_t> counts;
        for (const ClassCount& one : table.classes) counts.push_back(one.count);
        const auto name_of = [&](std::size_t i) { return quoted_name(table.classes[i].name); };
        if (auto checked = check_class_folds(config, true, counts, name_of); !checked) return checked.error();
    }
    return parts;
}

RowSplit split_table(const Table& table, const DataConfig& config, const TableParts& parts, std::uint64_t data_seed) {
    if (parts.by_group) return split_by_group(*parts.by_group, table.groups, config.fold);
    return split_rows(table.split, table.rows, parts.test, table.labels, parts.sizes, data_seed, config.fold);
}

}  // namespace hpo
