// What a worker's environment says about threads and memory.
#pragma once

#include <map>
#include <string>

namespace hpo {

/// For a worker that may use `cores` cores (rounded, at least 1): as many threads in OpenMP (PyTorch's too), OpenBLAS,
/// MKL, numexpr, Numba, TensorFlow and Accelerate; glibc's allocator keeps what it has got, so that big buffers are not
/// mapped and cleared at each use; Python's output comes line by line.
std::map<std::string, std::string> worker_environment(double cores);

}  // namespace hpo
