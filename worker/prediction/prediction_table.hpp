// Predictions as the rows of a CSV file, and their score where the targets are known.
//
// The first column names the sample (PredictionSource::unit). Then, for classes: `prediction`, the name of the
// likeliest class, and its `probability`; with at most 100 classes the probability of each follows, as p(NAME). For
// numbers: a column for each target, in the units of the data, or `prediction` if the target has no name; of several
// rows ahead NAME+1, NAME+2, ... For labels: NAME, 1 where the probability is above 0.5, and p(NAME).
// Sequences with a target for each step have a row for each step; if the sample is not named by a position, `step`
// follows its name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "worker/data/number_fit.hpp"
#include "worker/prediction/samples.hpp"
#include "worker/prediction/saved_model.hpp"

namespace hpo {

class PredictionTable {
   public:
    /// `unit` of the source. The model must outlive the table.
    PredictionTable(const SavedModel& model, std::string unit);

    [[nodiscard]] std::string header() const;
    /// The lines of a sample whose outputs [targets, outputs] a Predictor computed.
    [[nodiscard]] std::string lines(const PredictedSample& sample, std::span<const float> outputs);

    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] std::int64_t scored() const { return scored_; }
    /// Returns the metrics over the rows whose targets are all known; empty: there is none. For classes: accuracy, and
    /// loss, the cross-entropy in nats; for numbers: mse and mae, in the data's units, or with several targets in their
    /// deviations, and r2; for labels: accuracy, and loss, the binary cross-entropy in nats.
    [[nodiscard]] std::map<std::string, double> score() const;

   private:
    void add_classes(std::span<const float> logits, double known, std::string& line);
    void add_numbers(std::span<const float> outputs, std::span<const double> known, std::string& line);
    /// Returns true if errors are summed in deviations of the targets, since the targets have different units.
    [[nodiscard]] bool several_units() const { return model_.targets.size() > 1; }
    [[nodiscard]] double unscaled(std::size_t output, float number) const;
    void add_labels(std::span<const float> logits, std::span<const double> known, std::string& line);

    const SavedModel& model_;
    std::string unit_;
    bool lists_classes_;
    std::int64_t rows_ = 0, scored_ = 0;
    double loss_ = 0, right_ = 0, squares_ = 0, absolute_ = 0;  ///< sums over the scored samples
    std::vector<NumberFit> spreads_;                            ///< of known numbers, by output
    std::int64_t numbers_ = 0;                                  ///< number of scored numbers or labels
    std::vector<double> probabilities_;
};

}  // namespace hpo
