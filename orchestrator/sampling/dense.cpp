#include "orchestrator/sampling/dense.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/sampling/vectorised.hpp"

namespace hpo {

namespace {

// y -= f x: the one inner loop of everything below. It runs along rows, so that the compiler vectorises it.
inline void subtract_scaled(double* y, const double* x, double f, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] -= f * x[i];
}

}  // namespace

HPO_VECTORISED bool cholesky(std::span<double> matrix, std::size_t size) {
    // Column by column of the transpose, right-looking: U = L^T is built in rows, which keeps every loop contiguous.
    std::vector<double> upper(size * size, 0.0);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j) upper[j * size + i] = matrix[i * size + j];
    for (std::size_t k = 0; k < size; ++k) {
        double* row = &upper[k * size];
        if (!(row[k] > 0)) return false;
        const double inverse = 1 / std::sqrt(row[k]);
        for (std::size_t j = k; j < size; ++j) row[j] *= inverse;
        for (std::size_t i = k + 1; i < size; ++i)
            if (row[i] != 0) subtract_scaled(&upper[i * size + i], row + i, row[i], size - i);
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
        for (std::size_t k = 0; k < i; ++k)
            if (const double f = lower[i * size + k]; f != 0) subtract_scaled(row, &inverse[k * size], f, k + 1);
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
    for (std::size_t k = 0; k < size; ++k) {
        const double* row = &lower[k * size];
        for (std::size_t i = 0; i <= k; ++i)
            if (row[i] != 0) subtract_scaled(&gram[i * size], row, -row[i], i + 1);
    }
    return gram;
}

}  // namespace hpo
