// The map between the unit cube, where samplers work, and parameters: the one place where priors live. Invertible and
// bounded: a coordinate in [0, 1] always gives a value in [low, high], and `point` leads back.
//
// Without the policy a coordinate is uniform over its dimension: a real over [low, high], or over the logarithm of it
// (`log`); integers and stepped reals have bins of equal width (on the logarithm's scale with `log`); choices are
// equally likely. A dimension is active while all its conditions hold and the parameters they name are active.
//
// The large-batch policy bends learning rates and regularizers by the batch size of the same point. With u the
// coordinate, t = a u / (1 + (a - 1) u) is used in its place: a shift of the log-odds by ln a. It is monotone, keeps 0
// and 1, its inverse is the same form with 1/a, and the density stays between 1/a and a, so that no part of a range is
// lost. a moves the median (u = 1/2) to t = a / (a + 1), and is bounded to [1/9, 9]: medians stay within the middle 80
// % of a range. Batch sizes may be sampled or fixed; without one nothing is bent.
//
// * Learning rate: the median of the declared range belongs to the geometric middle of the batch sizes the study may
//   draw (a fixed batch size is its own middle: nothing is bent), and the median at another batch size is that times
//   the ratio of the two, for SGD, or times the root of the ratio for every other optimizer. Linear for SGD:
//   Krizhevsky, "One weird trick", 2014; Goyal et al., "Accurate, large minibatch SGD", 2017; Smith et al., "Don't
//   decay the learning rate, increase the batch size", 2018. Root for Adam-like ones: Malladi et al., "On the SDEs and
//   scaling rules for adaptive gradient algorithms", 2022.
// * Regularizers (weight decay, dropout, label smoothing): a = (batch / 256)^(1/4), never below 1. At 256 the prior is
//   the declared one; at 4096 the stronger half of the range is twice as likely as the weaker. Large batches lose the
//   noise that regularizes small ones (Keskar et al., "On large-batch training", 2017; Smith et al., 2018; Hoffer et
//   al., "Train longer, generalize better", 2017), and make fewer updates an epoch, so that AdamW's decay must grow to
//   average over the same number of epochs (Wang and Aitchison, "How to set AdamW's weight decay as you scale model and
//   dataset size", 2024: with the root of the batch). The exponent is half of that: evidence for other regularizers is
//   of sign, not of size, and a sampler that learns moves on from there.
//
// Categorical dimensions are never bent, nor are those that name a preferred value (`prior`). `policy.regularization:
// off` bends nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/space.hpp"
#include "hpo/study.hpp"

namespace hpo {

class CubeMap {
   public:
    /// `fixed`: parameters outside the space (a study's `worker`), where a fixed batch size or optimizer is looked up.
    /// Fails if conditions and batch-size dependencies go round in a circle, or name what is not in the space.
    static Result<CubeMap> make(const Space& space, const Policy& policy, const Params& fixed);

    /// The active parameters of a point. Coordinates are clamped to [0, 1].
    [[nodiscard]] Params params(const Point& point) const;
    /// The same with these values in the place of the point's, as far as they are active; others follow from them.
    [[nodiscard]] Params params(const Point& point, const Params& given) const;

    /// A flag a dimension.
    [[nodiscard]] std::vector<bool> active(const Point& point) const;
    [[nodiscard]] std::vector<bool> active(const Params& params) const;

    /// The point of given parameters: discrete ones lie in the middle of their bins, inactive dimensions at 1/2. Fails
    /// for a missing active parameter and for values outside their dimension.
    [[nodiscard]] Result<Point> point(const Params& params) const;

    /// `point` with its discrete coordinates in the middle of their bins, so that equal parameters are equal points.
    [[nodiscard]] Point canonical(const Point& point) const;

    /// Where the preferred value of a dimension lies that has one.
    [[nodiscard]] double preferred(std::size_t dimension) const;

    /// Distinct values of a dimension; absent: a continuum.
    [[nodiscard]] std::optional<std::uint64_t> values(std::size_t dimension) const;

    /// The active parameters of a finite space by the index of each dimension's value.
    [[nodiscard]] Params pick(const std::vector<std::uint64_t>& indices) const;

    [[nodiscard]] const Space& space() const { return space_; }

   private:
    CubeMap() = default;
    [[nodiscard]] bool holds(const Dimension& dimension, const Params& params) const;
    [[nodiscard]] double odds(std::size_t dimension, const Params& params) const;
    [[nodiscard]] std::optional<double> batch_size(const Params& params) const;
    [[nodiscard]] bool linear_in_batch(const Params& params) const;

    Space space_;
    std::vector<std::size_t> order_;  ///< dimensions, each after those it depends on
    Params fixed_;
    bool scaled_ = true;
    double reference_batch_ = 0;  ///< geometric middle of the batch sizes drawn; 0: none is drawn
};

}  // namespace hpo
