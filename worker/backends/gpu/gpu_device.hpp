// The GPU backend: the operations as launches of kernels on a runtime, OpenCL's or CUDA's.
#pragma once

#include <memory>

#include "worker/backends/backend.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

namespace hpo::gpu {

/// Everything on `runtime`.
std::unique_ptr<Device> make_device(std::unique_ptr<Runtime> runtime);

}  // namespace hpo::gpu
