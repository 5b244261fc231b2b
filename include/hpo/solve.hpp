// Solves small systems of linear equations. sampling/dense.hpp has the faster functions for Gaussian processes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace hpo {

/// Returns the solution x of A x = `right` for a symmetric positive definite A [n, n] in row-major order, by Cholesky's
/// method. Only the lower triangle of A is read. A pivot below 1e-12 counts as 1e-12.
inline std::vector<double> solve(std::vector<double> a, std::vector<double> right) {
    const std::size_t n = right.size();
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < j; ++k) a[j * n + j] -= a[j * n + k] * a[j * n + k];
        a[j * n + j] = std::sqrt(std::max(a[j * n + j], 1e-12));
        for (std::size_t i = j + 1; i < n; ++i) {
            for (std::size_t k = 0; k < j; ++k) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) right[i] -= a[i * n + k] * right[k];
        right[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) right[i] -= a[k * n + i] * right[k];
        right[i] /= a[i * n + i];
    }
    return right;
}

}  // namespace hpo
