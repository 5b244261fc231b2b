#include "orchestrator/stopping/curve_model.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/median.hpp"

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

/// The least deviation of a variable in the prior: a share of the greater one of the values here and at the next node,
/// and of the range of all values. Trials whose values or changes are equal, perhaps up to rounding, say nothing about
/// trials that differ.
constexpr double least_share = 0.05, least_of_range = 0x1p-20;

/// The share of a metric's magnitude below which differences are rounding.
constexpr double rounding = 0x1p-40;

/// The magnitude beyond which values are cut off, so that their differences are finite.
constexpr double greatest = 1e300;

double cut(double value) { return std::clamp(value, -greatest, greatest); }

/// Returns a value that is unchanged up to half of the range's width beyond the range. Values further away are moved,
/// in their order, to less than the width beyond it.
double kept_near(double value, double low, double high) {
    const double half = (high - low) / 2;
    const double beyond = value > high ? value - high - half : low - half - value;
    if (beyond <= 0) return value;
    const double kept = half * (1 + (half > 0 ? beyond / (beyond + half) : 0));
    return value > high ? high + kept : low - kept;
}

/// Returns a value that is unchanged up to half of the way from `seen` to `limit`. Values further away are moved, in
/// their order, to this side of the limit.
double kept_before(double value, double seen, double limit) {
    const double half = std::abs(limit - seen) / 2, beyond = std::abs(value - seen) - half;
    if (!std::isfinite(limit) || beyond <= 0) return value;
    const double kept = half * (1 + (half > 0 ? beyond / (beyond + half) : 0));
    return value > seen ? std::min(limit, seen + kept) : std::max(limit, seen - kept);
}

}  // namespace

CurveModel::CurveModel(std::size_t nodes, std::vector<PossibleValues> possible)
    : nodes_(nodes), possible_(std::move(possible)) {}

double CurveModel::at(const CurvePath& path, std::size_t node) const {
    return (std::max(bounded(node, path[node]), -greatest) - origin_) / unit_;
}

double CurveModel::change(const CurvePath& path, std::size_t node) const {
    return node == 0 ? 0 : at(path, node) - at(path, node - 1);
}

CurveModel::End CurveModel::predicted(const CurvePath& path, std::size_t node) const {
    const Node& from = nodes_[node];
    const double here = at(path, node);
    const double low = std::min(from.low, here), high = std::max(from.high, here);
    const double linear = from.base + from.value * here + from.change * change(path, node);
    const double kept = kept_near(linear, low, high);
    return {kept, std::min(std::sqrt(from.variance) + std::abs(linear - kept), 2 * (high - low))};
}

CurveModel::End CurveModel::end(const CurvePath& path) const {
    const std::size_t node = path.size() - 1;
    if (!fitted_ || path.size() == nodes_.size()) return {path.back(), 0};
    const End end = predicted(path, node);
    return {kept_possible(origin_ + unit_ * end.value, path.back()), unit_ * end.deviation};
}

/// Keeps the predicted end of a trial within the values that the metric can have.
double CurveModel::kept_possible(double value, double latest) const {
    const double low = std::min(origin_ + unit_ * nodes_.front().low, latest);
    const double high = std::max(origin_ + unit_ * nodes_.front().high, latest);
    const double slack = 1e-9 * (high - low);
    for (const PossibleValues& range : possible_) {
        if (range.low > low + slack || range.high < high - slack) continue;
        return value < low    ? kept_before(value, low, range.low)
               : value > high ? kept_before(value, high, range.high)
                              : value;
    }
    return value;
}

void CurveModel::fit(std::span<const CurvePath* const> paths, const std::function<double()>& draw_normal) {
    bound(paths);
    measure(paths);
    fitted_ = true;
    for (std::size_t node = nodes_.size() - 1; node-- > 0;) regress(paths, node, draw_normal), judge(paths, node);
}

/// Sets the cap of each node. Losses may explode by orders of magnitude, so values far worse than the median are
/// capped. The distance of the cap is taken from the node with the greatest distance between best and median, since the
/// trials that pass the later nodes are similar. Where at least half of the trials are equally good everywhere, it is
/// the least distance above a median, but no more than the median's magnitude.
void CurveModel::bound(std::span<const CurvePath* const> paths) {
    std::vector<double> values;
    double widest = 0, magnitude = 0, next_above = INFINITY, last = 0;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
        values.clear();
        for (const CurvePath* path : paths)
            if (path->size() > node && std::isfinite((*path)[node])) values.push_back(cut((*path)[node]));
        nodes_[node].worst = last;
        if (values.empty()) continue;
        const double median = upper_median(values);
        widest = std::max(widest, median - *std::min_element(values.begin(), values.end()));
        magnitude = std::max(magnitude, std::abs(median));
        for (const double value : values)
            if (const double above = value - median; above > rounding * std::abs(median))
                next_above = std::min(next_above, above);
        nodes_[node].worst = last = median;
    }
    if (widest <= rounding * magnitude)
        widest = std::isinf(next_above) ? 0 : magnitude > 0 ? std::min(next_above, magnitude) : next_above;
    for (Node& node : nodes_) node.worst += 2 * widest;
}

/// Sets the origin and the unit of all values, and the range of each node.
void CurveModel::measure(std::span<const CurvePath* const> paths) {
    origin_ = 0, unit_ = 1;
    double low = INFINITY, high = -INFINITY;
    for (std::size_t node = nodes_.size(); node-- > 0;) {
        for (const CurvePath* path : paths)  // diverged trials are capped, beyond the range
            if (path->size() > node && std::isfinite((*path)[node]))
                low = std::min(low, at(*path, node)), high = std::max(high, at(*path, node));
        nodes_[node].low = low, nodes_[node].high = high;
    }
    if (low > high) return;
    const double magnitude = std::max(std::abs(low), std::abs(high));
    origin_ = low;
    unit_ = high - low > rounding * magnitude ? high - low : magnitude > 0 ? magnitude : 1;
    for (Node& node : nodes_) node.low = (node.low - origin_) / unit_, node.high = (node.high - origin_) / unit_;
}

void CurveModel::regress(std::span<const CurvePath* const> paths, std::size_t node,
                         const std::function<double()>& draw_normal) {
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
    const double least_deviation =
        std::max(least_share * std::sqrt(std::max(sums.vv, sums.yy) / sums.n), least_of_range);
    const double ridge_v = prior_value_trials * std::max(sums.vv / sums.n, least_deviation * least_deviation);
    const double ridge_c = prior_change_trials * std::max(sums.cc / sums.n, least_deviation * least_deviation);
    const double a = sums.vv + ridge_v, b = sums.vc, d = sums.cc + ridge_c;
    const double p = sums.vy - sums.vv, q = sums.cy - sums.vc;
    const double determinant = a * d - b * b;
    const double w = determinant > 0 ? (p * d - q * b) / determinant : 0;
    double u = determinant > 0 ? (a * q - b * p) / determinant : 0;
    double value = 1 + w;
    const double left = sums.yy + value * value * sums.vv + u * u * sums.cc - 2 * value * sums.vy - 2 * u * sums.cy +
                        2 * value * u * sums.vc;
    const double prior = 0.25 * std::max(sums.yy, sums.vv) / sums.n;
    const double noise = (std::max(left, 0.0) + ridge_v * w * w + ridge_c * u * u + prior_noise_trials * prior) /
                         (sums.n + prior_noise_trials);
    if (draw_normal && determinant > 0) {  // from the posterior, of covariance noise * (X'X + R)^-1
        const double of_value = std::sqrt(noise * d / determinant), shared = -noise * b / determinant / of_value;
        const double first = draw_normal(), second = draw_normal();
        value += of_value > 0 ? of_value * first : 0;
        u += of_value > 0
                 ? shared * first + std::sqrt(std::max(0.0, noise * a / determinant - shared * shared)) * second
                 : 0;
    }
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
        ++n, sum += predicted(*path, node).value;
    }
    for (const CurvePath* path : paths)
        if (path->size() > node) squares += std::pow(predicted(*path, node).value - sum / n, 2);
    Node& from = nodes_[node];
    const double spread = n > 1 ? squares / n : 0;
    from.tells = 0;
    if (onward < enough || spread <= rounding * rounding) return;
    // With few trials, two coefficients explain some variance by chance. Adjust the share for the degrees of freedom.
    const double explained = spread / (spread + from.variance), count = static_cast<double>(onward);
    from.tells = std::sqrt(std::max(0.0, 1 - (1 - explained) * (count - 1) / (count - 3)));
}

}  // namespace hpo
