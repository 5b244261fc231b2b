// The targets of rows that have them, by which predictions are scored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "worker/data/cell.hpp"
#include "worker/prediction/saved_model.hpp"

namespace hpo {

class KnownTargets {
   public:
    /// Finds the model's targets among the columns of a file and adds them to `wanted`. Without all of them none is
    /// known. The model must outlive the object.
    KnownTargets(const SavedModel& model, std::span<const std::string> names, std::span<Wanted> wanted);

    /// Of a row: see PredictedSample::known. A class that the model does not know is NaN. Valid until the next call.
    std::span<const double> of(std::span<const Cell> cells);

   private:
    std::vector<std::size_t> fields_;                            ///< empty: not known
    std::unordered_map<std::string_view, double> class_number_;  ///< of classification
    std::vector<double> numbers_;
};

}  // namespace hpo
