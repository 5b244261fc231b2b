// The arithmetic of the kernel, for hyperparameters.cpp and gaussian_process.cpp alone.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orchestrator/sampling/hyperparameters.hpp"

namespace hpo {

inline constexpr double least_noise = 1e-8;

// Matern 5/2 of a squared distance, and its derivative with respect to it. `negative_exp` returns exp of a number that
// is not positive, in a form that compilers vectorise: e^x = 2^k e^r with |r| <= ln 2 / 2, and a polynomial for e^r.
inline double negative_exp(double x) {
    constexpr double round = 0x1.8p52;  // adding and subtracting it rounds to the nearest integer
    x = x < -700.0 ? -700.0 : x;
    const double shifted = x * 1.4426950408889634 + round;
    const double k = shifted - round;
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800;
    for (const double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                           1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
        p = p * r + c;
    // The low bits of `shifted` hold the integer k. Shifted to the exponent's bits, they multiply by 2^k.
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(p) + (std::bit_cast<std::int64_t>(shifted) << 52));
}
inline double matern(double square) {
    const double u = std::sqrt(5 * square);
    return (1 + u + u * u / 3) * negative_exp(-u);
}
inline double matern_slope(double square) {
    const double u = std::sqrt(5 * square);
    return -5.0 / 6 * (1 + u) * negative_exp(-u);
}

/// In lanes, which compilers vectorise.
inline double inner_product(const double* x, const double* y, std::size_t count) {
    constexpr std::size_t lanes = 8;
    double sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
    for (; i < count; ++i) sums[0] += x[i] * y[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// Computes the squared distances in coordinate `d` between `x` and the inputs before `end`, whose coordinates are
/// those in `values`, in the order of Inputs.
inline void coordinate_squares(const Inputs& inputs, const std::vector<double>& values, std::size_t d, double x,
                               std::size_t end, double* squares) {
    const double* column = &values[d * inputs.count];
    if (inputs.categorical[d])
        for (std::size_t j = 0; j < end; ++j) squares[j] = column[j] == x ? 0.0 : 1.0;
    else
        for (std::size_t j = 0; j < end; ++j) squares[j] = (column[j] - x) * (column[j] - x);
}

/// A warped coordinate, and its derivatives by the coordinate and by the logarithms of both exponents.
struct Warp {
    double value, by_x, by_first, by_second;
};
/// Returns the cumulative distribution function of Kumaraswamy's distribution, 1 - (1 - x^a)^b. x is cut to (0, 1).
inline Warp warp(double x, double log_a, double log_b) {
    constexpr double edge = 1e-6, least = 1e-12;
    x = std::clamp(x, edge, 1 - edge);
    const double a = std::exp(log_a), b = std::exp(log_b);
    const double power = std::pow(x, a), rest = std::max(1 - power, least), tail = std::pow(rest, b);
    const double slope = b * tail / rest;
    return {1 - tail, slope * a * power / x, slope * a * power * std::log(x), -b * tail * std::log(rest)};
}

inline std::vector<double> inverse_squares(const std::vector<double>& logarithms) {
    std::vector<double> all;
    for (const double l : logarithms) all.push_back(std::exp(-2 * l));
    return all;
}

}  // namespace hpo
