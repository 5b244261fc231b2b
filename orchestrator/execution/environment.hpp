// The environment variables that set how many threads and how much memory a worker's libraries use.
#pragma once

#include <map>
#include <string>

namespace hpo {

/// Returns the variables for a worker that may use `cores` cores (rounded, at least 1). They set this number of threads
/// for OpenMP (also PyTorch's), OpenBLAS, MKL, numexpr, Numba, TensorFlow and Accelerate. They make glibc's allocator
/// keep the memory that it has, so that big buffers are not mapped and cleared at each use, and Python flush each line.
std::map<std::string, std::string> worker_environment(double cores);

}  // namespace hpo
