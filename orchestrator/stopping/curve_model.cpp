#include "orchestrator/stopping/curve_model.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {

namespace {

/// The means and centred sums of products for a regression of y on the value v and the change c.
struct Sums {
    double n = 0, v = 0, c = 0, y = 0;
    double vv = 0, vc = 0, cc = 0, vy = 0, cy = 0, yy = 0;

    void add(double value, double change, double next) { ++n, v += value, c += change, y += next; }
    void centre() { v /= n, c /= n, y /= n; }
    void spread(double value, double change, double next) {
        const double a = value - v, b = change - c, d = next - y;
        vv += a * a, vc += a * b, cc += b * b, vy += a * d, cy += b * d, yy += d * d;
    }
};

/// The weight of the prior, in trials: on the coefficients of value and change, and on the residual variance.
constexpr double prior_value_trials = 2, prior_change_trials = 4, prior_noise_trials = 1;

}  // namespace

CurveModel::CurveModel(std::size_t nodes) : nodes_(nodes) {}

double CurveModel::at(const CurvePath& path, std::size_t node) const {
    return std::min(path[node], nodes_[node].worst);
}

double CurveModel::change(const CurvePath& path, std::size_t node) const {
    return node == 0 ? 0 : at(path, node) - std::min(path[node - 1], nodes_[node - 1].worst);
}

double CurveModel::predicted(const CurvePath& path, std::size_t node) const {
    const Node& from = nodes_[node];
    return from.base + from.value * at(path, node) + from.change * change(path, node);
}

CurveModel::End CurveModel::end(const CurvePath& path) const {
    const std::size_t node = path.size() - 1;
    if (!fitted_ || path.size() == nodes_.size()) return {path.back(), 0};
    return {predicted(path, node), std::sqrt(nodes_[node].variance)};
}

void CurveModel::fit(std::span<const CurvePath* const> paths) {
    bound(paths);
    fitted_ = true;
    for (std::size_t node = nodes_.size() - 1; node-- > 0;) regress(paths, node), judge(paths, node);
}

/// Sets the cap of each node. Losses may explode by orders of magnitude, so values far worse than the median are
/// capped. The distance of the cap is taken from the node with the greatest distance between best and median, since the
/// trials that pass the later nodes are similar.
void CurveModel::bound(std::span<const CurvePath* const> paths) {
    std::vector<double> values;
    double widest = 0;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        values.clear();
        for (const CurvePath* path : paths)
            if (path->size() > node && std::isfinite((*path)[node])) values.push_back((*path)[node]);
        if (values.empty()) continue;
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        widest = std::max(widest, *middle - *std::min_element(values.begin(), middle + 1));
        nodes_[node].worst = *middle;
    }
    for (Node& node : nodes_) node.worst += 2 * widest;
}

void CurveModel::regress(std::span<const CurvePath* const> paths, std::size_t node) {
    Sums sums;
    const auto for_each = [&](auto&& visit) {
        for (const CurvePath* path : paths)
            if (path->size() > node + 1) visit(at(*path, node), change(*path, node), at(*path, node + 1));
    };
    Node& from = nodes_[node];
    const Node& next = nodes_[node + 1];
    for_each([&](double v, double c, double y) { sums.add(v, c, y); });
    if (sums.n == 0) {  // No trial has passed the next node: predict the current value.
        from.base = 0, from.value = 1, from.change = 0, from.variance = next.variance;
        return;
    }
    sums.centre();
    for_each([&](double v, double c, double y) { sums.spread(v, c, y); });

    // Ridge regression of y - v: (X'X + R) w = X'(y - v). The penalty R is in units of each variable's variance.
    const double ridge_v = prior_value_trials * std::max(sums.vv / sums.n, 1e-300);
    const double ridge_c = prior_change_trials * std::max(sums.cc / sums.n, 1e-300);
    const double a = sums.vv + ridge_v, b = sums.vc, d = sums.cc + ridge_c;
    const double p = sums.vy - sums.vv, q = sums.cy - sums.vc;
    const double determinant = a * d - b * b;
    const double w = determinant > 0 ? (p * d - q * b) / determinant : 0;
    const double u = determinant > 0 ? (a * q - b * p) / determinant : 0;
    const double value = 1 + w;
    const double left = sums.yy + value * value * sums.vv + u * u * sums.cc - 2 * value * sums.vy - 2 * u * sums.cy +
                        2 * value * u * sums.vc;
    const double prior = 0.25 * std::max(sums.yy, sums.vv) / sums.n;
    const double noise = (std::max(left, 0.0) + ridge_v * w * w + ridge_c * u * u + prior_noise_trials * prior) /
                         (sums.n + prior_noise_trials);
    const double intercept = sums.y - value * sums.v - u * sums.c;

    // The end follows from the next value v' and the change v' - v.
    const double onward = next.value + next.change;
    from.base = next.base + onward * intercept;
    from.value = onward * value - next.change;
    from.change = onward * u;
    from.variance = next.variance + onward * onward * noise * (1 + 3 / sums.n);
}

void CurveModel::judge(std::span<const CurvePath* const> paths, std::size_t node) {
    double n = 0, sum = 0, squares = 0;
    std::size_t onward = 0;
    for (const CurvePath* path : paths) {
        if (path->size() <= node) continue;
        if (path->size() > node + 1) ++onward;
        const double value = predicted(*path, node);
        ++n, sum += value, squares += value * value;
    }
    Node& from = nodes_[node];
    const double spread = n > 1 ? std::max(0.0, squares / n - sum / n * sum / n) : 0;
    from.tells = 0;
    if (onward < enough || spread <= 0) return;
    // With few trials, two coefficients explain some variance by chance. Adjust the share for the degrees of freedom.
    const double explained = spread / (spread + from.variance), count = static_cast<double>(onward);
    from.tells = std::sqrt(std::max(0.0, 1 - (1 - explained) * (count - 1) / (count - 3)));
}

}  // namespace hpo
