// The map between the unit cube, where samplers work, and parameters. All priors are part of this map. It is bounded
// and invertible. A coordinate in [0, 1] always gives a value in [low, high], and `point` is the inverse.
//
// Without the policy, a coordinate is uniform over its dimension. A real is uniform over [low, high], or over its
// logarithm (`log`). Integers and stepped reals have bins of equal width, on the logarithm's scale with `log`. Choices
// are equally likely. A dimension is active while all its conditions hold and the parameters they name are active.
//
// The large-batch policy bends learning rates and regularizers by the batch size of the same point. With u the
// coordinate, t = a u / (1 + (a - 1) u) is used in its place. This shifts the log-odds by ln a. The map is monotone and
// keeps 0 and 1. Its inverse has the same form with 1/a. The density stays between 1/a and a, so that no part of a
// range is lost. a moves the median (u = 1/2) to t = a / (a + 1). It is bounded to [1/9, 9], so that medians stay
// within the middle 80 % of a range. Batch sizes may be sampled or fixed. Without a batch size, nothing is bent.
//
// * Learning rate: the median of the declared range belongs to the geometric middle of the batch sizes the study may
//   draw (a fixed batch size is its own middle: nothing is bent), and the median at another batch size is that times
//   the ratio of the two, for SGD, or times the root of the ratio for every other optimizer. Linear for SGD:
//   Krizhevsky, "One weird trick", 2014; Goyal et al., "Accurate, large minibatch SGD", 2017; Smith et al., "Don't
//   decay the learning rate, increase the batch size", 2018. Root for Adam-like ones: Malladi et al., "On the SDEs and
//   scaling rules for adaptive gradient algorithms", 2022.
// * Regularizers (weight decay, dropout, label smoothing): a = (batch / 256)^(1/4), never below 1. At 256, the prior is
//   the declared one. At 4096, the stronger half of the range is twice as likely as the weaker. Large batches lose the
//   noise that regularizes small ones (Keskar et al., "On large-batch training", 2017; Smith et al., 2018; Hoffer et
//   al., "Train longer, generalize better", 2017), and make fewer updates an epoch, so that AdamW's decay must grow to
//   average over the same number of epochs (Wang and Aitchison, "How to set AdamW's weight decay as you scale model and
//   dataset size", 2024: with the root of the batch). The exponent is half of that, since the evidence for other
//   regularizers is about the direction, not the size. A sampler that learns corrects it.
//
// A range may depend on other parameters (`high: {parameter: lr}`). A coordinate is then a share of the range that the
// other parameters leave, so that the map stays invertible and samplers need not know. Where the range is empty, or
// where a condition of `where` is broken, a configuration is not allowed (allowed.hpp).
//
// Categorical dimensions and dimensions with a preferred value (`prior`) are never bent. With `policy.regularization:
// off`, nothing is bent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/space.hpp"
#include "hpo/study.hpp"
#include "orchestrator/expression/expression.hpp"

namespace hpo {

/// The map of a study. Immutable.
class CubeMap {
   public:
    /// Makes the map. `fixed` holds the parameters outside the space (a study's `worker`), in which a fixed batch size
    /// or optimizer is looked up, and names of `where`. Fails if conditions, ranges and batch-size dependencies form a
    /// cycle, if a condition or an expression names a parameter that is unknown, or if a batch size is not positive.
    static Result<CubeMap> make(const Space& space, const Policy& policy, const Params& fixed,
                                const std::vector<std::string>& where = {});

    /// Returns the active parameters of a point. Coordinates are clamped to [0, 1].
    [[nodiscard]] Params params(const Point& point) const;
    /// Returns the active parameters of a point, with the values in `given` in place of the point's. Conditions and
    /// priors of other parameters follow from the given values.
    [[nodiscard]] Params params(const Point& point, const Params& given) const;

    /// Returns a flag for each dimension.
    [[nodiscard]] std::vector<bool> active(const Point& point) const;
    [[nodiscard]] std::vector<bool> active(const Params& params) const;

    /// Returns the point of the given parameters. Discrete ones lie in the middle of their bins, inactive dimensions at
    /// 1/2. Fails if an active parameter is missing or a value is outside its dimension.
    [[nodiscard]] Result<Point> point(const Params& params) const;

    /// Returns `point` with discrete coordinates moved to the middle of their bins, so that equal parameters have equal
    /// points.
    [[nodiscard]] Point canonical(const Point& point) const;

    /// Returns the coordinate of a dimension's preferred value. The dimension must have one.
    [[nodiscard]] double preferred(std::size_t dimension) const;

    /// Returns the number of distinct values of a dimension, or nothing for a continuum and for a range that depends on
    /// other parameters.
    [[nodiscard]] std::optional<std::uint64_t> values(std::size_t dimension) const;

    /// Returns the coordinate in the middle of the bin of a dimension's value with this index, below values(). On a
    /// logarithm's scale bins differ in width.
    [[nodiscard]] double middle(std::size_t dimension, std::uint64_t index) const;

    /// Returns an upper bound of the number of configurations, which is exact if none depends on another parameter, or
    /// nothing for a continuum. Larger numbers than `enumerable` are cut to one more than it.
    [[nodiscard]] std::optional<std::uint64_t> combinations(std::uint64_t enumerable) const;
    /// Returns the active parameters of combination `number` of all values, below combinations(). Returns nothing if a
    /// range that depends on other parameters lacks the value.
    [[nodiscard]] std::optional<Params> combination(std::uint64_t number) const;

    /// Returns true if some configurations of the cube are not allowed.
    [[nodiscard]] bool restricts() const { return restricts_; }
    /// Returns true if active parameters lie within the ranges that depend on others and break no condition of `where`.
    [[nodiscard]] bool allows(const Params& params) const;
    /// Returns true if active parameters do not break the condition of `where` with this index.
    [[nodiscard]] bool keeps(std::size_t condition, const Params& params) const;

    [[nodiscard]] const Space& space() const { return space_; }

   private:
    CubeMap() = default;
    /// The ends of a range that depend on other parameters.
    struct Ends {
        std::optional<expression::Expression> low, high;
    };
    /// A dimension with the range that the other parameters leave.
    struct Left {
        Dimension dimension;
        bool empty = false;  ///< true if they leave none; the dimension then has its least value alone
    };
    [[nodiscard]] Result<void> read_expressions(const std::vector<std::string>& where);
    [[nodiscard]] bool needs(std::size_t dimension, std::size_t other) const;
    [[nodiscard]] std::vector<const Value*> values_of(const Params& params) const;
    [[nodiscard]] Left left_of(std::size_t dimension, const Params& params) const;
    /// Calls `use` with the dimension as the other parameters leave it, and returns the result.
    template <class Use>
    auto with(std::size_t dimension, const Params& params, Use&& use) const;
    [[nodiscard]] bool holds(const Dimension& dimension, const Params& params) const;
    [[nodiscard]] double odds(const Dimension& dimension, const Params& params) const;
    [[nodiscard]] std::optional<double> batch_size(const Params& params) const;
    [[nodiscard]] bool linear_in_batch(const Params& params) const;

    Space space_;
    std::vector<std::size_t> order_;  ///< dimensions, each after those that it depends on
    Params fixed_;
    std::vector<Ends> ends_;  ///< of each dimension
    std::vector<expression::Expression> where_;
    bool restricts_ = false;
    bool scaled_ = true;
    double reference_batch_ = 0;  ///< geometric middle of the sampled batch sizes; 0 if none is sampled
};

}  // namespace hpo
