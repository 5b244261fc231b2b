// The time that a trial takes, as a function of its parameters. Where time ends a study, a proposal counts by its
// expected improvement per second, to a power that falls as the time passes (Lee, Perrone, Archambeau, Seeger:
// "Cost-aware Bayesian optimization", ICML AutoML 2020): first many cheap trials, and at the end the best ones whatever
// they take.
//
// The logarithm of the seconds is a Bayesian linear regression, since times are products of powers of sizes: of rounds,
// widths and layers, and of the inverse of the batch size.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/sampler.hpp"

namespace hpo {

/// The predicted time of trials.
class Costs {
   public:
    /// Learns from the trials whose seconds are measured: all of few, the newest of many.
    Costs(const SamplerSetup& setup, const SearchSpace& space, std::span<const Observation> trials);

    /// Returns true if enough trials are measured to tell parameters apart by their time.
    [[nodiscard]] bool known() const { return !weights_.empty(); }
    /// Returns the natural logarithm of the predicted seconds at an input of the process (SearchSpace::input), less a
    /// constant. Adds to `slope` its derivatives with respect to numeric coordinates, times `factor`.
    double log_seconds(std::span<const double> input, double factor = 0, std::span<double> slope = {}) const;

   private:
    /// A feature of the regression: one category, or a power or the logarithm of a numeric coordinate.
    struct Feature {
        enum class Kind { category, linear, square, logarithm } kind;
        std::size_t dimension = 0;
        double parameter = 0;  ///< the category's index; of a logarithm, `low / (high - low)`
        double variance = 0;   ///< of the weight's prior

        [[nodiscard]] double value(std::span<const double> input) const;
        [[nodiscard]] double slope(std::span<const double> input) const;
    };
    static std::vector<Feature> features_of(const SamplerSetup& setup, const SearchSpace& space);

    std::vector<Feature> features_;
    std::vector<double> weights_;
};

/// An acquisition less `power` times the predicted logarithm of the seconds.
class PerSecond final : public Acquisition {
   public:
    PerSecond(const Acquisition& inner, const Costs& costs, double power)
        : inner_(inner), costs_(costs), power_(power) {}
    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    const Acquisition& inner_;
    const Costs& costs_;
    double power_;
};

}  // namespace hpo
