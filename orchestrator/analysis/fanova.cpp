#include "orchestrator/analysis/fanova.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hpo/random.hpp"

namespace hpo::analysis {

namespace {

constexpr int rounds = 24, trees_a_half = 8;
constexpr std::size_t most_in_pairs = 5;  // dimensions
constexpr int drawn_points = 1024;

double covariance(const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
    const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
    return sum / n;
}

/// Returns the fraction of the variance of the trials `of` that a forest predicts. The forest must be fitted to others.
double explained_by(const Forest& forest, const BinnedTrials& trials, const std::vector<std::size_t>& of) {
    double mean = 0, left = 0, all = 0;
    for (const std::size_t i : of) mean += trials.values[i] / static_cast<double>(of.size());
    for (const std::size_t i : of) {
        const double miss = trials.values[i] - forest.predict(trials.points[i]);
        left += miss * miss;
        all += (trials.values[i] - mean) * (trials.values[i] - mean);
    }
    return all > 0 ? 1 - left / all : 0;
}

/// Returns the ratio of a component's mean covariance to the total, and its deviation between rounds.
Share share_of(const std::vector<double>& parts, const std::vector<double>& wholes) {
    Share share;
    const auto n = static_cast<double>(parts.size());
    const double part = std::accumulate(parts.begin(), parts.end(), 0.0) / n;
    const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0) / n;
    if (!(whole > 0)) return share;
    const double ratio = part / whole;
    double square = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const double off = (parts[i] - ratio * wholes[i]) / whole;
        square += off * off / n;
    }
    share.share = std::clamp(ratio, 0.0, 1.0);
    share.deviation = std::sqrt(square);
    return share;
}

}  // namespace

Variance analyse(const BinnedTrials& trials, std::uint64_t seed) {
    const std::size_t n = trials.points.size(), dimensions = trials.bins.size();
    std::uint64_t element = 0;
    const std::function<double()> uniform = [&] { return draw_unit(seed, Purpose::shuffle, n, element++); };
    std::vector<std::vector<int>> everywhere;
    for (int i = 0; i < drawn_points; ++i) {
        everywhere.emplace_back();
        for (const std::size_t bins : trials.bins)
            everywhere.back().push_back(static_cast<int>(uniform() * static_cast<double>(bins)));
    }

    std::vector<std::pair<Forest, Forest>> halves;
    std::vector<std::vector<double>> alone(dimensions);
    Variance variance;
    std::vector<double> whole;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t i = n - 1; i > 0; --i)
            std::swap(order[i], order[static_cast<std::size_t>(uniform() * static_cast<double>(i + 1))]);
        const std::vector<std::size_t> one(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n / 2));
        const std::vector<std::size_t> other(order.begin() + static_cast<std::ptrdiff_t>(n / 2), order.end());
        halves.emplace_back(Forest(trials, one, trees_a_half, uniform), Forest(trials, other, trees_a_half, uniform));
        const auto& [a, b] = halves.back();
        variance.explained += (explained_by(a, trials, other) + explained_by(b, trials, one)) / (2.0 * rounds);
        for (std::size_t d = 0; d < dimensions; ++d) alone[d].push_back(covariance(a.marginal(d), b.marginal(d)));
        std::vector<double> by_a, by_b;
        for (const auto& point : everywhere) by_a.push_back(a.predict(point)), by_b.push_back(b.predict(point));
        whole.push_back(covariance(by_a, by_b));
    }
    for (std::size_t d = 0; d < dimensions; ++d) variance.alone.push_back(share_of(alone[d], whole));

    std::vector<std::size_t> largest(dimensions);
    std::iota(largest.begin(), largest.end(), std::size_t{0});
    std::stable_sort(largest.begin(), largest.end(),
                     [&](auto a, auto b) { return variance.alone[a].share > variance.alone[b].share; });
    largest.resize(std::min(largest.size(), most_in_pairs));
    std::sort(largest.begin(), largest.end());
    for (std::size_t i = 0; i < largest.size(); ++i)
        for (std::size_t j = i + 1; j < largest.size(); ++j) {
            const std::size_t p = largest[i], q = largest[j];
            std::vector<double> parts;
            for (std::size_t round = 0; round < halves.size(); ++round) {
                const auto& [a, b] = halves[round];
                parts.push_back(covariance(a.marginal(p, q), b.marginal(p, q)) - alone[p][round] - alone[q][round]);
            }
            variance.pairs.push_back({p, q, share_of(parts, whole)});
        }
    std::stable_sort(variance.pairs.begin(), variance.pairs.end(),
                     [](const PairShare& a, const PairShare& b) { return a.share.share > b.share.share; });
    return variance;
}

}  // namespace hpo::analysis
