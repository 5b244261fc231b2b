// The samples to predict: data of the kind that a model was trained on, which need not have targets. One source for
// each kind of data; a row of the registry in samples.cpp adds one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/prediction/saved_model.hpp"

namespace hpo {

struct PredictedSample {
    std::string_view name;            ///< a number from 1, or a file
    std::span<const float> features;  ///< of the model, before SavedModel::mean and deviation
    /// Targets, where the data has all of them: the index of the class for each target of the sample, or a number for
    /// each output, in the data's units. NaN: unknown. Empty: none is known.
    std::span<const double> known{};
    std::int64_t skipped = 0;  ///< of a sequence with a target for each step: first steps that were predicted before
};
using PredictionSink = std::function<Result<void>(const PredictedSample&)>;

class PredictionSource {
   public:
    virtual ~PredictionSource() = default;
    PredictionSource(const PredictionSource&) = delete;
    PredictionSource& operator=(const PredictionSource&) = delete;

    /// Returns the kind of a sample's name: row, file, sample, position.
    [[nodiscard]] virtual const char* unit() const { return "row"; }
    /// Reads all samples in order. Errors name the file and the place; an error of the sink ends the reading.
    virtual Result<void> each(const PredictionSink& sink) = 0;
    /// Remarks on the data once it was read, such as values that were replaced.
    [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }

   protected:
    PredictionSource() = default;
};

/// Opens data for a model, which must outlive the source. Errors name the file and the needs of the model, such as
/// missing columns.
Result<std::unique_ptr<PredictionSource>> open_prediction_source(const SavedModel& model,
                                                                 const std::filesystem::path& data);

// The sources.
using OpenedSource = Result<std::unique_ptr<PredictionSource>>;
OpenedSource open_table_source(const SavedModel& model, const std::filesystem::path& data);
OpenedSource open_series_source(const SavedModel& model, const std::filesystem::path& data);
OpenedSource open_array_source(const SavedModel& model, const std::filesystem::path& data);
OpenedSource open_image_source(const SavedModel& model, const std::filesystem::path& data);
OpenedSource open_idx_source(const SavedModel& model, const std::filesystem::path& data);
OpenedSource open_token_source(const SavedModel& model, const std::filesystem::path& data);

}  // namespace hpo
