#include "orchestrator/scheduling/throughput_curve.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include "hpo/median.hpp"
#include "hpo/solve.hpp"

namespace hpo {

namespace {

constexpr std::size_t kept_observations = 16, kept_variances = 64;
// The noise of an observation before it can be estimated from repeated ones: a standard deviation of 5 %, or the
// deviation of the differences between steps if that is more. It weighs as much as two residuals.
constexpr double assumed_deviation = 0.05, assumed_residuals = 2;

}  // namespace

void ThroughputCurve::add(const RateChange& change) {
    if (change.fewer == change.more || change.fewer < 1 || change.more < 1 || !std::isfinite(change.log_ratio)) return;
    const bool swapped = change.fewer > change.more;
    if (change.variance > 0 && std::isfinite(change.variance)) {
        if (reported_variances_.size() == kept_variances) reported_variances_.erase(reported_variances_.begin());
        reported_variances_.push_back(change.variance);
    }
    auto& values = observed_[swapped ? Pair{change.more, change.fewer} : Pair{change.fewer, change.more}];
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(1, change.count));
    for (std::size_t i = 0; i < std::min(count, kept_observations); ++i)
        values.push_back(swapped ? -change.log_ratio : change.log_ratio);
    if (values.size() > kept_observations)
        values.erase(values.begin(), values.end() - static_cast<std::ptrdiff_t>(kept_observations));
}

double ThroughputCurve::variance() const {
    double squares = 0, residuals = 0;
    for (const auto& [pair, values] : observed_) {
        const double middle = median(values);
        for (const double value : values) squares += (value - middle) * (value - middle);
        residuals += static_cast<double>(values.size() - 1);
    }
    const double reported = reported_variances_.empty() ? 0 : median(reported_variances_);
    const double assumed = std::max(assumed_deviation * assumed_deviation, reported);
    return (assumed_residuals * assumed + squares) / (assumed_residuals + residuals);
}

std::optional<ThroughputCurve::Gain> ThroughputCurve::gain(std::int64_t from, std::int64_t to) const {
    if (from == to) return Gain{};
    // The unknowns are the numbers connected with `from`, whose own f is 0.
    std::set<std::int64_t> connected{from};
    for (bool grows = true; grows;) {
        grows = false;
        for (const auto& [pair, values] : observed_)
            if (connected.contains(pair.first) != connected.contains(pair.second))
                connected.insert({pair.first, pair.second}), grows = true;
    }
    if (!connected.contains(to)) return std::nullopt;
    std::map<std::int64_t, std::size_t> index;
    for (const std::int64_t number : connected)
        if (number != from) index.emplace(number, index.size());
    std::vector<double> matrix(index.size() * index.size());
    const auto entry = [&](std::size_t row, std::size_t column) -> double& {
        return matrix[row * index.size() + column];
    };
    std::vector<double> right(index.size()), unit(index.size());
    for (const auto& [pair, values] : observed_) {
        if (!connected.contains(pair.first)) continue;
        const double weight = static_cast<double>(values.size()), value = median(values);
        const auto one = index.find(pair.first), two = index.find(pair.second);
        if (one != index.end()) entry(one->second, one->second) += weight, right[one->second] -= weight * value;
        if (two != index.end()) entry(two->second, two->second) += weight, right[two->second] += weight * value;
        if (one != index.end() && two != index.end()) {
            entry(one->second, two->second) -= weight;
            entry(two->second, one->second) -= weight;
        }
    }
    const std::size_t at = index.at(to);
    unit[at] = 1;
    const double resistance = solve(matrix, unit)[at];
    const double change = solve(std::move(matrix), std::move(right))[at];
    const auto direct = observed_.find(from < to ? Pair{from, to} : Pair{to, from});
    return Gain{std::log(static_cast<double>(to) / static_cast<double>(from)) + change,
                std::sqrt(variance() * resistance),
                direct == observed_.end() ? 0 : static_cast<std::int64_t>(direct->second.size())};
}

std::vector<std::int64_t> ThroughputCurve::numbers() const {
    std::set<std::int64_t> all;
    for (const auto& [pair, values] : observed_) all.insert({pair.first, pair.second});
    return {all.begin(), all.end()};
}

std::vector<RateChange> ThroughputCurve::changes() const {
    std::vector<RateChange> all;
    for (const auto& [pair, values] : observed_)
        all.push_back({pair.first, pair.second, median(values), static_cast<std::int64_t>(values.size())});
    return all;
}

}  // namespace hpo
