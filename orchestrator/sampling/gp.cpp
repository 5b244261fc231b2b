// Bayesian optimisation with a Gaussian process: expected improvement on a model of the results, in the whole cube and
// in a box around the best that grows with success and shrinks without (Eriksson, Pearce, Gardner, Turner, Poloczek:
// "Scalable global optimization via local Bayesian optimization", NeurIPS 2019).
//
// The model is chosen by its posterior density among two kernels (joint, and joint with additive parts) and three
// scales of the results (as they are, and two logarithms above the best, which spread out the good end). Trials that
// have not told anything yet are taken to give what the model predicts (Ginsbourger, Le Riche, Carraro: "Kriging is
// well-suited to parallelize optimization", 2010). Diverged and failed trials count as the worst seen. Where trials end
// after different numbers of steps, the logarithm of that number is a further input of the model, which is asked about
// the largest: a trial that was stopped early tells what it reached, not what it would have reached. Where the model's
// leave-one-out predictions do not rank the trials, a share of the proposals is tpe's.
//
// A proposal depends on what was told alone, never on when the model was asked, so that a study that is resumed goes on
// as if it had not been interrupted: hyperparameters are those of the last milestone, found from what was told until
// then, and refined with the rest.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "hpo/random.hpp"
#include "orchestrator/sampling/expected_improvement.hpp"
#include "orchestrator/sampling/gaussian_process.hpp"
#include "orchestrator/sampling/parzen.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/sobol.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_modelled = 500;  // observations in a model: the better half, and the rest evenly
constexpr std::size_t most_fitted = 80;     // of them, those that hyperparameters are found from
constexpr std::size_t most_values = 24;     // integers with more values are treated as a continuum
constexpr int global_draws = 400, local_draws = 200;

constexpr std::array options{
    Option{"startup",
           OptionType::integer,
           2,
           1e6,
           {},
           "",
           "trials proposed by sobol before the model is asked; "
           "default: two more than parameters, from 5 to 10"},
};

enum class Scale { plain, logarithm, steep_logarithm };
constexpr std::array scales{Scale::plain, Scale::logarithm, Scale::steep_logarithm};

/// Results on the scale that a model sees: mean 0, variance 1.
struct Targets {
    std::vector<double> values;
    double cost = 0;  ///< negative log of the Jacobian, to compare models of different scales
};

Targets rescale(std::vector<double> losses, Scale scale) {
    Targets targets;
    const auto n = static_cast<double>(losses.size());
    if (scale != Scale::plain) {
        std::vector<double> sorted = losses;
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
        const double least = *std::min_element(losses.begin(), losses.end());
        double spread = sorted[sorted.size() / 2] - least;
        if (scale == Scale::steep_logarithm) spread /= 10;
        if (!(spread > 0)) spread = 1;
        for (double& loss : losses) {
            targets.cost += std::log1p((loss - least) / spread) + std::log(spread);
            loss = std::log1p((loss - least) / spread);
        }
    }
    const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / n;
    double variance = 0;
    for (const double loss : losses) variance += (loss - mean) * (loss - mean) / n;
    const double deviation = variance > 0 ? std::sqrt(variance) : 1;
    for (const double loss : losses) targets.values.push_back((loss - mean) / deviation);
    targets.cost += n * std::log(deviation);
    return targets;
}

/// The trust region around the best trial, as the trials told so far have left it.
struct TrustRegion {
    static constexpr double first = 0.4, largest = 0.8, smallest = 1.0 / 128;
    double length = first;
    int successes = 0, failures = 0;           ///< in a row
    double inside = 1, inside_better = 0.5;    ///< trials in the box, and how many improved the best; fading
    double outside = 1, outside_better = 0.5;  ///< and elsewhere

    void count(bool in_box, bool better, std::size_t dimensions) {
        constexpr double fade = 0.9;
        double& trials = in_box ? inside : outside;
        double& improved = in_box ? inside_better : outside_better;
        trials = trials * fade + 1;
        improved = improved * fade + (better ? 1 : 0);
        if (!in_box) return;
        successes = better ? successes + 1 : 0;
        failures = better ? 0 : failures + 1;
        if (successes >= 2) {
            length = std::min(length * 1.6, largest);
            successes = 0;
        } else if (failures >= static_cast<int>(std::max<std::size_t>(4, dimensions))) {
            length /= 2;
            failures = 0;
            if (length < smallest) length = first;
        }
    }
    /// How often a proposal comes from the box.
    [[nodiscard]] double share() const {
        const double here = inside_better / inside, there = outside_better / outside;
        return here + there > 0 ? std::clamp(here / (here + there), 0.2, 0.75) : 0.5;
    }
};

class GpSampler final : public Sampler {
   public:
    GpSampler(const Params& given, const SamplerSetup& setup, std::unique_ptr<Sampler> fallback)
        : setup_(setup), fallback_(std::move(fallback)) {
        const std::size_t dimensions = setup.space.size();
        startup_ = static_cast<std::size_t>(number_option(
            given, options, "startup", static_cast<double>(std::clamp<std::size_t>(dimensions + 2, 5, 10))));
        for (std::size_t d = 0; d < dimensions; ++d) {
            const Dimension& dimension = setup.space[d];
            space_.categorical.push_back(dimension.kind == Kind::categorical);
            std::size_t bins = dimension.kind == Kind::categorical ? dimension.choices.size() : 0;
            if (setup.values && !space_.categorical.back())
                if (const auto count = setup.values(d); count && *count <= most_values)
                    bins = static_cast<std::size_t>(*count);
            space_.bins.push_back(bins);
        }
        space_.active = setup.active;
    }

    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        const auto number = static_cast<std::uint64_t>(trial);
        std::uint64_t element = static_cast<std::uint64_t>(retry) << 32;
        const std::function<double()> uniform = [&] {
            return draw_unit(setup_.seed, Purpose::sampler, number, element++);
        };
        if (number <= startup_ || told_.size() < startup_ || measured_ < 2) return start(number, retry, uniform);
        if (retry > 0) return fallback_->propose(trial, pending, retry);  // the model insists on what is known

        const Model model = choose_model();
        if (uniform() < distrust(model)) return fallback_->propose(trial, pending, 0);
        const bool local = uniform() < region_.share();
        return local ? propose_locally(model, pending, uniform) : propose_globally(model, pending, trial, uniform);
    }

    void tell(const Observation& observation) override {
        fallback_->tell(observation);
        const auto [known, fresh] = index_.try_emplace(observation.trial, told_.size());
        if (fresh) {
            told_.push_back(observation);
        } else {
            measured_ -= told_[known->second].loss ? 1 : 0;
            told_[known->second] = observation;
        }
        measured_ += observation.loss ? 1 : 0;
        order_.push_back(observation);
        const bool better = observation.loss && (!best_ || *observation.loss < *told_[*best_].loss);
        if (best_ && fresh) region_.count(in_box(observation.site.point), better, setup_.space.size());
        if (better) best_ = known->second;
    }

   private:
    struct Data {
        Inputs inputs;
        std::vector<double> losses;
    };
    struct Model {
        Scale scale = Scale::plain;
        Hyperparameters parameters;
    };
    struct Milestone {
        std::size_t tells = 0;
        Model model;
    };

    Point start(std::uint64_t number, int retry, const std::function<double()>& uniform) const {
        const std::size_t dimensions = setup_.space.size();
        if (dimensions <= sobol_dimensions) return sobol_point(setup_.seed, number, dimensions, retry);
        Point point(dimensions);
        for (double& x : point) x = uniform();
        return point;
    }

    [[nodiscard]] bool in_box(const Point& point) const {
        const Point& centre = told_[*best_].site.point;
        for (std::size_t d = 0; d < point.size(); ++d)
            if (!space_.categorical[d] && std::abs(point[d] - centre[d]) > region_.length / 2 + 1e-12) return false;
        return true;
    }

    /// At most `most` of the observations: the better half of them, and others spread evenly over the ranks.
    [[nodiscard]] static std::vector<std::size_t> select(const std::vector<Observation>& all, std::size_t most) {
        std::vector<std::size_t> ranks(all.size());
        std::iota(ranks.begin(), ranks.end(), std::size_t{0});
        if (all.size() <= most) return ranks;
        std::stable_sort(ranks.begin(), ranks.end(), [&](std::size_t a, std::size_t b) {
            if (all[a].loss.has_value() != all[b].loss.has_value()) return all[a].loss.has_value();
            return all[a].loss && *all[a].loss < *all[b].loss;
        });
        std::vector<std::size_t> kept(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(most / 2));
        const std::size_t rest = all.size() - most / 2, wanted = most - most / 2;
        for (std::size_t i = 0; i < wanted; ++i) kept.push_back(ranks[most / 2 + i * rest / wanted]);
        std::sort(kept.begin(), kept.end());
        return kept;
    }

    /// What a model is made of. `steps`: the largest number seen; 0: all trials have told after the same number.
    [[nodiscard]] Data data_of(const std::vector<Observation>& all, const std::vector<std::size_t>& kept,
                               std::int64_t steps) const {
        Data data;
        data.inputs.count = kept.size();
        data.inputs.categorical = space_.categorical;
        if (steps > 0) data.inputs.categorical.push_back(false);
        data.inputs.values.resize(kept.size() * data.inputs.dimensions());
        double worst = -INFINITY;
        for (const std::size_t i : kept)
            if (all[i].loss) worst = std::max(worst, *all[i].loss);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            const Observation& observation = all[kept[i]];
            std::vector<double> input = space_.input(observation.site.point);
            if (steps > 0) input.push_back(steps_input(observation.steps, steps));
            for (std::size_t d = 0; d < input.size(); ++d) data.inputs.values[d * kept.size() + i] = input[d];
            data.losses.push_back(observation.loss.value_or(worst));
        }
        return data;
    }

    [[nodiscard]] static double steps_input(std::int64_t steps, std::int64_t most) {
        return std::log1p(static_cast<double>(std::max<std::int64_t>(steps, 0))) /
               std::log1p(static_cast<double>(most));
    }

    /// The largest number of steps, where numbers differ among measured trials; else 0.
    [[nodiscard]] static std::int64_t most_steps(const std::vector<Observation>& all) {
        std::int64_t most = 0, least = -1;
        for (const Observation& observation : all) {
            if (!observation.loss) continue;
            most = std::max(most, observation.steps);
            least = least < 0 ? observation.steps : std::min(least, observation.steps);
        }
        return most > 0 && least != most ? most : 0;
    }

    /// What was told in the first `tells` calls.
    [[nodiscard]] std::vector<Observation> as_of(std::size_t tells) const {
        if (tells == order_.size()) return told_;
        std::vector<Observation> all;
        std::map<std::int64_t, std::size_t> index;
        for (std::size_t i = 0; i < tells; ++i) {
            const auto [known, fresh] = index.try_emplace(order_[i].trial, all.size());
            if (fresh)
                all.push_back(order_[i]);
            else
                all[known->second] = order_[i];
        }
        return all;
    }

    /// The last number of tells, up to `tells`, after which hyperparameters are found from nothing.
    [[nodiscard]] static std::size_t milestone_before(std::size_t tells) {
        std::size_t milestone = 2;
        while (true) {
            const std::size_t next = milestone + std::max<std::size_t>(1, milestone / 8);
            if (next > tells) return milestone;
            milestone = next;
        }
    }

    Model choose_model() {
        const std::size_t tells = milestone_before(order_.size());
        if (!milestone_ || milestone_->tells != tells) milestone_ = Milestone{tells, model_from_nothing(as_of(tells))};
        if (tells == order_.size()) return milestone_->model;
        Model model = milestone_->model;
        const std::int64_t steps = most_steps(told_);
        const Data data = data_of(told_, select(told_, most_fitted), steps);
        if (data.inputs.dimensions() != model.parameters.length.size()) return model_from_nothing(told_);
        model.parameters = fit(data.inputs, rescale(data.losses, model.scale).values, model.parameters, 3).parameters;
        return model;
    }

    [[nodiscard]] Model model_from_nothing(const std::vector<Observation>& all) const {
        const Data data = data_of(all, select(all, most_fitted), most_steps(all));
        Model best;
        double least = INFINITY;
        std::array<Hyperparameters, scales.size()> joint;
        const auto offer = [&](Scale scale, const Hyperparameters& start, int iterations) {
            const Targets targets = rescale(data.losses, scale);
            const Fit found = fit(data.inputs, targets.values, start, iterations);
            const double cost = found.cost + targets.cost;
            if (cost < least || best.parameters.length.empty()) {
                least = cost;
                best = {scale, found.parameters};
            }
            return found.parameters;
        };
        joint[0] = offer(scales[0], prior_hyperparameters(data.inputs.categorical, false), 20);
        for (std::size_t s = 1; s < scales.size(); ++s) joint[s] = offer(scales[s], joint[0], 12);
        if (setup_.space.size() < 2) return best;
        const std::size_t additive_scales = 2;  // the steep one adds little to these
        for (std::size_t s = 0; s < additive_scales; ++s) {
            Hyperparameters start = prior_hyperparameters(data.inputs.categorical, true);
            start.length = joint[s].length;
            start.noise = joint[s].noise;
            offer(scales[s], start, 15);
        }
        return best;
    }

    /// The process on `scale` of `data`, with pending trials at what it predicts for them.
    [[nodiscard]] GaussianProcess process_of(const Data& data, const Model& model, std::span<const Site> pending,
                                             std::int64_t steps) const {
        std::vector<double> targets = rescale(data.losses, model.scale).values;
        GaussianProcess process(data.inputs, targets, model.parameters);
        if (pending.empty()) return process;
        Inputs with{data.inputs.count + pending.size(), data.inputs.categorical, {}};
        with.values.resize(with.count * with.dimensions());
        for (std::size_t d = 0; d < with.dimensions(); ++d)
            for (std::size_t i = 0; i < data.inputs.count; ++i) with.values[d * with.count + i] = data.inputs.at(i, d);
        for (std::size_t p = 0; p < pending.size(); ++p) {
            std::vector<double> input = space_.input(pending[p].point);
            if (steps > 0) input.push_back(1);
            targets.push_back(process.predict(input).mean);
            for (std::size_t d = 0; d < input.size(); ++d)
                with.values[d * with.count + data.inputs.count + p] = input[d];
        }
        return {std::move(with), targets, model.parameters};
    }

    /// How often tpe proposes: more, the less the leave-one-out predictions rank the trials (Spearman's correlation).
    [[nodiscard]] double distrust(const Model& model) const {
        if (told_.size() < 2 * startup_) return 0;
        const Data data = data_of(told_, select(told_, most_fitted), most_steps(told_));
        const std::vector<double> targets = rescale(data.losses, model.scale).values;
        const GaussianProcess process(data.inputs, targets, model.parameters);
        const auto ranks = [](const std::vector<double>& values) {
            std::vector<std::size_t> order(values.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
            std::vector<double> made(values.size());
            for (std::size_t r = 0; r < order.size(); ++r) made[order[r]] = static_cast<double>(r);
            return made;
        };
        const std::vector<double> seen = ranks(targets), predicted = ranks(process.leave_one_out());
        const auto n = static_cast<double>(seen.size());
        double squares = 0;
        for (std::size_t i = 0; i < seen.size(); ++i) squares += (seen[i] - predicted[i]) * (seen[i] - predicted[i]);
        const double correlation = 1 - 6 * squares / (n * (n * n - 1));
        return std::clamp((0.85 - correlation) / 0.85, 0.0, 1.0) * 0.5;
    }

    /// The best sites, best first, at most `count`.
    [[nodiscard]] std::vector<Point> best_points(std::size_t count) const {
        std::vector<std::size_t> ranks;
        for (std::size_t i = 0; i < told_.size(); ++i)
            if (told_[i].loss) ranks.push_back(i);
        const std::size_t kept = std::min(count, ranks.size());
        std::partial_sort(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(kept), ranks.end(),
                          [&](std::size_t a, std::size_t b) {
                              return *told_[a].loss != *told_[b].loss ? *told_[a].loss < *told_[b].loss : a < b;
                          });
        std::vector<Point> points;
        for (std::size_t i = 0; i < kept; ++i) points.push_back(told_[ranks[i]].site.point);
        return points;
    }

    /// The value to improve on: the least observed, or the least that the model believes in, which noise does not fool.
    [[nodiscard]] static double incumbent(const GaussianProcess& process, std::span<const double> targets,
                                          bool believed, bool at_last_step) {
        if (!believed && !at_last_step) return *std::min_element(targets.begin(), targets.end());
        double least = INFINITY;
        const Inputs& inputs = process.inputs();
        std::vector<double> input(inputs.dimensions());
        for (std::size_t i = 0; i < targets.size(); ++i) {
            for (std::size_t d = 0; d < input.size(); ++d) input[d] = inputs.at(i, d);
            if (at_last_step) input.back() = 1;
            least = std::min(least, process.predict(input).mean);
        }
        return least;
    }

    [[nodiscard]] Point propose_globally(const Model& model, std::span<const Site> pending, std::int64_t trial,
                                         const std::function<double()>& uniform) const {
        const std::int64_t steps = most_steps(told_);
        const Data data = data_of(told_, select(told_, most_modelled), steps);
        const GaussianProcess process = process_of(data, model, pending, steps);
        const double least = incumbent(process, rescale(data.losses, model.scale).values, trial % 2 == 0, steps > 0);
        const std::size_t dimensions = setup_.space.size();
        const Box box{std::vector<double>(dimensions, 0.0), std::vector<double>(dimensions, 1.0)};
        SearchSpace space = space_;
        if (steps > 0) space.steps = 1;
        return maximise_improvement(process, space, least, box, best_points(5), global_draws, uniform);
    }

    /// A model of the trials nearest to the best one alone, searched in the box around it.
    [[nodiscard]] Point propose_locally(const Model& model, std::span<const Site> pending,
                                        const std::function<double()>& uniform) const {
        const Point& centre = told_[*best_].site.point;
        const std::size_t dimensions = setup_.space.size();
        std::vector<std::pair<double, std::size_t>> distances;
        for (std::size_t i = 0; i < told_.size(); ++i) {
            double furthest = 0;
            for (std::size_t d = 0; d < dimensions; ++d)
                if (!space_.categorical[d]) furthest = std::max(furthest, std::abs(told_[i].site.point[d] - centre[d]));
            distances.emplace_back(furthest, i);
        }
        std::sort(distances.begin(), distances.end());
        distances.resize(std::min(distances.size(), 20 + 4 * dimensions));
        std::vector<std::size_t> kept;
        for (const auto& [distance, i] : distances) kept.push_back(i);
        const std::int64_t steps = most_steps(told_);
        const Data data = data_of(told_, kept, steps);
        Model local{Scale::plain, prior_hyperparameters(data.inputs.categorical, false)};
        if (local.parameters.length.size() == model.parameters.length.size())
            local.parameters.length = model.parameters.length;
        local.parameters = fit(data.inputs, rescale(data.losses, local.scale).values, local.parameters, 12).parameters;
        std::vector<Site> near;
        for (const Site& site : pending) near.push_back(site);
        const GaussianProcess process = process_of(data, local, near, steps);
        const double least = incumbent(process, rescale(data.losses, local.scale).values, false, steps > 0);
        Box box{std::vector<double>(dimensions, 0.0), std::vector<double>(dimensions, 1.0)};
        for (std::size_t d = 0; d < dimensions; ++d) {
            if (space_.categorical[d]) continue;
            box.low[d] = std::max(0.0, centre[d] - region_.length / 2);
            box.high[d] = std::min(1.0, centre[d] + region_.length / 2);
        }
        SearchSpace space = space_;
        if (steps > 0) space.steps = 1;
        return maximise_improvement(process, space, least, box, std::array{centre}, local_draws, uniform);
    }

    SamplerSetup setup_;
    std::unique_ptr<Sampler> fallback_;
    std::size_t startup_ = 0;
    SearchSpace space_;
    std::vector<Observation> told_;              ///< a trial once, in the order of the first tell
    std::map<std::int64_t, std::size_t> index_;  ///< trial to index of told_
    std::vector<Observation> order_;             ///< every tell
    std::size_t measured_ = 0;                   ///< trials told with a loss
    std::optional<std::size_t> best_;            ///< index of told_
    TrustRegion region_;
    std::optional<Milestone> milestone_;  ///< of the last proposal, to be used again
};

}  // namespace

constinit const SamplerRow gp_row{
    {"gp", "learns from results: a Gaussian process and expected improvement; best for up to some 1,000 trials",
     options},
    [](const Params& given, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        auto fallback = tpe_row.make({{"startup", std::int64_t{1}}}, setup);
        if (!fallback) return fallback.error();
        return std::unique_ptr<Sampler>(std::make_unique<GpSampler>(given, setup, *std::move(fallback)));
    }};

}  // namespace hpo
