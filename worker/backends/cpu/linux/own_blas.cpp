#include <cblas.h>

#include "worker/backends/cpu/blas.hpp"

namespace hpo {

Result<Blas> own_blas() {
    openblas_set_num_threads(1);
    const auto sgemm = [](int order, int transa, int transb, int m, int n, int k, float alpha, const float* a, int lda,
                          const float* b, int ldb, float beta, float* c, int ldc) {
        cblas_sgemm(static_cast<CBLAS_ORDER>(order), static_cast<CBLAS_TRANSPOSE>(transa),
                    static_cast<CBLAS_TRANSPOSE>(transb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    };
    return Blas{sgemm, std::string("OpenBLAS ") + openblas_get_corename()};
}

}  // namespace hpo
