// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio, Kegl: "Algorithms for hyper-parameter
// optimization", NeurIPS 2011), multivariate (Falkner, Klein, Hutter: "BOHB", ICML 2018; Watanabe: "Tree-structured
// Parzen estimator: understanding its algorithm components and their roles for better empirical performance", arXiv
// 2304.11127, 2023).
//
// The trials are split by loss into a few good ones and the rest; a density is fitted to each, candidates are drawn
// from the good one, and the candidate with the highest ratio good/rest is proposed. Trials without a result yet count
// among the rest, so that parallel workers do not pile up on one spot. Diverged and failed trials rank last. A trial
// that was stopped or paused is ranked by the value that it has reached. Values of an objective `at: best` never get
// worse with further steps, so that survivors of ASHA rank first. A trial that a plateau ended early with a good value
// keeps its rank. It would lose it in an order by steps first, as Optuna sorts pruned trials.
//
// With several objectives, the good trials are those of the first Pareto fronts. If the last front fits only in part,
// its least crowded trials are taken (Ozaki and others: "Multiobjective tree-structured Parzen estimator", JAIR 2022;
// crowding: Deb and others: "NSGA-II", 2002). Trials that violate constraints rank after all others, by their
// violation.
//
// The cost of a proposal is bounded by at most `max_good` kernels of good trials and `max_rest` kernels of the rest,
// spread evenly over their ranks.

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "hpo/random.hpp"
#include "orchestrator/sampling/beliefs.hpp"
#include "orchestrator/sampling/expectation.hpp"
#include "orchestrator/sampling/parzen.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/start_points.hpp"

namespace hpo {

namespace {

constexpr std::size_t max_good = 25;
constexpr std::size_t max_rest = 500;

constexpr std::array tpe_options{
    Option{"startup", OptionType::integer, 1, 1e6, {}, "10", "trials proposed by sobol before the model is asked"},
    Option{"gamma", OptionType::real, 0.01, 0.5, {}, "0.15", "fraction of the trials that counts as good (25 at most)"},
    Option{"prior_weight", OptionType::real, 0.001, 100, {}, "1.0", "weight of the prior, where a trial weighs 1"},
    Option{"uniform", OptionType::real, 0, 1, {}, "0", "share of the proposals that are drawn from the priors alone"},
    Option{"candidates", OptionType::integer, 1, 10000, {}, "24", "points drawn, of which the best is proposed"},
};

constexpr int rejected_for_candidate = 50;  ///< draws for a candidate that are not allowed
constexpr double trusted_trials = 10;       ///< trials of this study; other studies count less once there are more

class TpeSampler final : public Sampler {
   public:
    TpeSampler(const Params& given, const SamplerSetup& setup)
        : setup_(setup),
          start_(setup),
          startup_(static_cast<std::size_t>(number_option(given, tpe_options, "startup"))),
          gamma_(number_option(given, tpe_options, "gamma")),
          prior_weight_(number_option(given, tpe_options, "prior_weight")),
          uniform_(number_option(given, tpe_options, "uniform")),
          candidates_(static_cast<std::size_t>(number_option(given, tpe_options, "candidates"))) {
        for (const Dimension& d : setup.space)
            choices_.push_back(d.kind == Kind::categorical ? d.choices.size() : std::size_t{0});
    }

    Point propose(std::int64_t trial, std::span<const Site> pending, int retry) override {
        const auto number = static_cast<std::uint64_t>(trial);
        const bool starting = number <= startup_ || ranking_.size() < startup_ || measured_ == 0;
        std::uint64_t element = static_cast<std::uint64_t>(retry) << 24;
        const std::function<double()> uniform = [&] {
            return draw_unit(setup_.seed, Purpose::sampler, number, element++);
        };
        if (starting) return start_.at(number, retry, uniform);
        if (uniform_ > 0 && uniform() < uniform_) return draw_from_priors(setup_, uniform);

        const std::size_t good = std::min(
            {max_good, static_cast<std::size_t>(std::ceil(gamma_ * static_cast<double>(ranking_.size()))), measured_});
        const std::vector<std::size_t> ranking = setup_.objectives > 1 ? with_fronts_first(good) : ranking_;
        std::vector<const Site*> best, rest;
        for (std::size_t i = 0; i < good; ++i) best.push_back(&told_[ranking[i]].site);
        const std::size_t others = ranking.size() - good;
        const std::size_t kept = std::min(others, max_rest);
        for (std::size_t i = 0; i < kept; ++i) rest.push_back(&told_[ranking[good + i * others / kept]].site);
        for (const Site& site : pending) rest.push_back(&site);

        const ParzenEstimator promising(choices_, best, prior_weight_);
        const ParzenEstimator known(choices_, rest, prior_weight_);
        const double power = trust();
        const auto promise = [&](const Site& site) {
            const double elsewhere = power > 0 ? -power * expected(site.point) : 0;
            const double own =
                setup_.beliefs ? Beliefs::power(ranking_.size()) * setup_.beliefs->log_density(site.point, site.active)
                               : 0;
            return std::exp(elsewhere + own);
        };
        Point chosen;
        double highest = -1;
        for (std::size_t i = 0; i < candidates_; ++i) {
            const bool believed = setup_.beliefs && i % 4 == 3;
            const auto drawn = [&] {
                return believed ? setup_.beliefs->draw(choices_.size(), uniform) : promising.sample(uniform);
            };
            Site site{setup_.allowed ? setup_.allowed->first_of(drawn, uniform, rejected_for_candidate) : drawn(), {}};
            site.active = setup_.active(site.point);
            const double ratio = promising.density(site) / known.density(site) * promise(site);
            if (ratio <= highest) continue;
            highest = ratio;
            chosen = std::move(site.point);
        }
        return chosen;
    }

    void tell(const Observation& observation) override {
        const auto [known, fresh] = index_.try_emplace(observation.trial, told_.size());
        if (fresh) {
            told_.push_back(observation);
            expected_.push_back(setup_.expected.empty() ? 0 : expected(observation.site.point));
        } else {
            ranking_.erase(std::find(ranking_.begin(), ranking_.end(), known->second));
            measured_ -= told_[known->second].loss ? 1 : 0;
            told_[known->second] = observation;
        }
        measured_ += observation.loss ? 1 : 0;
        const auto before = [&](std::size_t a, std::size_t b) {
            const Observation &x = told_[a], &y = told_[b];
            if (x.loss.has_value() != y.loss.has_value()) return x.loss.has_value();
            const double breaks = x.loss ? x.standing().violation - y.standing().violation : 0;
            if (breaks != 0) return breaks < 0;
            if (x.loss && *x.loss != *y.loss) return *x.loss < *y.loss;
            return x.trial < y.trial;
        };
        ranking_.insert(std::lower_bound(ranking_.begin(), ranking_.end(), known->second, before), known->second);
    }

   private:
    /// Returns `ranking_` with the `good` best trials by Pareto fronts first.
    [[nodiscard]] std::vector<std::size_t> with_fronts_first(std::size_t good) const {
        std::vector<std::size_t> left(ranking_.begin(), ranking_.begin() + static_cast<std::ptrdiff_t>(measured_));
        std::vector<std::size_t> order;
        while (order.size() < good) {
            std::vector<Standing> standings;
            for (const std::size_t i : left) standings.push_back(told_[i].standing());
            std::vector<std::size_t> front = pareto_front(standings);
            if (front.size() > good - order.size()) least_crowded_first(front, standings);
            std::vector<bool> taken(left.size(), false);
            for (const std::size_t i : front) {
                if (order.size() == good) break;
                order.push_back(left[i]);
                taken[i] = true;
            }
            std::vector<std::size_t> others;
            for (std::size_t i = 0; i < left.size(); ++i)
                if (!taken[i]) others.push_back(left[i]);
            left = std::move(others);
        }
        order.insert(order.end(), left.begin(), left.end());
        order.insert(order.end(), ranking_.begin() + static_cast<std::ptrdiff_t>(measured_), ranking_.end());
        return order;
    }

    static void least_crowded_first(std::vector<std::size_t>& front, const std::vector<Standing>& standings) {
        std::unordered_map<std::size_t, double> room;
        for (std::size_t m = 0; m < standings.front().losses.size(); ++m) {
            const auto loss = [&](std::size_t i) { return standings[i].losses[m]; };
            std::stable_sort(front.begin(), front.end(), [&](auto a, auto b) { return loss(a) < loss(b); });
            const double range = std::max(loss(front.back()) - loss(front.front()), 1e-300);
            for (std::size_t i = 0; i < front.size(); ++i)
                room[front[i]] +=
                    i == 0 || i + 1 == front.size() ? INFINITY : (loss(front[i + 1]) - loss(front[i - 1])) / range;
        }
        std::stable_sort(front.begin(), front.end(), [&](auto a, auto b) { return room.at(a) > room.at(b); });
    }

    /// Returns the mean score of a point that the other studies predict.
    [[nodiscard]] double expected(const Point& point) const {
        double score = 0;
        for (const auto& other : setup_.expected)
            score += 4 * other->at(point) / static_cast<double>(setup_.expected.size());
        return score;
    }

    /// Returns the weight of the predicted score. It follows from the score's correlation with the ranks of this
    /// study's trials, and falls with their number. A point whose score is better by 1 is preferred by e to this power.
    [[nodiscard]] double trust() const {
        if (setup_.expected.empty()) return 0;
        const auto n = static_cast<double>(ranking_.size());
        double mean = 0, both = 0, square = 0, ranks = 0;
        for (const std::size_t i : ranking_) mean += expected_[i] / n;
        for (std::size_t r = 0; r < ranking_.size(); ++r) {
            const double a = static_cast<double>(r) - (n - 1) / 2, b = expected_[ranking_[r]] - mean;
            both += a * b, ranks += a * a, square += b * b;
        }
        const double correlation = ranks > 0 && square > 0 ? both / std::sqrt(ranks * square) : 0;
        return std::max(0.0, correlation) * trusted_trials / std::max(trusted_trials, n);
    }

    SamplerSetup setup_;
    StartPoints start_;
    std::size_t startup_;
    double gamma_;
    double prior_weight_;
    double uniform_;
    std::size_t candidates_;
    ChoiceCounts choices_;
    std::vector<Observation> told_;                        ///< in the order of the first tell
    std::vector<double> expected_;                         ///< of each by other studies
    std::unordered_map<std::int64_t, std::size_t> index_;  ///< trial to index of told_
    std::vector<std::size_t> ranking_;                     ///< indices of told_, best first; of several objectives by
                                                           ///< the first
    std::size_t measured_ = 0;                             ///< told with a loss
};

}  // namespace

constinit const SamplerRow tpe_row{
    {"tpe", "learns from results: Parzen estimators of the good and the other trials", tpe_options},
    [](const Params& given, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        return std::unique_ptr<Sampler>(std::make_unique<TpeSampler>(given, setup));
    },
    false,
    false,
    true};

}  // namespace hpo
