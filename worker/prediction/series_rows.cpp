// Windows over a series, one for each row that ends one, also those whose targets are yet to come: forecasts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/data/data_text.hpp"
#include "worker/data/table_source.hpp"
#include "worker/prediction/known_targets.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

class SeriesWindows final : public PredictionSource {
   public:
    SeriesWindows(const SavedModel& model, std::filesystem::path file) : model_(model), file_(std::move(file)) {}

    /// Reads the file.
    Result<void> read() {
        const auto source = open_table(file_, is_parquet(file_) ? "parquet" : "csv");
        if (!source) return source.error();
        const std::vector<std::string> names = (*source)->names();
        std::vector<Wanted> wanted(names.size(), Wanted::nothing);
        std::vector<std::size_t> fields;
        NameList missing;
        for (const SavedColumn& column : model_.columns) {
            const auto found = std::ranges::find(names, column.name);
            if (found == names.end()) {
                missing.add(column.name);
                continue;
            }
            fields.push_back(static_cast<std::size_t>(found - names.begin()));
            wanted[fields.back()] = Wanted::number;
        }
        if (!missing.empty()) return Error{file_.string() + ": " + missing.line("lacks columns that the model needs")};
        KnownTargets targets(model_, names, wanted);
        auto rows = (*source)->each_row(wanted, [&](std::int64_t place, std::span<const Cell> cells) -> Result<void> {
            for (std::size_t i = 0; i < fields.size(); ++i) {
                const Cell& cell = cells[fields[i]];
                const SavedColumn& column = model_.columns[i];
                if ((!cell.number && !cell.missing) || (cell.number && !std::isfinite(*cell.number)))
                    return Error{(*source)->unit() + (" " + std::to_string(place)) + ", column " +
                                 shown_name(column.name) + ": " + quoted_name(cell.text) + " is no number"};
                // The value before stands in for a missing one, and the mean at the beginning, as in training.
                const float before = values_.size() < fields.size() ? 0.0F : values_[values_.size() - fields.size()];
                values_.push_back(cell.number ? static_cast<float>((*cell.number - column.mean) / column.deviation)
                                              : before);
            }
            const auto known = targets.of(cells);
            known_.insert(known_.end(), known.begin(), known.end());
            known_width_ = known.size();
            ++rows_;
            return {};
        });
        if (!rows) return rows;
        if (rows_ < model_.window)
            return Error{file_.string() + ": " + grouped(rows_, "row") + ", and a prediction is made from " +
                         grouped(model_.window)};
        return {};
    }

    [[nodiscard]] const char* unit() const override { return "after_row"; }

    Result<void> each(const PredictionSink& sink) override {
        const auto width = model_.columns.size();
        const auto numbers = static_cast<std::size_t>(model_.window) * width;
        for (std::int64_t last = model_.window - 1; last < rows_; ++last) {
            const auto first = static_cast<std::size_t>(last - model_.window + 1) * width;
            const std::string name = std::to_string(last + 1);
            if (auto taken = sink({name, std::span(values_).subspan(first, numbers), known_after(last)}); !taken)
                return taken;
        }
        return {};
    }

   private:
    /// Returns the known targets of the rows that a window which ends with row `last` predicts.
    std::span<const double> known_after(std::int64_t last) {
        if (known_width_ == 0) return {};
        const bool classes = model_.shape.task == Task::classification;
        expected_.clear();
        for (std::int64_t step = classes ? model_.horizon : 1; step <= model_.horizon; ++step)
            for (std::size_t i = 0; i < known_width_; ++i)
                expected_.push_back(last + step < rows_
                                        ? known_[static_cast<std::size_t>(last + step) * known_width_ + i]
                                        : std::numeric_limits<double>::quiet_NaN());
        return expected_;
    }

    const SavedModel& model_;
    std::filesystem::path file_;
    std::int64_t rows_ = 0;
    std::vector<float> values_;  ///< row by row, standardized
    std::size_t known_width_ = 0;
    std::vector<double> known_;  ///< row by row
    std::vector<double> expected_;
};

}  // namespace

OpenedSource open_series_source(const SavedModel& model, const std::filesystem::path& data) {
    if (model.window < 1 || model.columns.empty())
        return Error{"the model file does not have the window of its series"};
    auto source = std::make_unique<SeriesWindows>(model, data);
    if (auto read = source->read(); !read) return read.error();
    return std::unique_ptr<PredictionSource>(std::move(source));
}

}  // namespace hpo
