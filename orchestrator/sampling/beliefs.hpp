// Where a study expects good values: parameters that name a preferred one (`prior`).
//
// A belief is a density over a coordinate of the unit cube: mostly a normal one around the preferred value, truncated
// to the range, or the preferred category; the rest is uniform, so that no value is ever ruled out. Samplers weigh what
// they would propose by the density to a power that falls with the number of results: a wrong belief is soon
// outweighed (Hvarfner and others: "piBO: augmenting acquisition functions with user beliefs for Bayesian
// optimization", ICLR 2022).
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

class Beliefs {
   public:
    /// `preferred`: where the preferred value of a dimension lies in the cube.
    static Beliefs of(const Space& space, const std::function<double(std::size_t dimension)>& preferred);

    [[nodiscard]] bool empty() const { return dimensions_.empty(); }

    /// The preferred values; coordinates without one are in the middle.
    [[nodiscard]] Point preferred(std::size_t dimensions) const;
    /// The first trial has the preferred values, every second one after it is drawn; nothing: it is another's turn.
    [[nodiscard]] std::optional<Point> start(std::uint64_t trial, int retry, std::size_t dimensions,
                                             const std::function<double()>& uniform) const;
    /// A point of the beliefs; coordinates without one are uniform. `uniform` gives numbers in [0, 1).
    [[nodiscard]] Point draw(std::size_t dimensions, const std::function<double()>& uniform) const;

    /// The logarithm of the density at a point over the coordinates that count there; 0 without beliefs.
    [[nodiscard]] double log_density(std::span<const double> point, const std::vector<bool>& active) const;
    /// Adds `factor` times its derivatives by numeric coordinates.
    void add_slope(std::span<const double> point, double factor, std::span<double> slope) const;

    /// The power of the density after so many results.
    [[nodiscard]] static double power(std::size_t results);

   private:
    struct Belief {
        std::size_t dimension = 0;
        double centre = 0.5, deviation = 0.1;  ///< of the coordinate
        std::size_t choices = 0;               ///< 0: a number
        double mass = 1;                       ///< of the normal density inside [0, 1]
    };
    static double density(const Belief& belief, double coordinate);

    std::vector<Belief> dimensions_;
};

/// An acquisition whose value grows by `power` times the logarithm of the beliefs' density.
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
