// Samples from the windows of a series (series.hpp). Columns are standardised by the mean and the deviation of the
// training windows' rows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "worker/data/data_text.hpp"
#include "worker/data/number_fit.hpp"
#include "worker/data/series.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

constexpr std::size_t windows_bytes = std::size_t{1} << 18;   // bytes that are passed on at once
constexpr std::int64_t most_numbers = std::int64_t{1} << 22;  // of a window

WindowQuestion question_of(const DataConfig& config, const Series& series) {
    return {series.rows, config.window, config.horizon, config.stride > 0 ? config.stride : 1};
}

struct TrainingRows {
    std::int64_t first = 0, end = 0;
};

/// The rows of the windows that train, inputs and targets.
TrainingRows training_rows(const WindowLayout& layout, const SplitSizes& sizes) {
    const std::int64_t end = layout.train - layout.validation;
    return {layout.row_of(Part::train, end - sizes.train), layout.row_of(Part::train, end - 1) + layout.rows_of_one};
}

std::vector<NumberFit> fit_columns(const Series& series, const TrainingRows& rows) {
    std::vector<NumberFit> fits(series.columns.size());
    for (std::int64_t row = rows.first; row < rows.end; ++row)
        for (std::size_t column = 0; column < fits.size(); ++column)
            if (const double value = series.value(row, column); !std::isnan(value)) fits[column].add(value);
    return fits;
}

/// The samples: a window is a piece of the standardised rows.
class SeriesSamples final : public SampleReader {
   public:
    SeriesSamples(const Series& series, const DataConfig& config, const WindowLayout& layout,
                  std::span<const NumberFit> fits)
        : window_(static_cast<std::size_t>(config.window)),
          horizon_(static_cast<std::size_t>(config.horizon)),
          columns_(series.columns.size()),
          targets_(series.targets),
          labels_(series.labels),
          layout_(layout) {
        values_.reserve(series.values.size());
        for (std::size_t i = 0; i < series.values.size(); ++i) {
            // A value that is missing at the beginning of the series is as good as the mean.
            const double value = series.values[i];
            const NumberFit& fit = fits[i % columns_];
            values_.push_back(std::isnan(value) ? 0 : static_cast<float>((value - fit.mean()) / fit.deviation()));
        }
    }

    void read(Part part, std::int64_t index, std::span<std::byte> features,
              std::span<std::byte> targets) const override {
        const float* row = &values_[static_cast<std::size_t>(layout_.row_of(part, index)) * columns_];
        std::memcpy(features.data(), row, features.size());
        if (!labels_.empty()) {
            const std::size_t last = static_cast<std::size_t>(layout_.row_of(part, index)) + window_ + horizon_ - 1;
            std::memcpy(targets.data(), &labels_[last], sizeof labels_[last]);
            return;
        }
        std::byte* to = targets.data();
        for (std::size_t step = window_; step < window_ + horizon_; ++step)
            for (const std::size_t column : targets_) {
                std::memcpy(to, row + step * columns_ + column, sizeof(float));
                to += sizeof(float);
            }
    }

    void pass_on(Part part, std::int64_t count, const SampleSink& sink) const {
        const std::size_t numbers = window_ * columns_;
        const std::size_t predicted = labels_.empty() ? horizon_ * targets_.size() : 1;
        const auto at_once = static_cast<std::int64_t>(std::max<std::size_t>(1, windows_bytes / (4 * numbers)));
        std::vector<std::byte> features, targets;
        for (std::int64_t first = 0; first < count; first += at_once) {
            const std::int64_t here = std::min(at_once, count - first);
            features.resize(static_cast<std::size_t>(here) * numbers * sizeof(float));
            targets.resize(static_cast<std::size_t>(here) * predicted * sizeof(float));
            for (std::size_t i = 0; i < static_cast<std::size_t>(here); ++i)
                read(part, first + static_cast<std::int64_t>(i),
                     std::span(features).subspan(i * numbers * sizeof(float), numbers * sizeof(float)),
                     std::span(targets).subspan(i * predicted * sizeof(float), predicted * sizeof(float)));
            sink({part, first, here, features, targets});
        }
    }

   private:
    std::size_t window_, horizon_, columns_;
    std::vector<std::size_t> targets_;
    std::vector<std::int32_t> labels_;  ///< of rows, where these have classes
    WindowLayout layout_;
    std::vector<float> values_;  ///< row by row
};

DataFacts series_facts(const Series& series, const DataConfig& config, std::span<const NumberFit> fits) {
    using Json = nlohmann::ordered_json;
    Json columns = Json::array(), targets = Json::array();
    for (std::size_t i = 0; i < fits.size(); ++i)
        columns.push_back(
            {{"name", series.columns[i].name}, {"mean", fits[i].mean()}, {"deviation", fits[i].deviation()}});
    for (const std::size_t i : series.targets) targets.push_back(columns[i]);
    Json json{{"window", config.window}, {"horizon", config.horizon}, {"columns", columns}};
    if (series.classes.empty())
        json["targets"] = targets;
    else
        json["target"] = {{"name", series.class_column}, {"classes", series.classes}};
    DataFacts facts;
    if (series.targets.size() == 1) {
        facts.target_mean = fits[series.targets[0]].mean();
        facts.target_deviation = fits[series.targets[0]].deviation();
    }
    facts.encoding = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return facts;
}

std::string range_of(const Series& series, std::size_t column) {
    double low = series.value(0, column), high = low;
    for (std::int64_t row = 1; row < series.rows; ++row) {
        low = std::min(low, series.value(row, column));
        high = std::max(high, series.value(row, column));
    }
    return range_text(low, high);
}

struct ClassOfWindow {
    const Series& series;
    const DataConfig& config;
    const WindowLayout& layout;

    std::size_t operator()(Part part, std::int64_t index) const {
        const std::int64_t last = layout.row_of(part, index) + config.window + config.horizon - 1;
        return static_cast<std::size_t>(series.labels[static_cast<std::size_t>(last)]);
    }
};

/// Counts the training windows of each class.
std::vector<std::int64_t> count_training_windows(const ClassOfWindow& class_of, const SplitSizes& sizes) {
    std::vector<std::int64_t> counts(class_of.series.classes.size(), 0);
    const std::int64_t end = class_of.layout.train - class_of.layout.validation;
    for (std::int64_t i = end - sizes.train; i < end; ++i) ++counts[class_of(Part::train, i)];
    return counts;
}

/// Refuses windows of which those that train have one class alone.
Result<void> check_trained_windows(const ClassOfWindow& class_of, const SplitSizes& sizes) {
    const auto counts = count_training_windows(class_of, sizes);
    const auto most = std::max_element(counts.begin(), counts.end());
    if (*most < sizes.train) return {};
    return Error{"data.target: all " + grouped(sizes.train, "window") + " to train on have the class " +
                 quoted_name(class_of.series.classes[static_cast<std::size_t>(most - counts.begin())]) +
                 ", from which no other one can be told: use more rows, or smaller parts for data.test and "
                 "data.validation"};
}

/// Returns the task of the windows, for people; of classes also a warning where none of a class trains.
std::string series_target_text(const Series& series, const DataConfig& config, const WindowLayout& layout,
                               const SplitSizes& sizes, std::vector<std::string>& warnings) {
    NameList targets;
    for (const std::size_t i : series.targets) targets.add(series.columns[i].name, range_of(series, i));
    const std::string rows = grouped(config.horizon) + " rows";
    if (series.classes.empty())
        return targets.line("target") + ", in the " + (config.horizon == 1 ? "row" : rows) + " after a window";
    std::vector<ClassCount> all;
    for (const std::string& name : series.classes) all.push_back({name, 0});
    const ClassOfWindow class_of{series, config, layout};
    for (std::int64_t i = 0; i < layout.train; ++i) ++all[class_of(Part::train, i)].count;
    for (std::int64_t i = 0; i < layout.test; ++i) ++all[class_of(Part::test, i)].count;
    const auto train = count_training_windows(class_of, sizes);
    NameList untrained;
    for (std::size_t i = 0; i < train.size(); ++i)
        if (train[i] == 0) untrained.add(series.classes[i]);
    if (!untrained.empty()) warnings.push_back("warning: " + untrained.line("no window to train on has the class"));
    return "target: " + shown_name(series.class_column) + " in the " +
           (config.horizon == 0   ? "last row of a window"
            : config.horizon == 1 ? "row after a window"
                                  : "last of the " + rows + " after a window") +
           ", " + classes_text(std::move(all));
}

}  // namespace

Result<DataShape> describe_series(const DataConfig& config) {
    if (config.task == Task::multi_label)
        return Error{"task: a series predicts numbers, or with task: classification one class"};
    const bool classes = config.task == Task::classification;
    if (config.horizon < 1 && !classes)
        return Error{"data.horizon: 0 is for classes: numbers are predicted in the rows after a window"};
    if (config.window <= 0) return Error{"data.window: needed for format series: rows that a prediction is made from"};
    const auto series = read_series(config);
    if (!series) return series.error();
    const auto layout = lay_out_windows(config, question_of(config, **series));
    if (!layout) return layout.error();
    const auto varies = [&](std::size_t column) { return !(*series)->columns[column].constant; };
    const auto& targets = (*series)->targets;
    if (!classes && std::none_of(targets.begin(), targets.end(), varies))
        return Error{"data.target: column " + shown_name((*series)->columns[targets.front()].name) + " of " +
                     (*series)->file.string() + " has the same value in every row: there is nothing to learn"};
    if (classes) {
        const auto sizes = split_sizes(config, layout->train);
        if (!sizes) return sizes.error();
        if (auto checked = check_trained_windows({**series, config, *layout}, *sizes); !checked) return checked.error();
    }
    const auto columns = static_cast<std::int64_t>((*series)->columns.size());
    if (config.window > most_numbers / columns)
        return Error{"data.window: " + grouped(config.window) + " rows of " + grouped(columns) +
                     " columns: a window of more than " + grouped(most_numbers) + " numbers is not possible"};
    DataShape shape;
    shape.train = layout->train;
    shape.test = layout->test;
    shape.sample = SequenceShape{config.window, columns};
    shape.task = classes ? Task::classification : Task::regression;
    shape.outputs = classes ? static_cast<std::int64_t>((*series)->classes.size())
                            : config.horizon * static_cast<std::int64_t>((*series)->targets.size());
    shape.standardised = true;
    shape.loading_bytes = (*series)->rows * columns * static_cast<std::int64_t>(sizeof(double) + sizeof(float)) +
                          8 * static_cast<std::int64_t>((*series)->labels.size()) + (*series)->reading_bytes +
                          std::max(2 * static_cast<std::int64_t>(windows_bytes), 2 * shape.row_bytes());
    return shape;
}

Result<Split> split_series(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed) {
    const auto shape = describe_series(config);
    if (!shape) return shape.error();
    // A subset leaves out the oldest rows.
    return cut_split(sizes, split_order(SplitKind::time, shape->train, data_seed, 0));
}

Result<DataFacts> load_series(const DataConfig& config, std::uint64_t, const SampleSink& sink) {
    const auto series = read_series(config);
    if (!series) return series.error();
    const auto layout = lay_out_windows(config, question_of(config, **series));
    if (!layout) return layout.error();
    const auto sizes = split_sizes(config, layout->train);
    if (!sizes) return sizes.error();
    const auto fits = fit_columns(**series, training_rows(*layout, *sizes));
    const SeriesSamples samples(**series, config, *layout, fits);
    samples.pass_on(Part::train, layout->train, sink);
    samples.pass_on(Part::test, layout->test, sink);
    return series_facts(**series, config, fits);
}

Result<std::unique_ptr<SampleReader>> open_series(const DataConfig& config, std::uint64_t) {
    const auto series = read_series(config);
    if (!series) return series.error();
    const auto layout = lay_out_windows(config, question_of(config, **series));
    if (!layout) return layout.error();
    const auto sizes = split_sizes(config, layout->train);
    if (!sizes) return sizes.error();
    const auto fits = fit_columns(**series, training_rows(*layout, *sizes));
    return std::unique_ptr<SampleReader>(std::make_unique<SeriesSamples>(**series, config, *layout, fits));
}

Result<std::vector<std::string>> explain_series(const DataConfig& config) {
    const auto shape = describe_series(config);
    if (!shape) return shape.error();
    const Series& series = **read_series(config);
    const WindowQuestion question = question_of(config, series);
    const WindowLayout layout = *lay_out_windows(config, question);
    const SplitSizes sizes = *split_sizes(config, layout.train);
    NameList names, filled, ignored;
    std::vector<std::string> warnings;
    for (const SeriesColumn& column : series.columns) {
        names.add(column.name);
        if (column.missing > 0) filled.add(column.name, grouped(column.missing) + " missing");
        if (column.missing == series.rows)
            warnings.push_back("warning: column " + shown_name(column.name) +
                               " has no value in any row: data.ignore leaves it out");
        else if (column.constant)
            warnings.push_back("warning: column " + shown_name(column.name) + " has the same value in every row");
    }
    for (const std::string& name : series.ignored) ignored.add(name);
    if (!series.disorder.empty())
        warnings.push_back("warning: the rows are not in the order of time: " + series.disorder);
    const std::string target = series_target_text(series, config, layout, sizes, warnings);
    const auto rows_text = [](std::int64_t rows) { return grouped(rows, "row"); };
    std::vector<std::string> lines{rows_text(series.rows) + " in the order of time; a window has " +
                                       rows_text(config.window) + " x " +
                                       grouped(static_cast<std::int64_t>(series.columns.size()), "feature") +
                                       ", and the next one begins " + rows_text(question.stride) + " later",
                                   parts_text(layout, sizes, question), target, names.line("features")};
    if (!filled.empty()) lines.push_back(filled.line("replaced by the value before"));
    if (!ignored.empty()) lines.push_back(ignored.line("left out"));
    constexpr std::size_t most_warnings = 20;
    if (warnings.size() > most_warnings) warnings.resize(most_warnings);
    lines.insert(lines.end(), warnings.begin(), warnings.end());
    return lines;
}

}  // namespace hpo
