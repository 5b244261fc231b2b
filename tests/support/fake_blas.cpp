// A library that stands for Accelerate: cblas_sgemm as the plain sums, and a count of how its threads were set. With
// -DFAKE_BLAS_WITHOUT_SGEMM it lacks the function, as a library does that is something else.
#include <cstdint>

extern "C" {

int fake_blas_threading = -1;
long fake_blas_calls = 0;

int BLASSetThreading(int threading) { return fake_blas_threading = threading, 0; }

#ifndef FAKE_BLAS_WITHOUT_SGEMM
void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc) {
    if (order != 101) return;
    ++fake_blas_calls;
    const auto at = [](const float* x, int stride, int form, int row, int column) {
        return form == 112 ? x[std::int64_t{column} * stride + row] : x[std::int64_t{row} * stride + column];
    };
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += double{at(a, lda, transa, i, l)} * double{at(b, ldb, transb, l, j)};
            float& to = c[std::int64_t{i} * ldc + j];
            to = static_cast<float>(alpha * sum + (beta == 0 ? 0.0 : double{beta} * double{to}));
        }
}
#endif
}
