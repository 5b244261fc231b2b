// Dense linear algebra of the size that Gaussian processes of a few hundred trials need, on one thread. Matrices are
// square, row after row; of symmetric and triangular ones the lower triangle alone is read and written.
//
// OpenBLAS would be faster from some 500 rows on, but starts a pool of threads in every process that loads it, and each
// viewer and each supervisor of a worker is this program.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hpo {

/// Replaces a symmetric positive definite matrix by its Cholesky factor L, with L L^T = A. False when A is not positive
/// definite; the contents are undefined then.
bool cholesky(std::span<double> matrix, std::size_t size);

/// The inverse of a lower triangular matrix, itself lower triangular; entries above the diagonal are 0.
std::vector<double> inverse_of_lower(std::span<const double> lower, std::size_t size);

/// product = L x, for a lower triangular L.
void multiply_lower(std::span<const double> lower, std::span<const double> x, std::span<double> product);

/// How many columns `squared_norms_of_product` takes at once.
inline constexpr std::size_t column_block = 8;

/// Of each column of L C its squared length, for a lower triangular L with zeros above the diagonal, and a C of
/// `column_block` columns, row after row.
void squared_norms_of_product(std::span<const double> lower, std::span<const double> columns, std::span<double> norms);

/// product = L^T x, for a lower triangular L.
void multiply_lower_transposed(std::span<const double> lower, std::span<const double> x, std::span<double> product);

/// The lower triangle of L^T L, for a lower triangular L: the inverse of A when L is the inverse of A's Cholesky
/// factor.
std::vector<double> gram_of_lower(std::span<const double> lower, std::size_t size);

}  // namespace hpo
