// Rows of a table, encoded as the model's training rows were (safetensors.hpp). Columns are found by their names, in
// any order; others are ignored.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "worker/data/data_text.hpp"
#include "worker/data/table_source.hpp"
#include "worker/prediction/known_targets.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

/// A column of the model and the place of its values.
struct TableFeature {
    const SavedColumn* column;
    std::size_t field;                                           ///< of the file
    std::unordered_map<std::string_view, std::size_t> levels{};  ///< of a category
    std::int64_t replaced = 0;  ///< missing values of a column that had none in training
};

class TableRows final : public PredictionSource {
   public:
    TableRows(std::unique_ptr<TableSource> source, std::vector<TableFeature> features, KnownTargets targets,
              std::vector<Wanted> wanted)
        : source_(std::move(source)),
          features_(std::move(features)),
          targets_(std::move(targets)),
          wanted_(std::move(wanted)) {}

    Result<void> each(const PredictionSink& sink) override {
        std::int64_t number = 0;
        std::vector<float> features;
        return source_->each_row(wanted_, [&](std::int64_t place, std::span<const Cell> cells) -> Result<void> {
            features.clear();
            for (TableFeature& feature : features_)
                if (auto added = add(feature, place, cells[feature.field], features); !added) return added;
            const std::string name = std::to_string(++number);
            return sink({name, features, targets_.of(cells)});
        });
    }

    [[nodiscard]] std::vector<std::string> warnings() const override {
        std::vector<std::string> lines;
        for (const TableFeature& feature : features_)
            if (feature.replaced > 0)
                lines.push_back("column " + shown_name(feature.column->name) + ": " +
                                grouped(feature.replaced, "missing value") +
                                ", of which the training rows had none: their mean was taken");
        if (const std::string line = targets_.warning(); !line.empty()) lines.push_back(line);
        return lines;
    }

   private:
    Result<void> add(TableFeature& feature, std::int64_t place, const Cell& cell, std::vector<float>& to) {
        const SavedColumn& column = *feature.column;
        if (column.is_category) {
            const std::size_t first = to.size();
            to.resize(first + column.levels.size() + 1);
            const auto level = feature.levels.find(cell.missing ? std::string_view() : cell.text);
            to[first + (level == feature.levels.end() ? column.levels.size() : level->second)] = 1;
            return {};
        }
        if (!cell.number && !cell.missing)
            return Error{source_->unit() + (" " + std::to_string(place)) + ", column " + shown_name(column.name) +
                         ": " + quoted_name(cell.text) + " is no number, which the training rows had"};
        if (cell.number && !std::isfinite(*cell.number))
            return Error{source_->unit() + (" " + std::to_string(place)) + ", column " + shown_name(column.name) +
                         ": not a finite number"};
        if (!cell.number && !column.median) ++feature.replaced;
        const double value = cell.number.value_or(column.median.value_or(column.mean));
        to.push_back(static_cast<float>((value - column.mean) / column.deviation));
        if (column.median) to.push_back(cell.number ? 0.0F : 1.0F);
        return {};
    }

    std::unique_ptr<TableSource> source_;
    std::vector<TableFeature> features_;
    KnownTargets targets_;
    std::vector<Wanted> wanted_;
};

}  // namespace

OpenedSource open_table_source(const SavedModel& model, const std::filesystem::path& data) {
    auto source = open_table(data, is_parquet(data) ? "parquet" : "csv");
    if (!source) return source.error();
    const std::vector<std::string> names = (*source)->names();
    std::vector<Wanted> wanted(names.size(), Wanted::nothing);
    std::vector<TableFeature> features;
    NameList missing;
    for (const SavedColumn& column : model.columns) {
        const auto found = std::ranges::find(names, column.name);
        if (found == names.end()) {
            missing.add(column.name);
            continue;
        }
        TableFeature feature{&column, static_cast<std::size_t>(found - names.begin())};
        for (std::size_t level = 0; level < column.levels.size(); ++level)
            if (column.levels[level]) feature.levels.emplace(*column.levels[level], level);
        wanted[feature.field] = column.is_category ? Wanted::text : Wanted::number;
        if (const std::string& flaw = (*source)->columns()[feature.field].unreadable; !flaw.empty())
            return Error{data.string() + ": column " + shown_name(column.name) + " " + flaw};
        features.push_back(std::move(feature));
    }
    if (!missing.empty()) return Error{data.string() + ": " + missing.line("lacks columns that the model needs")};
    KnownTargets targets(model, names, wanted);
    return std::unique_ptr<PredictionSource>(
        std::make_unique<TableRows>(*std::move(source), std::move(features), std::move(targets), std::move(wanted)));
}

}  // namespace hpo
