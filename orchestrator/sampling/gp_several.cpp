#include "orchestrator/sampling/gp_several.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "hpo/random.hpp"
#include "orchestrator/sampling/beliefs.hpp"
#include "orchestrator/sampling/gp_model.hpp"
#include "orchestrator/sampling/pareto_improvement.hpp"
#include "orchestrator/sampling/start_points.hpp"

namespace hpo {

namespace {

constexpr std::size_t most_modelled_of_several = 300;
constexpr int draws_for_several = 400;
constexpr std::size_t directions_at_once = 8;  // one was worse, 16 no better (tests/bench/search several)
/// Distances of the reference beyond the front, used in turn: a near reference fills gaps of the front, a far one
/// extends its ends.
constexpr std::array near_and_far{1.0, 0.1};

/// Spreads out values near a bound (Eriksson, Poloczek: "Scalable constrained Bayesian optimization", AISTATS 2021).
double two_sided_logarithm(double violation) { return std::copysign(std::log1p(std::abs(violation)), violation); }

/// The observations of an objective or a constraint, and their model.
struct Output {
    explicit Output(const SearchSpace& space, bool plain) : chooser(space, plain) {}
    History history;
    ModelChooser chooser;
};

class SeveralSampler final : public Sampler {
   public:
    SeveralSampler(const GpOptions& options, const SamplerSetup& setup, std::unique_ptr<Sampler> fallback)
        : setup_(setup), options_(options), fallback_(std::move(fallback)), start_(setup), space_(search_space(setup)) {
        // A logarithm above the least value would give most weight to that end of the front.
        for (std::size_t m = 0; m < setup.objectives; ++m) outputs_.emplace_back(space_, setup.objectives > 1);
        for (std::size_t c = 0; c < setup.constraints; ++c) outputs_.emplace_back(space_, true);
    }
    SeveralSampler(const SeveralSampler&) = delete;  // the choosers refer to the space
    SeveralSampler& operator=(const SeveralSampler&) = delete;

    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        const auto number = static_cast<std::uint64_t>(trial);
        std::uint64_t element = static_cast<std::uint64_t>(retry) << 32;
        const std::function<double()> uniform = [&] {
            return draw_unit(setup_.seed, Purpose::sampler, number, element++);
        };
        const History& first = outputs_.front().history;
        if (number <= options_.startup || first.trials().size() < options_.startup || first.measured() < 2)
            return start_.at(number, retry, uniform);
        if (retry > 0) return fallback_->propose(trial, pending, retry);
        if (options_.uniform > 0 && uniform() < options_.uniform) return draw_from_priors(setup_, uniform);
        return most_promising(pending, uniform);
    }

    void tell(const Observation& observation) override {
        fallback_->tell(observation);
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            Observation one = observation;
            one.steps = 0;  // values of different numbers of steps count as they are
            if (one.loss && o > 0 && o < setup_.objectives) one.loss = observation.further[o - 1];
            if (one.loss && o >= setup_.objectives)
                one.loss = two_sided_logarithm(observation.violations[o - setup_.objectives]);
            if (o > 0) one.deviation.reset();
            outputs_[o].history.tell(one);
        }
        auto& [trials, index] = told_;
        const auto [known, fresh] = index.try_emplace(observation.trial, trials.size());
        if (fresh) trials.emplace_back();
        trials[known->second] = observation.loss ? std::optional(observation.standing()) : std::nullopt;
    }

   private:
    /// Returns the trials for the models in ascending order: the first of the front, and the latest of the others.
    [[nodiscard]] std::vector<std::size_t> kept(const std::vector<std::size_t>& front) const {
        const std::size_t count = told_.trials.size();
        std::vector<std::size_t> made(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                         front.size(), most_modelled_of_several / 2)));
        for (std::size_t i = count; i-- > 0 && made.size() < most_modelled_of_several;)
            if (std::find(front.begin(), front.end(), i) == front.end()) made.push_back(i);
        std::sort(made.begin(), made.end());
        return made;
    }

    [[nodiscard]] Point most_promising(std::span<const Site> pending, const std::function<double()>& uniform) {
        std::vector<Standing> standings;
        std::vector<std::size_t> measured;
        for (std::size_t i = 0; i < told_.trials.size(); ++i)
            if (told_.trials[i]) standings.push_back(*told_.trials[i]), measured.push_back(i);
        std::vector<std::size_t> front;  // indices of trials
        for (const std::size_t i : pareto_front(standings)) front.push_back(measured[i]);
        const std::vector<std::size_t> modelled = kept(front);

        std::deque<GaussianProcess> processes;
        std::vector<const GaussianProcess*> objectives;
        std::vector<Bounded> constraints;
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            Output& output = outputs_[o];
            const Data data = data_of(space_, output.history.trials(), modelled);
            processes.push_back(process_of(space_, data, output.chooser.choose(output.history), pending));
            if (o < setup_.objectives)
                objectives.push_back(&processes.back());
            else
                constraints.push_back({&processes.back(), standardised(0, data.losses)});
        }

        // The values to improve on are those of trials that keep the constraints, or are predicted to if pending.
        std::vector<std::vector<double>> values;
        for (std::size_t i = 0; i < modelled.size() + pending.size(); ++i) {
            const bool is_told = i < modelled.size();
            const auto& standing = is_told ? told_.trials[modelled[i]] : std::nullopt;
            const bool keeps = is_told ? standing && standing->feasible()
                                       : std::all_of(constraints.begin(), constraints.end(), [&](const Bounded& one) {
                                             return one.process->targets()[i] <= one.bound;
                                         });
            if (!keeps) continue;
            auto& point = values.emplace_back();
            for (const GaussianProcess* process : objectives) point.push_back(process->targets()[i]);
        }
        std::vector<Standing> believed;
        for (const auto& point : values) believed.push_back({point});
        std::vector<std::vector<double>> to_improve;
        for (const std::size_t i : pareto_front(believed)) to_improve.push_back(values[i]);

        const ParetoImprovement improvement(objectives, constraints, to_improve,
                                            positive_directions(setup_.objectives, directions_at_once, uniform),
                                            near_and_far[told_.trials.size() % near_and_far.size()]);
        const std::size_t dimensions = setup_.space.size();
        const Box cube{std::vector<double>(dimensions, 0.0), std::vector<double>(dimensions, 1.0)};
        if (!setup_.beliefs)
            return maximise(improvement, space_, cube, some_of(front, uniform), draws_for_several, uniform);
        const Believed weighed(improvement, *setup_.beliefs, space_, Beliefs::power(told_.trials.size()));
        return maximise(weighed, space_, cube, some_of(front, uniform), draws_for_several, uniform);
    }

    /// Returns the points of at most five trials, spread over the front.
    [[nodiscard]] std::vector<Point> some_of(const std::vector<std::size_t>& front,
                                             const std::function<double()>& uniform) const {
        constexpr std::size_t most = 5;
        std::vector<Point> points;
        const std::size_t count = std::min(most, front.size());
        const double offset = uniform();
        for (std::size_t i = 0; i < count; ++i) {
            const double place = (static_cast<double>(i) + offset) / static_cast<double>(count);
            const std::size_t at =
                front.size() <= most ? i : static_cast<std::size_t>(place * static_cast<double>(front.size()));
            points.push_back(outputs_.front().history.trials()[front[at]].site.point);
        }
        return points;
    }

    /// Returns a value on the plain scale of `losses`.
    static double standardised(double value, const std::vector<double>& losses) {
        const auto n = static_cast<double>(losses.size());
        double mean = 0, variance = 0;
        for (const double loss : losses) mean += loss / n;
        for (const double loss : losses) variance += (loss - mean) * (loss - mean) / n;
        return (value - mean) / (variance > 0 ? std::sqrt(variance) : 1);
    }

    SamplerSetup setup_;
    GpOptions options_;
    std::unique_ptr<Sampler> fallback_;
    StartPoints start_;
    SearchSpace space_;
    std::deque<Output> outputs_;  ///< objectives, then constraints
    struct {
        std::vector<std::optional<Standing>> trials;  ///< as in the outputs' histories; absent: nothing was measured
        std::map<std::int64_t, std::size_t> index;
    } told_;
};

}  // namespace

std::unique_ptr<Sampler> make_several(const GpOptions& options, const SamplerSetup& setup,
                                      std::unique_ptr<Sampler> fallback) {
    return std::make_unique<SeveralSampler>(options, setup, std::move(fallback));
}

}  // namespace hpo
