// The CPU backend: oneDNN and OpenBLAS for matrix products, vectorised kernels for the rest. Operations run at once, on
// one thread unless use_cores() gives more.
#pragma once

#include <memory>
#include <optional>

#include "worker/backends/backend.hpp"
#include "worker/backends/cpu/architecture.hpp"

namespace hpo {

/// A device on the best level this CPU has, or on `level`. Makes OpenBLAS use one thread. From here on the calling
/// thread, and those that it starts, take subnormal numbers for 0.
std::unique_ptr<Device> make_cpu_device(std::optional<CpuLevel> level = {});

}  // namespace hpo
