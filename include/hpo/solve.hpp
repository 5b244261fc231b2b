// Small systems of linear equations with a symmetric positive definite matrix A [n, n] in row-major order, of which
// only the lower triangle is read. sampling/dense.hpp has the faster functions for Gaussian processes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace hpo {

/// Replaces the lower triangle of A by its Cholesky factor L, with L L^T = A. A pivot below `least` counts as `least`.
/// Returns false if there was one.
inline bool factorize(std::vector<double>& a, std::size_t n, double least) {
    bool definite = true;
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
        definite = definite && a[j * n + j] >= least;
        a[j * n + j] = std::sqrt(std::max(a[j * n + j], least));
        for (std::size_t i = j + 1; i < n; ++i) {
            for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
    }
    return definite;
}

/// Returns the solution x of L L^T x = `right` for a factor L of factorize().
inline std::vector<double> substitute(const std::vector<double>& factor, std::vector<double> right) {
    const std::size_t n = right.size();
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) right[i] -= factor[i * n + k] * right[k];
        right[i] /= factor[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) right[i] -= factor[k * n + i] * right[k];
        right[i] /= factor[i * n + i];
    }
    return right;
}

/// Returns the solution x of A x = `right`. A pivot below 1e-12 counts as 1e-12.
inline std::vector<double> solve(std::vector<double> a, std::vector<double> right) {
    factorize(a, right.size(), 1e-12);
    return substitute(a, std::move(right));
}

/// Returns the inverse of A, or nothing if a pivot is below `least`.
inline std::vector<double> inverse(std::vector<double> a, std::size_t n, double least) {
    if (!factorize(a, n, least)) return {};
    std::vector<double> rows;
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> unit(n, 0);
        unit[i] = 1;
        const std::vector<double> row = substitute(a, std::move(unit));
        rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
}

}  // namespace hpo
