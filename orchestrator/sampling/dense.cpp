#include "orchestrator/sampling/dense.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/sampling/vectorised.hpp"

namespace hpo {

namespace {

// y -= f x: the inner loop of all functions below. It runs along rows, so that the compiler vectorises it.
inline void subtract_scaled(double* y, const double* x, double f, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] -= f * x[i];
}

// The same with `block` rows at once, which lie `stride` apart and whose factors are `factors`: y is loaded and stored
// once for all of them.
constexpr std::size_t block = 4;
inline void subtract_scaled_rows(double* y, const double* x, std::size_t stride, const double* factors,
                                 std::size_t count) {
    const double *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    const double f = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
    for (std::size_t i = 0; i < count; ++i) y[i] -= (f * x[i] + f1 * x1[i]) + (f2 * x2[i] + f3 * x3[i]);
}

}  // namespace

HPO_VECTORISED bool cholesky(std::span<double> matrix, std::size_t size) {
    // Column by column of the transpose, right-looking: U = L^T is built in rows, which keeps every loop contiguous.
    std::vector<double> upper(size * size, 0.0);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j) upper[j * size + i] = matrix[i * size + j];
    for (std::size_t first = 0; first < size; first += block) {
        const std::size_t end = std::min(first + block, size);
        for (std::size_t k = first; k < end; ++k) {
            double* row = &upper[k * size];
            if (!(row[k] > 0)) return false;
            const double inverse = 1 / std::sqrt(row[k]);
            for (std::size_t j = k; j < size; ++j) row[j] *= inverse;
            for (std::size_t i = k + 1; i < end; ++i) subtract_scaled(&upper[i * size + i], row + i, row[i], size - i);
        }
        for (std::size_t i = end; i < size; ++i) {  // none if the block is not whole
            double factors[block];
            for (std::size_t r = 0; r < block; ++r) factors[r] = upper[(first + r) * size + i];
            subtract_scaled_rows(&upper[i * size + i], &upper[first * size + i], size, factors, size - i);
        }
    }
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j) matrix[i * size + j] = upper[j * size + i];
    return true;
}

HPO_VECTORISED std::vector<double> inverse_of_lower(std::span<const double> lower, std::size_t size) {
    std::vector<double> inverse(size * size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
        double* row = &inverse[i * size];
        row[i] = 1;
        std::size_t k = 0;
        for (; k + block <= i; k += block)  // beyond a row's diagonal there are zeros
            subtract_scaled_rows(row, &inverse[k * size], size, &lower[i * size + k], k + block);
        for (; k < i; ++k) subtract_scaled(row, &inverse[k * size], lower[i * size + k], k + 1);
        const double diagonal = 1 / lower[i * size + i];
        for (std::size_t j = 0; j <= i; ++j) row[j] *= diagonal;
    }
    return inverse;
}

HPO_VECTORISED std::vector<double> solve_lower(std::span<const double> lower, std::span<const double> right) {
    const std::size_t size = right.size();
    std::vector<double> x(right.begin(), right.end());
    for (std::size_t i = 0; i < size; ++i) {
        const double* row = &lower[i * size];
        double sums[4] = {0, 0, 0, 0};
        std::size_t j = 0;
        for (; j + 4 <= i; j += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += row[j + lane] * x[j + lane];
        for (; j < i; ++j) sums[0] += row[j] * x[j];
        x[i] = (x[i] - ((sums[0] + sums[1]) + (sums[2] + sums[3]))) / row[i];
    }
    return x;
}

HPO_VECTORISED void multiply_lower(std::span<const double> lower, std::span<const double> x,
                                   std::span<double> product) {
    const std::size_t size = x.size();
    for (std::size_t i = 0; i < size; ++i) {
        const double* row = &lower[i * size];
        double sums[4] = {0, 0, 0, 0};
        std::size_t j = 0;
        for (; j + 4 <= i + 1; j += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += row[j + lane] * x[j + lane];
        for (; j <= i; ++j) sums[0] += row[j] * x[j];
        product[i] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

HPO_VECTORISED void squared_norms_of_product(std::span<const double> lower, std::span<const double> columns,
                                             std::span<double> norms) {
    const std::size_t size = columns.size() / column_block;
    constexpr std::size_t rows = 4;  // at once: enough sums in registers to hide how long one addition takes
    double total[column_block] = {};
    for (std::size_t i = 0; i < size; i += rows) {
        const std::size_t count = std::min(rows, size - i);
        double sums[rows][column_block] = {};
        const double* row[rows];
        for (std::size_t r = 0; r < rows; ++r) row[r] = &lower[(i + std::min(r, count - 1)) * size];
        for (std::size_t j = 0; j < i + count; ++j)  // beyond a row's diagonal there are zeros
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < column_block; ++c) sums[r][c] += row[r][j] * columns[j * column_block + c];
        for (std::size_t r = 0; r < count; ++r)
            for (std::size_t c = 0; c < column_block; ++c) total[c] += sums[r][c] * sums[r][c];
    }
    std::copy(total, total + column_block, norms.begin());
}

HPO_VECTORISED void multiply_lower_transposed(std::span<const double> lower, std::span<const double> x,
                                              std::span<double> product) {
    const std::size_t size = x.size();
    std::fill(product.begin(), product.end(), 0.0);
    for (std::size_t i = 0; i < size; ++i) subtract_scaled(product.data(), &lower[i * size], -x[i], i + 1);
}

HPO_VECTORISED std::vector<double> gram_of_lower(std::span<const double> lower, std::size_t size) {
    std::vector<double> gram(size * size, 0.0);
    std::size_t k = 0;
    for (; k + block <= size; k += block) {  // beyond a row's diagonal there are zeros
        for (std::size_t i = 0; i < k + block; ++i) {
            double factors[block];
            for (std::size_t r = 0; r < block; ++r) factors[r] = -lower[(k + r) * size + i];
            subtract_scaled_rows(&gram[i * size], &lower[k * size], size, factors, i + 1);
        }
    }
    for (; k < size; ++k)
        for (std::size_t i = 0; i <= k; ++i)
            subtract_scaled(&gram[i * size], &lower[k * size], -lower[k * size + i], i + 1);
    return gram;
}

}  // namespace hpo
