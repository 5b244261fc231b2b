#include "worker/data/data_facts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "worker/data/arrays.hpp"
#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/field_kinds.hpp"
#include "worker/data/table_source.hpp"

namespace hpo {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_told_apart = 1001;      // different values counted in a column
constexpr std::size_t most_ranked_rows = 200'000;  // compared with the target

/// The counts of a column, while the file is read.
struct ColumnTally {
    std::int64_t missing = 0, numbers = 0, dates = 0, formatted = 0, others = 0;
    std::map<std::string, std::int64_t, std::less<>> counts;  ///< rows by value, up to `most_told_apart` values
    std::string example;                                      ///< the first text that is no number
    bool whole = true;
    double low = HUGE_VAL, high = -HUGE_VAL;
    bool counts_up = true;  ///< each number is the previous one plus 1
    double before = 0;
    std::vector<double> ranked;  ///< NaN: no number

    void add(const Cell& cell) {
        if (counts.size() < most_told_apart || counts.contains(cell.text)) {
            const auto found = counts.find(cell.text);
            if (found == counts.end())
                counts.emplace(cell.text, 1);
            else
                ++found->second;
        }
        const bool is_number = cell.number.has_value();
        if (ranked.size() < most_ranked_rows) ranked.push_back(is_number ? *cell.number : std::nan(""));
        counts_up = counts_up && is_number && (numbers == 0 || *cell.number == before + 1);
        if (cell.missing) {
            ++missing;
        } else if (is_number) {
            ++numbers;
            before = *cell.number;
            whole = whole && before == std::floor(before);
            low = std::min(low, before);
            high = std::max(high, before);
        } else {
            if (example.empty()) example = cell.text;
            ++(is_date(cell.text) ? dates : is_formatted_number(cell.text) ? formatted : others);
        }
    }
    [[nodiscard]] std::string kind() const {
        if (dates > 0 && others == 0 && numbers == 0) return "dates";
        if (formatted > 0 && others == 0) return "formatted";
        if (others + dates > 0) return numbers == 0 ? "text" : "mixed";
        return numbers > 0 ? "number" : "empty";
    }
};

/// The area under the ROC curve of a column's numbers for the rows that are `positive`, at least 0.5; missing values
/// are left out. Ties count half (Mann and Whitney).
double separation(const std::vector<double>& values, const std::vector<bool>& positive) {
    std::vector<std::pair<double, bool>> rows;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i])) rows.emplace_back(values[i], positive[i]);
    std::sort(rows.begin(), rows.end());
    double above = 0, negatives = 0, positives = 0;
    for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
        double with = 0;
        while (end < rows.size() && rows[end].first == rows[first].first) with += rows[end++].second ? 1 : 0;
        const double without = static_cast<double>(end - first) - with;
        above += with * (negatives + without / 2);
        negatives += without;
        positives += with;
    }
    if (negatives == 0 || positives == 0) return 0.5;
    const double area = above / (negatives * positives);
    return std::max(area, 1 - area);
}

/// Returns each value of a target with its count.
Json values_of(const ColumnTally& target) {
    Json values = Json::array();
    for (const auto& [value, count] : target.counts) values.push_back({value, count});
    return values;
}

Result<Json> table_facts(const std::string& format, const std::filesystem::path& path, const std::string& target) {
    auto source = open_table(path, format);
    if (!source) return source.error();
    const std::vector<std::string> names = (*source)->names();
    std::vector<std::size_t> targets;
    if (!target.empty()) {
        auto found = target_columns(names, target, "--target", path);
        if (!found) return found.error();
        targets = *std::move(found);
    }
    // By which the other columns tell rows apart.
    const std::optional<std::size_t> target_column =
        targets.size() == 1 ? std::optional(targets.front()) : std::nullopt;
    std::vector<Wanted> wanted(names.size(), Wanted::text);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!(*source)->columns()[i].unreadable.empty()) wanted[i] = Wanted::nothing;
    std::vector<ColumnTally> seen(names.size());
    std::vector<bool> positive;
    std::string first_class;
    std::int64_t rows = 0;
    const auto read = (*source)->each_row(wanted, [&](std::int64_t, std::span<const Cell> cells) -> Result<void> {
        ++rows;
        for (std::size_t i = 0; i < cells.size(); ++i)
            if (wanted[i] != Wanted::nothing) seen[i].add(cells[i]);
        if (!target_column) return {};
        if (rows == 1) first_class = cells[*target_column].text;
        if (positive.size() < most_ranked_rows) positive.push_back(cells[*target_column].text != first_class);
        return {};
    });
    if (!read) return read.error();

    const bool binary = target_column && seen[*target_column].counts.size() == 2;
    Json columns = Json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const SourceColumn& from = (*source)->columns()[i];
        const ColumnTally& column = seen[i];
        std::string kind = column.kind();
        if (!from.unreadable.empty()) kind = "unreadable";
        if (!from.dates.empty()) kind = "dates";
        if (from.is_index) kind = "index";
        Json json{{"name", names[i]},
                  {"kind", kind},
                  {"missing", column.missing},
                  {"distinct", column.counts.size()},
                  {"example", shown_name(column.example)}};
        if (column.numbers > 0)
            json.update({{"low", column.low},
                         {"high", column.high},
                         {"whole", column.whole},
                         {"counts_up", column.counts_up && column.numbers == rows && rows > 2}});
        if (binary && i != target_column && column.numbers > 0) json["auc"] = separation(column.ranked, positive);
        if (std::find(targets.begin(), targets.end(), i) != targets.end()) json["values"] = values_of(column);
        columns.push_back(std::move(json));
    }
    Json json{{"format", format}, {"rows", rows}, {"columns", std::move(columns)}};
    Json target_names = Json::array();
    for (const std::size_t column : targets) target_names.push_back(names[column]);
    json["targets"] = std::move(target_names);
    return json;
}

/// Sets the names of the arrays to which `target` has the targets. Names that a study finds by itself, with arrays for
/// testing, are left out.
Result<void> name_arrays(DataConfig& config, const std::string& target) {
    if (target.empty()) return {};
    const auto inputs = inputs_for(config.path, target);
    if (!inputs) return Error{"--target: " + inputs.error().message};
    if (!inputs->empty())
        if (const auto found = survey_arrays(config);
            found && (*found)->train.targets.name == target && (*found)->train.inputs.name == *inputs)
            return {};
    config.inputs = *inputs;
    config.labels = target;
    return {};
}

/// Names --target, where the error of a study names a key.
Error in_words_of_init(const Error& error, const std::string& target) {
    constexpr std::string_view key = "data.labels: ", both = "Say so by data.inputs and data.labels";
    std::string why = error.message;
    if (const auto at = why.find(both); at != std::string::npos)
        return {why.replace(at, both.size(), "--target names the targets")};
    if (!why.starts_with(key)) return error;
    return {target.empty() ? why + "; --target names it" : "--target: " + why.substr(key.size())};
}

/// Fails if the array of targets is that of the features, also under another path, as through a link.
Result<void> check_targets(const DataConfig& config, const std::string& target) {
    const auto arrays = survey_arrays(config);
    if (!arrays) return arrays.error();
    const ArrayPlace &inputs = (*arrays)->train.inputs, &targets = (*arrays)->train.targets;
    std::error_code failed;
    if (inputs.member != targets.member || !std::filesystem::equivalent(inputs.file, targets.file, failed)) return {};
    return Error{"--target: " + target +
                 " holds the features themselves: name the array that is to be predicted from them, or its NPY file"};
}

}  // namespace

Result<Json> data_facts(const std::string& format, const std::filesystem::path& path, const std::string& target) {
    if (auto exists = check_data_file(path); !exists) return exists.error();
    if (format == "csv" || format == "parquet") return table_facts(format, path, target);
    DataConfig config;
    config.format = format;
    config.path = path.string();
    if (format == "text") config.window = 64, config.stride = 16;
    if (format == "npy")
        if (auto named = name_arrays(config, target); !named) return named.error();
    const auto shape = describe_data(config);
    if (!shape) return format == "npy" ? in_words_of_init(shape.error(), target) : shape.error();
    if (format == "npy" && !target.empty())
        if (const auto others = check_targets(config, target); !others) return others.error();
    const Task task = shape->task;
    return Json{{"format", format},
                {"inputs", config.inputs},
                {"targets", format == "npy" && !config.labels.empty() ? Json{config.labels} : Json::array()},
                {"rows", shape->train},
                {"test", shape->test},
                {"sample", sample_text(shape->sample)},
                {"outputs", shape->outputs},
                {"image", std::holds_alternative<ImageShape>(shape->sample)},
                {"classes", task == Task::classification}};
}

}  // namespace hpo
