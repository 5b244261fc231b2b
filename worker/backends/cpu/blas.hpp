// The library that multiplies matrices of float32 by the C interface of BLAS (cblas_sgemm): OpenBLAS on Linux, and
// Accelerate on macOS, which is loaded at run time. HPO_BLAS=FILE names another one.
//
// Document: netlib.org/blas, cblas.h, with whole numbers of 32 bits.
#pragma once

#include <string>

#include "hpo/result.hpp"

namespace hpo {

struct Blas {
    /// Row-major, as cblas_sgemm: c [m, n] = alpha a [m, k] b [k, n] + beta c.
    using Sgemm = void(int order, int transa, int transb, int m, int n, int k, float alpha, const float* a, int lda,
                       const float* b, int ldb, float beta, float* c, int ldc);
    static constexpr int row_major = 101, plain = 111, transposed = 112;

    Sgemm* sgemm = nullptr;
    std::string name;  ///< "OpenBLAS SkylakeX", "Accelerate"; of another library, the name of its file
};

/// Loads a library and makes it compute in the calling thread alone, if it has a switch for that. Fails, naming the
/// missing file or symbol, if the file cannot be loaded or has no cblas_sgemm.
Result<Blas> load_blas(const std::string& file);

/// Returns the library that this system has by itself.
Result<Blas> own_blas();

/// Returns the library of this process: that of HPO_BLAS, else own_blas(). It is loaded once.
const Result<Blas>& blas();

/// Returns true if the user has named the library (HPO_BLAS), which then computes all products.
bool blas_is_named();

}  // namespace hpo
