// The box around the best trial in which a local model is searched (Eriksson, Pearce, Gardner, Turner, Poloczek:
// "Scalable global optimization via local Bayesian optimization", NeurIPS 2019). The share of proposals from the box
// follows from how often its trials have recently improved on the best, compared with trials from elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace hpo {

/// Returns the ends of a side of the box for a dimension with `values` different values, whose coordinates `middle`
/// returns in ascending order. The ends are two of these coordinates, so that no point of the box is rounded to one
/// outside. The neighbours of the centre always belong to the box, as there would be nothing to try in a smaller one.
std::pair<double, double> discrete_side(double centre, double length, std::uint64_t values,
                                        const std::function<double(std::uint64_t)>& middle);

/// The size of the box and its share of the proposals.
class TrustRegion {
   public:
    /// A trial's result beside the best of all before.
    enum class Outcome { better, equal, worse };

    /// Counts a trial that was proposed in the box or elsewhere. The box grows with successes, and shrinks after as
    /// many failures in a row as there are dimensions (at least four). It also grows where a result is equal to the
    /// best one: the box then lies within a plateau, and a smaller one would lie within it even more.
    void count(bool in_box, Outcome outcome, std::size_t dimensions);

    /// Returns the length of the box's sides in the unit cube.
    [[nodiscard]] double length() const { return length_; }

    /// Returns the share of proposals that should come from the box, between 0.2 and 0.75.
    [[nodiscard]] double share() const;

   private:
    static constexpr double first = 0.4, largest = 0.8, smallest = 1.0 / 128;
    double length_ = first;
    int successes_ = 0, failures_ = 0;           ///< in a row
    double inside_ = 1, inside_better_ = 0.5;    ///< trials in the box, and those that improved on the best, with decay
    double outside_ = 1, outside_better_ = 0.5;  ///< the same for trials from elsewhere
};

}  // namespace hpo
