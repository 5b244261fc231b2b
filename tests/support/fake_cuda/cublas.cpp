// A libcublas.so.13 for tests: the one product there is, in doubles, on memory that is the host's.
#include <dlfcn.h>

#include <cstddef>
#include <cstring>

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

struct Product {
    int a_turned, b_turned, m, n, k;
    float alpha, beta;
    const float *a, *b;
    float* c;
    int a_ld, b_ld, c_ld;
    long long a_stride, b_stride, c_stride;
    int batches;
};

void multiply(const void* arguments) {
    Product p;
    std::memcpy(&p, arguments, sizeof p);
    for (int batch = 0; batch < p.batches; ++batch) {
        const float* x = p.a + batch * p.a_stride;
        const float* y = p.b + batch * p.b_stride;
        float* z = p.c + batch * p.c_stride;
        for (long long column = 0; column < p.n; ++column)
            for (long long row = 0; row < p.m; ++row) {
                double sum = 0;
                for (long long i = 0; i < p.k; ++i)
                    sum += at(x, p.a_ld, p.a_turned, row, i) * at(y, p.b_ld, p.b_turned, i, column);
                float& to = z[row + column * p.c_ld];
                sum *= p.alpha;
                to = static_cast<float>(p.beta == 0 ? sum : sum + p.beta * to);
            }
    }
}

/// Of the fake driver: it is loaded, and knows whether its stream is captured.
using Enqueue = int (*)(void (*)(const void*), const void*, std::size_t);
Enqueue find_enqueue() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? reinterpret_cast<Enqueue>(dlsym(driver, "fake_cuda_enqueue")) : nullptr;
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
    static const Enqueue enqueue = find_enqueue();
    const bool good = enqueue && handle == &the_handle && has_stream && has_workspace && a_type == 0 && b_type == 0 &&
                      c_type == 0 && compute_type == 68 && a_ld >= (a_turned ? k : m) && b_ld >= (b_turned ? n : k) &&
                      c_ld >= m && m > 0 && n > 0 && k > 0;
    if (!good) return invalid_value;
    const Product product{a_turned,
                          b_turned,
                          m,
                          n,
                          k,
                          *static_cast<const float*>(alpha),
                          *static_cast<const float*>(beta),
                          static_cast<const float*>(a),
                          static_cast<const float*>(b),
                          static_cast<float*>(c),
                          a_ld,
                          b_ld,
                          c_ld,
                          a_stride,
                          b_stride,
                          c_stride,
                          batches};
    return enqueue(multiply, &product, sizeof product);
}

}  // extern "C"
