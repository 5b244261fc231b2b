// The preferred values of a study's parameters (`prior`), as densities.
//
// A belief is a density over one coordinate of the unit cube. Most of its mass is a normal density around the preferred
// value, truncated to the range, or lies on the preferred category. The rest is uniform, so that no value is ever ruled
// out. Samplers weight their candidates by the density raised to a power that falls with the number of results, so that
// a wrong belief is soon outweighed (Hvarfner and others: "piBO: augmenting acquisition functions with user beliefs for
// Bayesian optimization", ICLR 2022).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hpo/space.hpp"
#include "orchestrator/sampling/expected_improvement.hpp"

namespace hpo {

/// The beliefs of a study, at most one per dimension.
class Beliefs {
   public:
    /// Returns the beliefs of `space`. `preferred` returns the coordinate of a dimension's preferred value.
    static Beliefs of(const Space& space, const std::function<double(std::size_t dimension)>& preferred);

    /// Returns weak beliefs in the values of `usual`, one for each numeric dimension without a prior: optima at the
    /// ends of ranges are rarer than a model of few results expects.
    static Beliefs in_usual_values(const Space& space, const Point& usual);

    [[nodiscard]] bool empty() const { return dimensions_.empty(); }

    /// Returns the point of the preferred values. Coordinates without one are 1/2.
    [[nodiscard]] Point preferred(std::size_t dimensions) const;
    /// Returns the start point of `trial`: the preferred values for the first trial, a draw for other odd trials, and
    /// nothing for even trials, which the sampler starts in its own way.
    [[nodiscard]] std::optional<Point> start(std::uint64_t trial, int retry, std::size_t dimensions,
                                             const std::function<double()>& uniform) const;
    /// Draws a point from the beliefs. Coordinates without one are uniform. `uniform` returns numbers in [0, 1).
    [[nodiscard]] Point draw(std::size_t dimensions, const std::function<double()>& uniform) const;

    /// Returns the logarithm of the density at a point, over its active coordinates. Returns 0 without beliefs.
    [[nodiscard]] double log_density(std::span<const double> point, const std::vector<bool>& active) const;
    /// Adds to `slope` the derivatives of the log density with respect to numeric coordinates, times `factor`.
    void add_slope(std::span<const double> point, double factor, std::span<double> slope) const;

    /// Returns the power to which the density is raised after `results` results.
    [[nodiscard]] static double power(std::size_t results);

   private:
    struct Belief {
        std::size_t dimension = 0;
        double centre = 0.5, deviation = 0.1;  ///< in the unit cube
        std::size_t choices = 0;               ///< number of categories, 0 for a numeric dimension
        double mass = 1;                       ///< the normal density's mass inside [0, 1]
    };
    void add(std::size_t dimension, double centre, double deviation, std::size_t choices);
    static double density(const Belief& belief, double coordinate);

    std::vector<Belief> dimensions_;
};

/// An acquisition to which `power` times the logarithm of the beliefs' density is added.
class Believed final : public Acquisition {
   public:
    Believed(const Acquisition& inner, const Beliefs& beliefs, const SearchSpace& space, double power)
        : inner_(inner), beliefs_(beliefs), space_(space), power_(power) {}
    [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override;
    double value(std::span<const double> input, std::span<double> gradient) const override;

   private:
    [[nodiscard]] Point point_of(std::span<const double> input) const;

    const Acquisition& inner_;
    const Beliefs& beliefs_;
    const SearchSpace& space_;
    double power_;
};

}  // namespace hpo
