// The box around the best trial that a local model is searched in (Eriksson, Pearce, Gardner, Turner, Poloczek:
// "Scalable global optimization via local Bayesian optimization", NeurIPS 2019), and how often: as often as trials of
// the box have lately improved the best, compared with those from elsewhere.
#pragma once

#include <cstddef>

namespace hpo {

class TrustRegion {
   public:
    /// A trial ended in the box or elsewhere, and was better than all before or not. The box grows with success, and
    /// shrinks after as many failures in a row as there are dimensions (at least four).
    void count(bool in_box, bool better, std::size_t dimensions);

    /// Of the box's sides, in the unit cube.
    [[nodiscard]] double length() const { return length_; }

    /// The fraction of proposals that should come from the box, between 0.2 and 0.75.
    [[nodiscard]] double share() const;

   private:
    static constexpr double first = 0.4, largest = 0.8, smallest = 1.0 / 128;
    double length_ = first;
    int successes_ = 0, failures_ = 0;           ///< in a row
    double inside_ = 1, inside_better_ = 0.5;    ///< trials in the box, and how many improved the best; fading
    double outside_ = 1, outside_better_ = 0.5;  ///< and elsewhere
};

}  // namespace hpo
