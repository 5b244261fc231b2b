// NVIDIA GPUs through CUDA's driver interface, cuBLAS and NVRTC, all loaded at run time: from the driver (libcuda.so.1)
// and from the toolkit's libraries of the driver's major version, CUDA 11.2 or later.
#pragma once

#include <memory>
#include <optional>

#include "hpo/result.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

namespace hpo::gpu {

/// The device of that number among those CUDA shows (CUDA_VISIBLE_DEVICES), else the first. Without cuBLAS the kernels
/// compute matrix products. An error names the missing part: a driver, a device, a newer driver, the compiler.
Result<std::unique_ptr<Runtime>> open_cuda(std::optional<std::size_t> device = {});

}  // namespace hpo::gpu
