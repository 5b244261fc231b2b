// Bayesian optimisation with a Gaussian process: expected improvement on a model of the results (gp_model.hpp), in the
// whole cube and in a box around the best (trust_region.hpp).
//
// Pending trials have the values that the model predicts. Diverged and failed trials have the worst value of all. If
// trials end after different numbers of steps, the logarithm of that number is a further input of the model. Proposals
// are made for the largest number, since a trial that was stopped early does not show its value after all steps. The
// predictions from other studies (expectation.hpp) are further inputs as well.
//
// The worse the model's leave-one-out predictions rank the trials, the larger the share of proposals that come from
// another sampler: tpe, or cmaes if the predictions hardly rank them at all. The mean of such results is flat or
// rugged, and cmaes follows the best of them, which may still lead to the optimum (Schaffer's function is an example).
//
// Equal results show a plateau. Points that are expected to repeat a result are proposed less (plateaus.hpp), and the
// box grows out of the plateau.
//
// Few results leave the process flat far from all points, so that its expected improvement is largest at the ends of
// the ranges. Weak beliefs in usual values outweigh this until there are more results (beliefs.hpp).
//
// Where the time budget ends the study, the expected improvement counts per second (costs.hpp).
//
// gp_several.hpp has the sampler for several objectives and constraints.
//
// A proposal depends only on the observations, never on when it is made, so that a resumed study continues as if it had
// not been interrupted.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "hpo/random.hpp"
#include "orchestrator/sampling/beliefs.hpp"
#include "orchestrator/sampling/costs.hpp"
#include "orchestrator/sampling/expectation.hpp"
#include "orchestrator/sampling/gp_model.hpp"
#include "orchestrator/sampling/gp_several.hpp"
#include "orchestrator/sampling/plateaus.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/start_points.hpp"
#include "orchestrator/sampling/trust_region.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_modelled = 500;  // observations in a model: the better half, and the rest evenly
constexpr int global_draws = 400, local_draws = 200;
constexpr double most_cost_power = 2;       // at the start of a study that time ends
constexpr std::uint64_t start_choices = 4;  // start points of which that study takes the quickest
constexpr std::size_t default_startup = 4, startup_after_others = 2;
constexpr std::size_t enough_elsewhere = 8;  // trials of another study that say where to begin
constexpr double rankless = 0.3;  // distrust of a model from which on cmaes replaces tpe: a correlation below 1/3

constexpr std::array options{
    Option{"startup",
           OptionType::integer,
           2,
           1e6,
           {},
           "",
           "sobol trials before the model is asked; default: 4, or 2 after warm_start"},
    Option{"uniform", OptionType::real, 0, 1, {}, "0", "share of the proposals that are drawn from the priors alone"},
};

/// Returns true if another study has trials enough to say where good configurations lie.
bool knows_where_to_begin(const SamplerSetup& setup) {
    return std::any_of(setup.expected.begin(), setup.expected.end(),
                       [](const auto& other) { return other->trials() >= enough_elsewhere; });
}

/// Returns weak beliefs in the defaults of parameters with known names, and in the middle of the ranges of others.
/// Returns none where other studies say more.
Beliefs beliefs_to_begin_with(const SamplerSetup& setup) {
    if (!setup.expected.empty()) return {};
    const Point middle(setup.space.size(), 0.5);
    return Beliefs::in_usual_values(setup.space, setup.usual ? setup.usual(middle) : middle);
}

class GpSampler final : public Sampler {
   public:
    GpSampler(const GpOptions& given, const SamplerSetup& setup, std::unique_ptr<Sampler> fallback,
              std::unique_ptr<Sampler> evolution)
        : setup_(setup),
          fallback_(std::move(fallback)),
          evolution_(std::move(evolution)),
          startup_(given.startup),
          trusted_(2 * (setup.expected.empty() ? startup_ : default_startup)),
          uniform_(given.uniform),
          usual_(beliefs_to_begin_with(setup)),
          start_(setup),
          space_(search_space(setup)),
          chooser_(space_) {}
    GpSampler(const GpSampler&) = delete;  // the chooser refers to the space
    GpSampler& operator=(const GpSampler&) = delete;

    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        const auto number = static_cast<std::uint64_t>(trial);
        std::uint64_t element = static_cast<std::uint64_t>(retry) << 32;
        const std::function<double()> uniform = [&] {
            return draw_unit(setup_.seed, Purpose::sampler, number, element++);
        };
        const std::size_t observed = history_.trials().size();
        if (number <= startup_ || observed < startup_ || history_.measured() < 2)
            return start_point(number, retry, uniform);
        if (retry > 0) return fallback_->propose(trial, pending, retry);  // the model repeats a known point

        if (uniform_ > 0 && uniform() < uniform_share()) return draw_from_priors(setup_, uniform);
        const Model model = chooser_.choose(history_, uniform);
        const double distrust = observed < trusted_ ? 0 : chooser_.distrust(history_, model);
        if (uniform() < distrust) return (distrust > rankless ? evolution_ : fallback_)->propose(trial, pending, 0);
        const bool local = uniform() < region_.share();
        return local ? propose_locally(model, pending, uniform) : propose_globally(model, pending, trial, uniform);
    }

    void tell(const Observation& observation) override {
        fallback_->tell(observation);
        evolution_->tell(observation);
        elapsed_ = std::max(elapsed_, observation.elapsed);
        const Observation* const best = history_.best();
        const bool known = best != nullptr, near = known && in_box(observation.site.point);
        const auto outcome = outcome_of(observation, known ? *best->loss : INFINITY);
        if (history_.tell(observation) && known) region_.count(near, outcome, setup_.space.size());
    }

   private:
    static TrustRegion::Outcome outcome_of(const Observation& observation, double best) {
        if (!observation.loss || *observation.loss > best) return TrustRegion::Outcome::worse;
        return *observation.loss < best ? TrustRegion::Outcome::better : TrustRegion::Outcome::equal;
    }
    /// Returns the share of proposals that are drawn from the priors. Repetitions show that different points are the
    /// same training, so the model's proposals, which lie close together, repeat others more often than draws do.
    [[nodiscard]] double uniform_share() const {
        const auto& trials = history_.trials();
        const auto repeats = std::count_if(trials.begin(), trials.end(), [](auto& trial) { return trial.repeats; });
        const double share = static_cast<double>(repeats) / static_cast<double>(trials.size());
        return 1 - (1 - uniform_) * std::max(0.1, 1 - 2 * share);
    }
    /// Returns the start point of a trial. Where time ends the study, it is the quickest of a few, once the first
    /// trials have shown which take long.
    [[nodiscard]] Point start_point(std::uint64_t number, int retry, const std::function<double()>& uniform) {
        Point quickest = start_.at(number, retry, uniform);
        if (retry > 0 || !(cost_power() > 0)) return quickest;
        const Costs costs(setup_, space_, history_.trials());
        if (!costs.known()) return quickest;
        double least = costs.log_seconds(space_.input(quickest));
        for (std::uint64_t turn = 1; turn < start_choices; ++turn) {
            Point other = start_.at(number + turn * startup_, retry, uniform);
            const double seconds = costs.log_seconds(space_.input(other));
            if (seconds < least) least = seconds, quickest = std::move(other);
        }
        return quickest;
    }

    /// Returns the power of the seconds by which the expected improvement is divided. It falls with the time that is
    /// left, and is 0 where the budget of trials ends the study before.
    [[nodiscard]] double cost_power() const {
        if (!setup_.seconds || !(elapsed_ > 0)) return 0;
        const double left = *setup_.seconds - elapsed_;
        const auto trials = static_cast<double>(history_.trials().size());
        const bool binds = trials + trials / elapsed_ * left < static_cast<double>(setup_.trials);
        return binds ? most_cost_power * std::max(0.0, left / *setup_.seconds) : 0;
    }
    /// Returns the box around the best trial. It is open in the dimensions of choices.
    [[nodiscard]] Box box() const {
        const Point& centre = history_.best()->site.point;
        Box box{std::vector<double>(centre.size(), 0.0), std::vector<double>(centre.size(), 1.0)};
        for (std::size_t d = 0; d < centre.size(); ++d) {
            if (space_.categorical[d]) continue;
            box.low[d] = std::max(0.0, centre[d] - region_.length() / 2);
            box.high[d] = std::min(1.0, centre[d] + region_.length() / 2);
            if (const auto values = setup_.values ? setup_.values(d) : std::nullopt)
                std::tie(box.low[d], box.high[d]) =
                    discrete_side(centre[d], region_.length(), *values, [&](auto i) { return setup_.middle(d, i); });
        }
        return box;
    }
    [[nodiscard]] bool in_box(const Point& point) const {
        const Box sides = box();
        for (std::size_t d = 0; d < point.size(); ++d)
            if (point[d] < sides.low[d] - 1e-12 || point[d] > sides.high[d] + 1e-12) return false;
        return true;
    }

    /// Returns the value to improve on, which is the least observed value or the least mean of the model. The mean is
    /// robust against noise. Predictions for pending trials count, since the same improvement would be expected again.
    [[nodiscard]] static double incumbent(const GaussianProcess& process, const Data& data, bool believed) {
        if (believed || data.steps > 0 || !data.variances.empty()) return least_believed(process, data.steps > 0);
        return *std::min_element(process.targets().begin(), process.targets().end());
    }

    /// Returns the search space for a process of `data`.
    [[nodiscard]] SearchSpace space_for(const Data& data) const {
        SearchSpace space = space_;
        if (data.steps > 0) space.steps = 1;
        return space;
    }

    [[nodiscard]] Point best_in(const GaussianProcess& process, double least, const SearchSpace& space, const Box& box,
                                std::span<const Point> around, int draws,
                                const std::function<double()>& uniform) const {
        const ExpectedImprovement expected(process, least);
        const Plateaus plateaus(process.inputs(), process.targets());
        const Unrepeated improvement(expected, plateaus);
        const Acquisition* wanted = &improvement;
        std::optional<Believed> leaning, believed;
        const double power = Beliefs::power(history_.trials().size());
        if (!usual_.empty()) wanted = &leaning.emplace(*wanted, usual_, space, power);
        if (setup_.beliefs) wanted = &believed.emplace(*wanted, *setup_.beliefs, space, power);
        std::optional<PerSecond> per_second;
        std::optional<Costs> costs;
        if (const double by_cost = cost_power(); by_cost > 0)
            if (costs.emplace(setup_, space, history_.trials()); costs->known())
                wanted = &per_second.emplace(*wanted, *costs, by_cost);
        return maximise(*wanted, space, box, around, draws, uniform);
    }

    [[nodiscard]] Point propose_globally(const Model& model, std::span<const Site> pending, std::int64_t trial,
                                         const std::function<double()>& uniform) const {
        const Data data = data_of(space_, history_.trials(), select(history_.trials(), most_modelled));
        const GaussianProcess process = process_of(space_, data, model, pending);
        const double least = incumbent(process, data, trial % 2 == 0);
        const std::size_t dimensions = setup_.space.size();
        const Box box{std::vector<double>(dimensions, 0.0), std::vector<double>(dimensions, 1.0)};
        return best_in(process, least, space_for(data), box, history_.best_points(5), global_draws, uniform);
    }

    /// Returns the best point in the box around the best trial, by a model of only the trials nearest to it.
    [[nodiscard]] Point propose_locally(const Model& model, std::span<const Site> pending,
                                        const std::function<double()>& uniform) const {
        const Point& centre = history_.best()->site.point;
        const std::size_t dimensions = setup_.space.size();
        const Data data = data_of(space_, history_.trials(), nearest(centre, 20 + 4 * dimensions));
        const Model local = local_model(space_, data, centre, model, uniform);
        const GaussianProcess process = process_of(space_, data, local, pending);
        const double least = incumbent(process, data, false);
        return best_in(process, least, space_for(data), box(), std::array{centre}, local_draws, uniform);
    }

    /// Returns the `count` trials nearest to a point, by the largest distance in a numeric coordinate.
    [[nodiscard]] std::vector<std::size_t> nearest(const Point& centre, std::size_t count) const {
        const std::vector<Observation>& trials = history_.trials();
        std::vector<std::pair<double, std::size_t>> distances;
        for (std::size_t i = 0; i < trials.size(); ++i) {
            double furthest = 0;
            for (std::size_t d = 0; d < centre.size(); ++d)
                if (!space_.categorical[d])
                    furthest = std::max(furthest, std::abs(trials[i].site.point[d] - centre[d]));
            distances.emplace_back(furthest, i);
        }
        std::sort(distances.begin(), distances.end());
        distances.resize(std::min(distances.size(), count));
        std::vector<std::size_t> kept;
        for (const auto& [distance, i] : distances) kept.push_back(i);
        return kept;
    }

    SamplerSetup setup_;
    std::unique_ptr<Sampler> fallback_, evolution_;
    std::size_t startup_ = 0;
    std::size_t trusted_ = 0;  ///< trials before the model's predictions are judged
    double uniform_ = 0;
    Beliefs usual_;
    double elapsed_ = 0;  ///< seconds of the study
    StartPoints start_;
    SearchSpace space_;
    History history_;
    TrustRegion region_;
    ModelChooser chooser_;
};

}  // namespace

constinit const SamplerRow gp_row{
    {"gp", "learns from results: a Gaussian process and expected improvement; best for up to some 1,000 trials",
     options},
    [](const Params& given, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        auto fallback = tpe_row.make({{"startup", std::int64_t{1}}}, setup);
        auto evolution = cmaes_row.make({}, setup);
        if (!fallback || !evolution) return fallback ? evolution.error() : fallback.error();
        // Other studies say where to begin, and the trials that repeat their best come first.
        const auto startup = knows_where_to_begin(setup) ? startup_after_others : default_startup;
        const GpOptions read{
            static_cast<std::size_t>(number_option(given, options, "startup", static_cast<double>(startup))),
            number_option(given, options, "uniform")};
        if (setup.objectives > 1 || setup.constraints > 0) return make_several(read, setup, *std::move(fallback));
        return std::unique_ptr<Sampler>(
            std::make_unique<GpSampler>(read, setup, *std::move(fallback), *std::move(evolution)));
    },
    false,
    false,
    true};

}  // namespace hpo
