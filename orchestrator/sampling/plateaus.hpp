// Predicts where a trial would repeat the result of others. A forest is the same for many depths, and an accuracy moves
// in steps. Where trials with equal results enclose a point, its result is likely to be equal, too, and a trial there
// would teach nothing. The probability follows from the trials that others enclose: a repeat is nearly certain if equal
// results come from the same model, and rare if accuracies of different models happen to be equal.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"

namespace hpo {

/// The plateaus of a process's targets: boxes spanned by inputs with equal targets that enclose no other target.
class Plateaus {
   public:
    /// Considers the newest inputs that share their target with another one, so that the time is proportional to the
    /// number of inputs.
    Plateaus(const Inputs& inputs, std::span<const double> targets);

    /// Returns the logarithm of the probability that the target at an input is not the one of a plateau around it.
    [[nodiscard]] double log_new(std::span<const double> input) const;

   private:
    struct Span {
        std::vector<double> low, high;
        [[nodiscard]] bool contains(std::span<const double> input) const;
        [[nodiscard]] Span with(std::span<const double> input) const;
    };
    std::vector<Span> plateaus_;
    double enclosed_ = 0, equal_ = 0;  ///< inputs between two with equal targets, and those with the same target
};

/// An acquisition times the probability that the result is not one of a plateau.
class Unrepeated final : public Acquisition {
   public:
    Unrepeated(const Acquisition& inner, const Plateaus& plateaus) : inner_(inner), plateaus_(plateaus) {}
    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    const Acquisition& inner_;
    const Plateaus& plateaus_;
};

}  // namespace hpo
