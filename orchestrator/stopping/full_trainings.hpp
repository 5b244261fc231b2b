// The full trainings of the extrapolation rule: trials that are trained to their end regardless of their curve. They
// are not selected by performance, so comparing their predicted and real ends shows how reliable predictions are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "orchestrator/stopping/curve_model.hpp"

namespace hpo {

class FullTrainings {
   public:
    static constexpr double least = 0.1, most = 0.9;  ///< bounds of their share of all steps

    /// `steps` are those of a full training. Those of the study's first trial count from the beginning, so that no
    /// other trial takes its place.
    explicit FullTrainings(std::int64_t steps) : steps_(steps), taken_(steps) {}

    void begin() { taken_ += steps_; }
    void begin_first() { reserved_ = false; }
    /// The first trial has ended. If it did not become a full training, its steps are free for another trial.
    void first_ended() {
        if (std::exchange(reserved_, false)) taken_ -= steps_;
    }
    /// A full training ends with `left` of its steps untrained.
    void cut_short(std::int64_t left) { taken_ -= left; }
    void ended(double predicted, double end) { ends_.emplace_back(predicted, end); }

    /// Returns the share of all steps that full trainings get, if trials first pause at this rung of the model.
    [[nodiscard]] double share(const CurveModel& model, std::size_t rung) const;
    /// Returns true if full trainings have taken less than this share of all steps.
    [[nodiscard]] bool owed(std::int64_t all_steps, double share) const {
        return static_cast<double>(taken_) <= share * static_cast<double>(all_steps);
    }

   private:
    [[nodiscard]] double concordance(const CurveModel& model) const;

    std::int64_t steps_;
    std::int64_t taken_;
    bool reserved_ = true;  ///< true until the first trial has become a full training, or has ended before
    std::vector<std::pair<double, double>> ends_;  ///< predicted and real
};

}  // namespace hpo
