#include "worker/backends/cpu/products.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "worker/backends/cpu/blas.hpp"

namespace hpo {
namespace {

/// The functions of oneDNN's C interface that are used. They are declared here, and the library is loaded at run time,
/// so that neither building nor running needs it.
struct OneDnn {
    struct Version {
        int major, minor, patch;
    };
    /// Row-major, as the BLAS function with the same name.
    using Sgemm = int(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                      const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                      std::int64_t ldc);
    const Version* (*version)() = nullptr;
    Sgemm* sgemm = nullptr;
    void (*set_threads)(int) = nullptr;  ///< of OpenMP, for the calling thread
    std::string problem;                 ///< why it is not used; empty where it is left out on purpose

    explicit operator bool() const { return version && sgemm && set_threads; }

    static OneDnn load() {
        OneDnn none;
#if defined(__x86_64__)  // elsewhere its float32 product is a plain loop
        const char* wanted = std::getenv("HPO_ONEDNN");
        if (blas_is_named() || (wanted && std::string_view(wanted) == "off")) return none;
        for (const char* name : {"libdnnl.so.3", "libdnnl.so.2"}) {
            if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {  // never closed: it has exit handlers
                OneDnn found;
                found.version = reinterpret_cast<decltype(found.version)>(dlsym(handle, "dnnl_version"));
                found.sgemm = reinterpret_cast<Sgemm*>(dlsym(handle, "dnnl_sgemm"));
                found.set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
                if (found) return found;
                none.problem = std::string(name) + " was built without OpenMP, or lacks a function";
            }
        }
        if (none.problem.empty()) none.problem = "oneDNN is not installed (libdnnl.so.3 or libdnnl.so.2)";
#endif
        return none;
    }
};

bool has_wide_registers() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
}

const OneDnn& one_dnn() {
    static const OneDnn library = OneDnn::load();
    return library;
}

/// Returns true for products that are faster with oneDNN 2.6.3 than with OpenBLAS 0.3.21. On an AMD EPYC with AVX-512
/// the former takes 5 to 40 % less time for large ones, and more for the others, down to a half of the rate with ten
/// columns. On an AMD EPYC with AVX2 alone it takes 3 to 85 % less for all but the smallest ones.
bool suits_one_dnn(std::int64_t m, std::int64_t n, std::int64_t k) {
    static const bool wide = has_wide_registers();
    constexpr std::int64_t least_extent = 16, least_products = std::int64_t{1} << 19;
    if (!wide) return m * n * k >= std::int64_t{1} << 14;
    return std::min(m, n) >= least_extent && m * n * k >= least_products;
}

/// Returns the rows of c that are computed at once. For each part a library packs the whole right matrix again, which
/// takes longer if the matrix must be transposed: parts of this size cost up to 3 % of the time of a product (oneDNN
/// 2.6.3, on an AMD EPYC with AVX-512). `size`: numbers in the right matrix.
std::int64_t rows_of_part(std::int64_t size, bool transposed) {
    constexpr std::int64_t least_products = std::int64_t{1} << 21, multiple = 16;  // some 40 us
    const std::int64_t least = !transposed ? 48 : size < std::int64_t{1} << 19 ? 128 : 256;
    const std::int64_t worth_it = least_products / std::max<std::int64_t>(1, size);
    return std::max(least, (worth_it + multiple - 1) / multiple * multiple);
}

}  // namespace

void multiply(ThreadPool& threads, std::int64_t m, std::int64_t n, std::int64_t k, FloatMatrix a, FloatMatrix b,
              float* c, Write write) {
    const std::int64_t a_stride = a.transposed ? m : k, b_stride = b.transposed ? k : n;
    const float keep = write == Write::add ? 1.0F : 0.0F;
    Blas::Sgemm* const sgemm = blas()->sgemm;
    const bool by_one_dnn = one_dnn() && suits_one_dnn(m, n, k);
    const Parts parts = parts_of(m, rows_of_part(n * k, b.transposed));
    threads.run(parts.count, [&](int part) {
        const std::int64_t first = parts.first(part), rows = parts.length(part);
        const float* const left = a.data + (a.transposed ? first : first * k);
        float* const to = c + first * n;
        if (by_one_dnn) {
            one_dnn().set_threads(1);
            const auto form = [](FloatMatrix matrix) { return matrix.transposed ? 'T' : 'N'; };
            if (one_dnn().sgemm(form(a), form(b), rows, n, k, 1.0F, left, a_stride, b.data, b_stride, keep, to, n) == 0)
                return;
        }
        const auto form = [](FloatMatrix matrix) { return matrix.transposed ? Blas::transposed : Blas::plain; };
        const auto extent = [](std::int64_t number) { return static_cast<int>(number); };
        sgemm(Blas::row_major, form(a), form(b), extent(rows), extent(n), extent(k), 1.0F, left, extent(a_stride),
              b.data, extent(b_stride), keep, to, extent(n));
    });
}

Result<std::string> one_dnn_file() {
    if (!one_dnn()) return Error{one_dnn().problem};
    Dl_info found{};
    const bool known = dladdr(reinterpret_cast<const void*>(one_dnn().version), &found) != 0 && found.dli_fname;
    return std::string(known ? found.dli_fname : "libdnnl.so");
}

std::string product_libraries() {
    const std::string others = blas() ? blas()->name : blas().error().message;
    if (!one_dnn()) return others;
    const OneDnn::Version& version = *one_dnn().version();
    return "oneDNN " + std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
           std::to_string(version.patch) + ", " + others;
}

}  // namespace hpo
