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
    /// Finds the model's targets among the columns of a file and adds them to `wanted`. If a target is missing in the
    /// file, none is known. The model must outlive the object.
    KnownTargets(const SavedModel& model, std::span<const std::string> names, std::span<Wanted> wanted);

    /// Returns the targets of a row: see PredictedSample::known. A missing or an unknown target is NaN. Valid until the
    /// next call.
    std::span<const double> of(std::span<const Cell> cells);
    /// A warning of targets that are there but unknown to the model, such as a class that it was not trained on; empty:
    /// there are none.
    [[nodiscard]] std::string warning() const;

   private:
    [[nodiscard]] double number_of_class(const Cell& cell) const;
    [[nodiscard]] double number_of_label(const Cell& cell) const;

    Task task_;
    std::vector<std::size_t> fields_;                            ///< empty: not known
    std::unordered_map<std::string_view, double> class_number_;  ///< of classification
    std::unordered_map<double, double> class_of_number_;         ///< of classes that are numbers: 1 is 1.0
    std::vector<double> numbers_;
    std::int64_t unknown_ = 0;
    std::string first_unknown_;
};

}  // namespace hpo
