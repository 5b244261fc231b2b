// CMA-ES, the covariance matrix adaptation evolution strategy (Hansen: "The CMA evolution strategy: a tutorial", arXiv
// 1604.00772, 2016): a normal distribution over the cube that moves, grows and turns with each generation of results.
// It needs some hundred trials and then beats models on rotated, ill-conditioned problems without categories.
//
// Results form generations in the order of their tells, so that parallel trials never wait. A result that lies far from
// the current distribution is moved nearer (Hansen: "Injecting external solutions into CMA-ES", arXiv 1110.4181, 2011).
// Discrete values keep a margin (Hamano, Saito, Nomura, Shirakawa: "CMA-ES with margin", GECCO 2022), so that the
// distribution stays wide enough to leave the bin of its mean. The probabilities of categories move towards the choices
// of the better half, also with a margin (Hamano and others: "CatCMA", GECCO 2024). After convergence or stagnation,
// the search restarts elsewhere with twice the population (Auger and Hansen: "A restart CMA evolution strategy with
// increasing population size", CEC 2005).

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

#include "hpo/random.hpp"
#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/dense.hpp"
#include "orchestrator/sampling/registry.hpp"

namespace hpo {

namespace {

constexpr std::array cmaes_options{
    Option{"population",
           OptionType::integer,
           4,
           10000,
           {},
           "",
           "results per generation; default: 4 + 3 ln(number of parameters)"},
    Option{"spread", OptionType::real, 0.01, 1, {}, "0.25", "initial standard deviation, as a share of a range"},
};

constexpr int most_rejected_draws = 100;  ///< draws that are not allowed, before one is moved to where it is
constexpr double converged = 1e-6;        ///< standard deviation, as a share of a range
constexpr std::size_t largest_population = 1000;

/// Maps a number into [0, 1] by reflection at the ends.
double reflected(double x) {
    x = std::fmod(std::abs(x), 2.0);
    return x > 1 ? 2 - x : x;
}

/// Returns the value that a standard normal variable exceeds with probability `share`.
double upper_quantile(double share) {
    double low = 0, high = 10;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (std::erfc(middle / std::numbers::sqrt2) / 2 > share ? low : high) = middle;
    }
    return low;
}

double norm(const std::vector<double>& v) {
    double squares = 0;
    for (const double x : v) squares += x * x;
    return std::sqrt(squares);
}

class CmaesSampler final : public Sampler {
   public:
    CmaesSampler(const Params& given, const SamplerSetup& setup)
        : setup_(setup), spread_(number_option(given, cmaes_options, "spread")) {
        for (std::size_t d = 0; d < setup.space.size(); ++d) {
            const bool categorical = setup.space[d].kind == Kind::categorical;
            (categorical ? categorical_ : numeric_).push_back(d);
            if (!categorical) bins_.push_back(setup.values ? setup.values(d).value_or(0) : std::uint64_t{0});
        }
        const double size = static_cast<double>(std::max<std::size_t>(setup.space.size(), 1));
        population_ = static_cast<std::size_t>(
            number_option(given, cmaes_options, "population", 4 + std::floor(3 * std::log(size))));
        begin(std::vector<double>(numeric_.size(), 0.5));
    }

    Point propose(std::int64_t trial, std::span<const Site>, int retry) override {
        std::uint64_t element = static_cast<std::uint64_t>(retry) << 24;
        const auto uniform = [&] {
            return draw_unit(setup_.seed, Purpose::sampler, static_cast<std::uint64_t>(trial), element++);
        };
        if (!setup_.allowed) return drawn(uniform);
        for (int tries = 0; tries < most_rejected_draws; ++tries)
            if (Point point = drawn(uniform); setup_.allowed->contains(point)) return point;
        return setup_.allowed->towards(setup_.allowed->near(centre(uniform)), drawn(uniform));
    }

    void tell(const Observation& observation) override {
        const auto same = [&](const Observation& other) { return other.trial == observation.trial; };
        const auto waiting = std::find_if(generation_.begin(), generation_.end(), same);
        if (waiting != generation_.end()) {
            *waiting = observation;
        } else if (told_.insert(observation.trial).second) {  // a trial counts in one generation only
            generation_.push_back(observation);
            if (generation_.size() == population_) finish_generation();
        }
    }

   private:
    /// Draws a point of the distribution.
    template <class Uniform>
    [[nodiscard]] Point drawn(Uniform&& uniform) const {
        std::vector<double> z(numeric_.size()), y(numeric_.size());
        for (double& one : z) {
            const double radius = std::sqrt(-2 * std::log(1 - uniform()));
            one = radius * std::cos(2 * std::numbers::pi * uniform());
        }
        multiply_lower(factor_, z, y);
        Point point(setup_.space.size());
        for (std::size_t i = 0; i < numeric_.size(); ++i)
            point[numeric_[i]] = reflected(mean_[i] + sigma_ * margin_[i] * y[i]);
        for (std::size_t c = 0; c < categorical_.size(); ++c) {
            const auto count = static_cast<double>(odds_[c].size());
            double left = uniform();
            std::size_t chosen = 0;
            while (chosen + 1 < odds_[c].size() && left >= odds_[c][chosen]) left -= odds_[c][chosen++];
            point[categorical_[c]] = (static_cast<double>(chosen) + 0.5) / count;
        }
        return point;
    }

    /// Returns the mean, with categories drawn.
    template <class Uniform>
    [[nodiscard]] Point centre(Uniform&& uniform) const {
        Point point = drawn(uniform);
        for (std::size_t i = 0; i < numeric_.size(); ++i) point[numeric_[i]] = mean_[i];
        return point;
    }

    /// Returns the numeric coordinates of an allowed point near `mean`.
    [[nodiscard]] std::vector<double> allowed_near(std::vector<double> mean) const {
        if (!setup_.allowed) return mean;
        Point wish(setup_.space.size(), 0.5);
        for (std::size_t i = 0; i < mean.size(); ++i) wish[numeric_[i]] = mean[i];
        const Point found = setup_.allowed->near(wish);
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = found[numeric_[i]];
        return mean;
    }

    void begin(std::vector<double> mean) {
        const std::size_t n = numeric_.size();
        mean_ = allowed_near(std::move(mean));
        sigma_ = spread_;
        covariance_.assign(n * n, 0.0);
        for (std::size_t i = 0; i < n; ++i) covariance_[i * n + i] = 1;
        factor_ = covariance_;
        step_path_.assign(n, 0.0);
        path_.assign(n, 0.0);
        odds_.clear();
        for (const std::size_t d : categorical_) {
            const std::size_t count = setup_.space[d].choices.size();
            odds_.emplace_back(count, 1 / static_cast<double>(count));
        }
        generations_ = 0;
        stagnated_ = 0;
        best_ = INFINITY;
        keep_margins();
    }

    void restart() {
        ++restarts_;
        population_ = std::min(2 * population_, largest_population);
        std::vector<double> mean(numeric_.size());
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = draw_unit(setup_.seed, Purpose::startup, restarts_, i);
        begin(std::move(mean));
    }

    void finish_generation() {
        const auto loss = [](const Observation& one) { return one.loss.value_or(INFINITY); };
        std::stable_sort(generation_.begin(), generation_.end(),
                         [&](const Observation& a, const Observation& b) { return loss(a) < loss(b); });
        const double least = loss(generation_.front());
        const bool flat = least == loss(generation_.back());  // equal losses give no direction
        stagnated_ = least < best_ ? 0 : stagnated_ + 1;
        best_ = std::min(best_, least);
        if (!flat) {
            std::vector<double> weights(population_ / 2);
            double sum = 0;
            for (std::size_t i = 0; i < weights.size(); ++i)
                sum += weights[i] = std::log((static_cast<double>(population_) + 1) / 2) - std::log(i + 1.0);
            for (double& weight : weights) weight /= sum;
            move(weights);
            choose(weights);
            keep_margins();
        }
        generation_.clear();
        ++generations_;
        const std::size_t patience = 10 + 30 * setup_.space.size() / population_;
        if (stagnated_ > patience || widest() < converged) restart();
    }

    /// Updates the distribution of the numeric coordinates.
    void move(const std::vector<double>& weights) {
        const std::size_t n = numeric_.size();
        if (n == 0) return;
        const auto size = static_cast<double>(n);
        double squares = 0;
        for (const double weight : weights) squares += weight * weight;
        const double effective = 1 / squares;
        const double c_step = (effective + 2) / (size + effective + 5);
        const double damping = 1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (size + 1)) - 1) + c_step;
        const double c_path = (4 + effective / size) / (size + 4 + 2 * effective / size);
        const double c_one = 2 / ((size + 1.3) * (size + 1.3) + effective);
        const double c_many =
            std::min(1 - c_one, 2 * (effective - 2 + 1 / effective) / ((size + 2) * (size + 2) + effective));
        const double usual = std::sqrt(size) * (1 - 1 / (4 * size) + 1 / (21 * size * size));

        const std::vector<double> inverse = inverse_of_lower(factor_, n);
        std::vector<std::vector<double>> steps;
        std::vector<double> white(n), drift(n, 0.0);
        for (std::size_t k = 0; k < weights.size(); ++k) {
            const Site& site = generation_[k].site;
            std::vector<double> y(n, 0.0);
            for (std::size_t i = 0; i < n; ++i)
                if (site.active[numeric_[i]]) y[i] = (site.point[numeric_[i]] - mean_[i]) / (sigma_ * margin_[i]);
            multiply_lower(inverse, y, white);
            const double most = std::sqrt(size) + 2 * size / (size + 2), length = norm(white);
            if (length > most)
                for (double& one : y) one *= most / length;
            for (std::size_t i = 0; i < n; ++i) drift[i] += weights[k] * y[i];
            steps.push_back(std::move(y));
        }
        for (std::size_t i = 0; i < n; ++i) mean_[i] = std::clamp(mean_[i] + sigma_ * margin_[i] * drift[i], 0.0, 1.0);
        multiply_lower(inverse, drift, white);
        for (std::size_t i = 0; i < n; ++i)
            step_path_[i] = (1 - c_step) * step_path_[i] + std::sqrt(c_step * (2 - c_step) * effective) * white[i];
        const double begun = 1 - std::pow(1 - c_step, 2.0 * static_cast<double>(generations_ + 1));
        const bool steady = norm(step_path_) / std::sqrt(begun) < (1.4 + 2 / (size + 1)) * usual;
        for (std::size_t i = 0; i < n; ++i)
            path_[i] =
                (1 - c_path) * path_[i] + (steady ? std::sqrt(c_path * (2 - c_path) * effective) * drift[i] : 0.0);
        const double kept = 1 - c_one - c_many + (steady ? 0 : c_one * c_path * (2 - c_path));
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
                double many = 0;
                for (std::size_t k = 0; k < weights.size(); ++k) many += weights[k] * steps[k][i] * steps[k][j];
                covariance_[i * n + j] = kept * covariance_[i * n + j] + c_one * path_[i] * path_[j] + c_many * many;
            }
        sigma_ = std::min(1.0, sigma_ * std::exp(c_step / damping * (norm(step_path_) / usual - 1)));
        factor_ = covariance_;
        for (std::size_t i = 0; i < n; ++i) {
            factor_[i * n + i] += 1e-14;
            for (std::size_t j = i + 1; j < n; ++j) factor_[i * n + j] = 0;
        }
        if (!cholesky(factor_, n)) restart();
    }

    /// Updates the probabilities of the categories.
    void choose(const std::vector<double>& weights) {
        for (std::size_t c = 0; c < categorical_.size(); ++c) {
            std::vector<double>& odds = odds_[c];
            const auto count = static_cast<double>(odds.size());
            std::vector<double> taken(odds.size(), 0.0);
            double known = 0;
            for (std::size_t k = 0; k < weights.size(); ++k) {
                const Site& site = generation_[k].site;
                if (!site.active[categorical_[c]]) continue;
                const auto chosen = static_cast<std::size_t>(site.point[categorical_[c]] * count);
                taken[std::min(chosen, odds.size() - 1)] += weights[k];
                known += weights[k];
            }
            if (known <= 0) continue;
            const double pace = 1 / (static_cast<double>(setup_.space.size()) / 2 + 2);
            const double least = odds.size() > 1 ? least_share() / (count - 1) : 1;
            double sum = 0;
            for (std::size_t v = 0; v < odds.size(); ++v)
                sum += odds[v] = std::max(least, odds[v] + pace * (taken[v] - known * odds[v]));
            for (double& one : odds) one /= sum;
        }
    }

    /// Returns the least share of a coordinate's draws that fall outside the mean's bin or on an unlikely category.
    [[nodiscard]] double least_share() const {
        return std::min(0.2, 1 / static_cast<double>(population_ * std::max<std::size_t>(setup_.space.size(), 1)));
    }

    /// Widens the distribution in discrete coordinates, so that it reaches beyond the nearer edge of the mean's bin.
    void keep_margins() {
        const std::size_t n = numeric_.size();
        margin_.assign(n, 1.0);
        const double reach = upper_quantile(least_share());
        for (std::size_t i = 0; i < n; ++i) {
            if (bins_[i] < 2) continue;
            const auto count = static_cast<double>(bins_[i]);
            const double bin = std::min(std::floor(mean_[i] * count), count - 1);
            double edge = 1;
            if (bin > 0) edge = std::min(edge, mean_[i] - bin / count);
            if (bin < count - 1) edge = std::min(edge, (bin + 1) / count - mean_[i]);
            const double deviation = sigma_ * std::sqrt(covariance_[i * n + i]);
            margin_[i] = std::max(1.0, edge / (reach * deviation));
        }
    }

    /// Returns the largest standard deviation of a continuous coordinate, or 1 if there is none.
    [[nodiscard]] double widest() const {
        const std::size_t n = numeric_.size();
        double most = -1;
        for (std::size_t i = 0; i < n; ++i)
            if (bins_[i] == 0) most = std::max(most, sigma_ * std::sqrt(covariance_[i * n + i]));
        return most < 0 ? 1 : most;
    }

    SamplerSetup setup_;
    double spread_;
    std::vector<std::size_t> numeric_, categorical_;  ///< dimensions
    std::vector<std::uint64_t> bins_;                 ///< of the numeric ones; 0: a continuum
    std::size_t population_ = 0;
    std::vector<Observation> generation_;  ///< told and not learnt from yet
    std::set<std::int64_t> told_;

    std::vector<double> mean_, margin_, step_path_, path_;
    double sigma_ = 0;
    std::vector<double> covariance_, factor_;  ///< lower triangles
    std::vector<std::vector<double>> odds_;    ///< of each categorical dimension
    std::size_t generations_ = 0, stagnated_ = 0;
    std::uint64_t restarts_ = 0;
    double best_ = INFINITY;
};

}  // namespace

constinit const SamplerRow cmaes_row{
    {"cmaes", "learns from results: CMA-ES with margin and restarts; for hundreds of trials and more", cmaes_options},
    [](const Params& given, const SamplerSetup& setup) -> Result<std::unique_ptr<Sampler>> {
        return std::unique_ptr<Sampler>(std::make_unique<CmaesSampler>(given, setup));
    },
    false,
    false,
    false,
    true};

}  // namespace hpo
