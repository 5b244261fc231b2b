// Matrix products in float32. OpenBLAS, or its replacement (blas.hpp), computes the small ones. For the others oneDNN
// is used where its library is installed (Debian: libdnnl2), since its kernels are faster: they are made for the CPU at
// hand, also for CPUs that OpenBLAS does not know.
#pragma once

#include <cstdint>
#include <string>

#include "hpo/result.hpp"
#include "worker/backends/cpu/thread_pool.hpp"
#include "worker/backends/tensor.hpp"

namespace hpo {

/// A dense row-major matrix of float32.
struct FloatMatrix {
    const float* data = nullptr;
    bool transposed = false;  ///< its transpose is multiplied
};

/// Needs blas(). Computes c [m, n] = a [m, k] * b [k, n], or adds it to c. The rows of c are cut into parts, since the
/// libraries round in another order where they cut a product themselves.
void multiply(ThreadPool& threads, std::int64_t m, std::int64_t n, std::int64_t k, FloatMatrix a, FloatMatrix b,
              float* c, Write write);

/// Returns the libraries that compute products, such as "oneDNN 2.6.3, OpenBLAS SkylakeX".
std::string product_libraries();

/// Returns the file of the oneDNN that is used, or why none is. The text is empty where it is left out on purpose: on
/// ARM64, where its float32 product is a plain loop, by HPO_ONEDNN=off, and by HPO_BLAS.
Result<std::string> one_dnn_file();

}  // namespace hpo
