// Single-threaded dense linear algebra for Gaussian processes of a few hundred trials. Matrices are square and stored
// in row-major order. Only the lower triangle of symmetric and triangular matrices is read and written.
//
// OpenBLAS would be faster from about 500 rows on. However, it starts a thread pool in every process that loads it, and
// each viewer and each supervisor runs this program.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hpo {

/// Replaces a symmetric positive definite matrix A by its Cholesky factor L, with L L^T = A. Returns false if A is not
/// positive definite. The contents are then undefined.
bool cholesky(std::span<double> matrix, std::size_t size);

/// Returns the inverse of a lower triangular matrix. It is lower triangular, with zeros above the diagonal.
std::vector<double> inverse_of_lower(std::span<const double> lower, std::size_t size);

/// Returns the solution x of L x = `right` for a lower triangular L.
std::vector<double> solve_lower(std::span<const double> lower, std::span<const double> right);

/// Computes product = L x for a lower triangular L.
void multiply_lower(std::span<const double> lower, std::span<const double> x, std::span<double> product);

/// The number of columns that `squared_norms_of_product` processes at once.
inline constexpr std::size_t column_block = 8;

/// Computes the squared norm of each column of L C. L is lower triangular with zeros above the diagonal. C has
/// `column_block` columns in row-major order.
void squared_norms_of_product(std::span<const double> lower, std::span<const double> columns, std::span<double> norms);

/// Computes product = L^T x for a lower triangular L.
void multiply_lower_transposed(std::span<const double> lower, std::span<const double> x, std::span<double> product);

/// Returns the lower triangle of L^T L for a lower triangular L. This is the inverse of A if L is the inverse of A's
/// Cholesky factor.
std::vector<double> gram_of_lower(std::span<const double> lower, std::size_t size);

}  // namespace hpo
