// A libcublas.so.13 for tests. It computes the one product that the worker uses, in doubles, on host memory. Operands
// are bfloat16 or float16 of 16 bits, or float32, which tf32 rounds.
#include <dlfcn.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/half.hpp"

namespace {

int the_handle;
bool has_stream = false;
bool has_workspace = false;

constexpr int success = 0;
constexpr int invalid_value = 7;

constexpr int f32 = 0;
constexpr int f16 = 2;
constexpr int bf16 = 14;
constexpr int by_f32 = 68;
constexpr int by_tf32 = 77;

float of_bits(std::uint32_t bits) {
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

/// Returns the number at `index` of a matrix of any type.
double number_at(const void* x, int type, bool tf32, long long index) {
    if (type == f16) return static_cast<double>(static_cast<const hpo::testing::Half*>(x)[index]);
    if (type == bf16) return of_bits(std::uint32_t{static_cast<const std::uint16_t*>(x)[index]} << 16);
    const float number = static_cast<const float*>(x)[index];
    if (!tf32 || !std::isfinite(number)) return number;
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return of_bits((bits + 0xFFF + (bits >> 13 & 1)) & ~std::uint32_t{0x1FFF});
}

struct Product {
    int a_turned, b_turned, m, n, k;
    float alpha, beta;
    const void *a, *b;
    int type;
    bool tf32;
    float* c;
    int a_ld, b_ld, c_ld;
    long long a_stride, b_stride, c_stride;
    int batches;
};

void multiply(const void* arguments) {
    Product p;
    std::memcpy(&p, arguments, sizeof p);
    for (int batch = 0; batch < p.batches; ++batch) {
        const auto x = [&](long long row, long long column) {
            const long long in_it = p.a_turned ? column + row * p.a_ld : row + column * p.a_ld;
            return number_at(p.a, p.type, p.tf32, batch * p.a_stride + in_it);
        };
        const auto y = [&](long long row, long long column) {
            const long long in_it = p.b_turned ? column + row * p.b_ld : row + column * p.b_ld;
            return number_at(p.b, p.type, p.tf32, batch * p.b_stride + in_it);
        };
        float* z = p.c + batch * p.c_stride;
        for (long long column = 0; column < p.n; ++column)
            for (long long row = 0; row < p.m; ++row) {
                double sum = 0;
                for (long long i = 0; i < p.k; ++i) sum += x(row, i) * y(i, column);
                float& to = z[row + column * p.c_ld];
                sum *= p.alpha;
                to = static_cast<float>(p.beta == 0 ? sum : sum + p.beta * to);
            }
    }
}

/// A function of the fake driver, which is loaded already and knows if its stream is captured.
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
int cublasGetProperty(int part, int* value) {
    *value = 13 - part;
    return success;
}
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
    const bool good = enqueue && handle == &the_handle && has_stream && has_workspace && a_type == b_type &&
                      (a_type == f32 || a_type == f16 || a_type == bf16) && c_type == f32 &&
                      (compute_type == by_f32 || (compute_type == by_tf32 && a_type == f32)) &&
                      a_ld >= (a_turned ? k : m) && b_ld >= (b_turned ? n : k) && c_ld >= m && m > 0 && n > 0 && k > 0;
    if (!good) return invalid_value;
    const Product product{a_turned,
                          b_turned,
                          m,
                          n,
                          k,
                          *static_cast<const float*>(alpha),
                          *static_cast<const float*>(beta),
                          a,
                          b,
                          a_type,
                          compute_type == by_tf32,
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
