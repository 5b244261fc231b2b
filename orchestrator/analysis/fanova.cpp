#include "orchestrator/analysis/fanova.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hpo/random.hpp"

namespace hpo::analysis {

namespace {

constexpr int trees_a_half = 30, half_samples = 8;
constexpr std::size_t most_in_pairs = 5;  // dimensions
constexpr std::size_t drawn_points = 1024;

double covariance(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
    const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
    return sum / n;
}

/// Returns the share of the variance of the trials `of` that trees predict, which were fitted to other trials.
double explained_by(const BoostedTrees& fitted, const BinnedTrials& trials, const std::vector<std::size_t>& of) {
    double mean = 0, left = 0, all = 0;
    for (const std::size_t i : of) mean += trials.values[i] / static_cast<double>(of.size());
    for (const std::size_t i : of) {
        const double miss = trials.values[i] - fitted.predict(trials.points[i]);
        left += miss * miss;
        all += (trials.values[i] - mean) * (trials.values[i] - mean);
    }
    return all > 0 ? 1 - left / all : 0;
}

using Points = std::vector<std::vector<int>>;
using Uniform = std::function<double()>;
using Indices = std::vector<std::size_t>;

template <class Value>
void shuffle(std::vector<Value>& all, const Uniform& uniform) {
    for (std::size_t i = all.size() - 1; i > 0; --i)
        std::swap(all[i], all[static_cast<std::size_t>(uniform() * static_cast<double>(i + 1))]);
}

/// Returns points of which each dimension has all its bins equally often (a Latin hypercube), so that the variance that
/// single parameters explain is nearly exact.
Points points_everywhere(const std::vector<std::size_t>& bins, const Uniform& uniform) {
    Points points(drawn_points, std::vector<int>(bins.size()));
    for (std::size_t d = 0; d < bins.size(); ++d) {
        Indices order(drawn_points);
        std::iota(order.begin(), order.end(), std::size_t{0});
        shuffle(order, uniform);
        for (std::size_t i = 0; i < drawn_points; ++i)
            points[i][d] = static_cast<int>(order[i] * bins[d] / drawn_points);
    }
    return points;
}

/// Boosted trees of the two halves of some trials, for several random splits.
class Splits {
   public:
    Splits(const BinnedTrials& trials, Indices of, int count, const Points& everywhere, const Uniform& uniform)
        : alone_(trials.bins.size()) {
        for (int round = 0; round < count; ++round) {
            shuffle(of, uniform);
            const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
            const Indices one(of.begin(), middle), other(middle, of.end());
            halves_.emplace_back(BoostedTrees(trials, one, trees_a_half, uniform),
                                 BoostedTrees(trials, other, trees_a_half, uniform));
            const auto& [a, b] = halves_.back();
            explained_ += (explained_by(a, trials, other) + explained_by(b, trials, one)) / (2.0 * count);
            std::vector<double> by_a, by_b;
            for (const auto& point : everywhere) by_a.push_back(a.predict(point)), by_b.push_back(b.predict(point));
            whole_ += covariance(by_a, by_b);
        }
        for (std::size_t d = 0; d < alone_.size(); ++d)
            for (const auto& [a, b] : halves_) alone_[d] += covariance(a.marginal(d), b.marginal(d));
    }
    [[nodiscard]] double explained() const { return explained_; }
    [[nodiscard]] double share(std::size_t dimension) const { return share_of(alone_[dimension]); }
    [[nodiscard]] double share(std::size_t p, std::size_t q) const {
        double both = 0;
        for (const auto& [a, b] : halves_) both += covariance(a.marginal(p, q), b.marginal(p, q));
        return share_of(both - alone_[p] - alone_[q]);
    }

   private:
    [[nodiscard]] double share_of(double part) const { return whole_ > 0 ? std::clamp(part / whole_, 0.0, 1.0) : 0; }

    std::vector<std::pair<BoostedTrees, BoostedTrees>> halves_;
    std::vector<double> alone_;  ///< covariances by dimension, summed over the splits, as `whole_`
    double whole_ = 0, explained_ = 0;
};

}  // namespace

Variance analyse(const BinnedTrials& trials, std::uint64_t seed, bool with_pairs, int splits) {
    const std::size_t n = trials.points.size(), dimensions = trials.bins.size();
    std::uint64_t element = 0;
    const Uniform uniform = [&] { return draw_unit(seed, Purpose::shuffle, n, element++); };
    const Points everywhere = points_everywhere(trials.bins, uniform);
    Indices order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const Splits all(trials, order, splits, everywhere, uniform);
    std::vector<Splits> samples;
    for (int i = 0; i < half_samples; ++i) {
        if (i % 2 == 0) shuffle(order, uniform);  // Each half is followed by the other one.
        const auto middle = order.begin() + static_cast<std::ptrdiff_t>(n / 2);
        samples.emplace_back(trials, i % 2 == 0 ? Indices(order.begin(), middle) : Indices(middle, order.end()),
                             splits / 4, everywhere, uniform);
    }
    const auto share = [&](const auto... of) {
        Share made{all.share(of...), 0};
        for (const Splits& sample : samples) {
            const double apart = sample.share(of...) - made.share;
            made.deviation += apart * apart / half_samples;
        }
        made.deviation = std::sqrt(made.deviation);
        return made;
    };

    Variance variance;
    variance.explained = all.explained();
    for (std::size_t d = 0; d < dimensions; ++d) variance.alone.push_back(share(d));
    if (!with_pairs) return variance;
    Indices largest(dimensions);
    std::iota(largest.begin(), largest.end(), std::size_t{0});
    std::stable_sort(largest.begin(), largest.end(),
                     [&](auto a, auto b) { return variance.alone[a].share > variance.alone[b].share; });
    largest.resize(std::min(largest.size(), most_in_pairs));
    std::sort(largest.begin(), largest.end());
    for (std::size_t i = 0; i < largest.size(); ++i)
        for (std::size_t j = i + 1; j < largest.size(); ++j)
            variance.pairs.push_back({largest[i], largest[j], share(largest[i], largest[j])});
    std::stable_sort(variance.pairs.begin(), variance.pairs.end(),
                     [](const PairShare& a, const PairShare& b) { return a.share.share > b.share.share; });
    return variance;
}

}  // namespace hpo::analysis
