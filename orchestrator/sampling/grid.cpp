// The grid sampler proposes every combination once: all values of discrete parameters, and evenly spread values of
// ranges (Bergstra and Bengio: "Random search for hyper-parameter optimization", JMLR 2012, on its cost).
//
// Combinations differ only in active parameters. Trials visit them in strides of the golden ratio, which spread over
// the grid, so that a study that ends early has covered all of it coarsely.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "hpo/random.hpp"
#include "hpo/text.hpp"
#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/registry.hpp"

namespace hpo {

namespace {

constexpr std::uint64_t most_combinations = 1'000'000;
constexpr std::uint64_t taken_whole = 16;  // integers and stepped ranges up to this size get all their values

constexpr std::uint64_t meets_all_with_log =
    64;  // points that meet all values of a log range of `taken_whole` integers, the last of which are close

constexpr std::array grid_options{
    Option{"points",
           OptionType::integer,
           2,
           1e6,
           {},
           "5",
           "values of a continuous or long range, bounds included, evenly spread (in the logarithm with log)"},
};

/// Returns the grid's coordinates in a dimension.
std::vector<double> grid_coordinates(const SamplerSetup& setup, std::size_t d, std::uint64_t points) {
    const Dimension& dimension = setup.space[d];
    std::optional<std::uint64_t> values = setup.values ? setup.values(d) : std::nullopt;
    if (dimension.kind == Kind::categorical) values = dimension.choices.size();
    // A dependent range has at most `most` values in any configuration, all of which this number of points meets.
    if (dimension.dependent() && (dimension.kind == Kind::integer || dimension.step)) {
        const double most = (dimension.high - dimension.low) / dimension.step.value_or(1) + 1.5;
        if (most <= static_cast<double>(taken_whole)) points = std::max(points, static_cast<std::uint64_t>(most));
        if (dimension.log && most <= static_cast<double>(taken_whole)) points = std::max(points, meets_all_with_log);
    }
    const std::uint64_t count = !values ? points
                                : dimension.kind == Kind::categorical
                                    ? *values
                                    : std::min(*values, std::max(points, taken_whole));
    std::vector<double> all;
    for (std::uint64_t i = 0; i < count; ++i) {
        const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
        if (!values) {
            all.push_back(share);
        } else {
            const double bin = std::round(share * static_cast<double>(*values - 1));
            if (dimension.log && count < *values)
                all.push_back(share);  // evenly over magnitudes, not over values
            else
                all.push_back(setup.middle ? setup.middle(d, static_cast<std::uint64_t>(bin))
                                           : (bin + 0.5) / static_cast<double>(*values));
        }
    }
    return all;
}

class GridSampler final : public Sampler {
   public:
    static Result<std::unique_ptr<Sampler>> make(const Params& given, const SamplerSetup& setup) {
        auto grid = std::make_unique<GridSampler>();
        grid->trials_ = setup.trials;
        const auto points = static_cast<std::uint64_t>(number_option(given, grid_options, "points"));
        std::uint64_t combinations = 1;
        bool conditions = false, depends = false;
        for (std::size_t d = 0; d < setup.space.size(); ++d) {
            grid->axes_.push_back(grid_coordinates(setup, d, points));
            const std::size_t size = grid->axes_.back().size();
            conditions = conditions || !setup.space[d].when.empty();
            depends = depends || (setup.space[d].dependent() && setup.canonical);
            if (size > most_combinations / combinations)
                return Error{"sampler grid: more than a million combinations; give ranges fewer values (points: " +
                             std::to_string(points) + " now) or take sobol, whose points spread as evenly"};
            combinations *= size;
        }
        std::set<Point> seen;  // values of a range that depends on others may coincide
        for (std::uint64_t number = 0; number < combinations; ++number) {
            if (conditions && !grid->stands_for_itself(number, setup)) continue;
            if (depends && !seen.insert(setup.canonical(grid->point(number))).second) continue;
            if (setup.allowed && !setup.allowed->contains(grid->point(number)))
                ++grid->dropped_;
            else
                grid->numbers_.push_back(number);
        }
        if (grid->numbers_.empty())
            return Error{"sampler grid: none of its " + std::to_string(grid->dropped_) +
                         " points is allowed; give ranges more values (points: " + std::to_string(points) + " now)"};
        grid->spread(setup.seed);
        return std::unique_ptr<Sampler>(std::move(grid));
    }

    Point propose(std::int64_t trial, std::span<const Site>, int retry) override {
        const auto at = static_cast<std::uint64_t>(trial - 1) + static_cast<std::uint64_t>(retry) + first_;
        return point(numbers_[at % numbers_.size() * stride_ % numbers_.size()]);
    }

    void tell(const Observation&) override {}

    [[nodiscard]] std::optional<std::int64_t> points() const override {
        return static_cast<std::int64_t>(numbers_.size());
    }

    [[nodiscard]] std::string about() const override {
        const auto all = static_cast<std::int64_t>(numbers_.size());
        std::string text = "grid of " + counted(static_cast<std::int64_t>(all), "point");
        if (dropped_ > 0)
            text += " (" + std::to_string(dropped_) + " of " + std::to_string(dropped_ + numbers_.size()) +
                    " are not allowed)";
        if (all > trials_)
            text += ", of which the budget's " + std::to_string(trials_) + " trials spread over all of it";
        return text;
    }

   private:
    [[nodiscard]] std::vector<std::size_t> indices(std::uint64_t number) const {
        std::vector<std::size_t> all;
        for (const auto& axis : axes_) {
            all.push_back(number % axis.size());
            number /= axis.size();
        }
        return all;
    }

    [[nodiscard]] Point point(std::uint64_t number) const {
        const std::vector<std::size_t> chosen = indices(number);
        Point made;
        for (std::size_t d = 0; d < axes_.size(); ++d) made.push_back(axes_[d][chosen[d]]);
        return made;
    }

    /// Returns true for the first of the combinations that differ only in inactive parameters.
    [[nodiscard]] bool stands_for_itself(std::uint64_t number, const SamplerSetup& setup) const {
        const std::vector<std::size_t> chosen = indices(number);
        const std::vector<bool> active = setup.active(point(number));
        for (std::size_t d = 0; d < axes_.size(); ++d)
            if (!active[d] && chosen[d] != 0) return false;
        return true;
    }

    void spread(std::uint64_t seed) {
        const std::uint64_t size = numbers_.size();
        stride_ =
            std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round(0.618034 * static_cast<double>(size))));
        while (std::gcd(stride_, size) != 1) ++stride_;
        first_ = static_cast<std::uint64_t>(draw_unit(seed, Purpose::startup, 0, 0) * static_cast<double>(size));
    }

    std::vector<std::vector<double>> axes_;
    std::vector<std::uint64_t> numbers_;  ///< combinations, as mixed radix numbers of axes' indices
    std::uint64_t stride_ = 1, first_ = 0;
    std::int64_t trials_ = 0;
    std::uint64_t dropped_ = 0;  ///< combinations that are not allowed
};

}  // namespace

constinit const SamplerRow grid_row{
    {"grid", "every combination once, in an order that spreads over the space; ends the study after the last",
     grid_options},
    &GridSampler::make,
    true,
    true};

}  // namespace hpo
