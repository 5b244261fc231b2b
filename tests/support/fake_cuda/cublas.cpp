// A libcublas.so.13 for tests: the one product there is, in doubles, on memory that is the host's.
#include <cstddef>

namespace {

int the_handle;
bool has_stream = false;
bool has_workspace = false;

constexpr int success = 0;
constexpr int invalid_value = 7;

/// Element (row, column) of op(X) for column-major X.
double at(const float* x, int ld, int turned, long long row, long long column) {
    return turned ? x[column + row * ld] : x[row + column * ld];
}

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
    *handle = &the_handle;
    return success;
}
int cublasDestroy_v2(void*) { return success; }
int cublasSetStream_v2(void*, void* stream) {
    has_stream = stream != nullptr;
    return success;
}
int cublasSetWorkspace_v2(void*, void* memory, std::size_t) {
    has_workspace = memory != nullptr;
    return success;
}
int cublasGemmStridedBatchedEx(void* handle, int a_turned, int b_turned, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int a_ld, long long a_stride, const void* b, int b_type,
                               int b_ld, long long b_stride, const void* beta, void* c, int c_type, int c_ld,
                               long long c_stride, int batches, int compute_type, int) {
    const bool good = handle == &the_handle && has_stream && has_workspace && a_type == 0 && b_type == 0 &&
                      c_type == 0 && compute_type == 68 && a_ld >= (a_turned ? k : m) && b_ld >= (b_turned ? n : k) &&
                      c_ld >= m && m > 0 && n > 0 && k > 0;
    if (!good) return invalid_value;
    const float share = *static_cast<const float*>(beta);
    for (int batch = 0; batch < batches; ++batch) {
        const float* x = static_cast<const float*>(a) + batch * a_stride;
        const float* y = static_cast<const float*>(b) + batch * b_stride;
        float* z = static_cast<float*>(c) + batch * c_stride;
        for (long long column = 0; column < n; ++column)
            for (long long row = 0; row < m; ++row) {
                double sum = 0;
                for (long long i = 0; i < k; ++i)
                    sum += at(x, a_ld, a_turned, row, i) * at(y, b_ld, b_turned, i, column);
                float& to = z[row + column * c_ld];
                sum *= *static_cast<const float*>(alpha);
                to = static_cast<float>(share == 0 ? sum : sum + share * to);
            }
    }
    return success;
}

}  // extern "C"
