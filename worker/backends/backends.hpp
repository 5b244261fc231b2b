// The backends by name.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "worker/backends/backend.hpp"

namespace hpo {

/// The device that a worker is told to compute on.
struct BackendChoice {
    /// cpu, cuda or opencl; auto: CUDA where it works, else an OpenCL device that is not a CPU, else the CPU.
    std::string backend = "cpu";
    /// Number of the device among those of its backend: CUDA's as CUDA_VISIBLE_DEVICES shows them; OpenCL's in the
    /// order of platforms and their devices. Absent: the first, for OpenCL the first GPU. Not used for the CPU.
    std::optional<std::size_t> device;
};

/// Opens the device. An error names the missing part: the library, the driver, the device.
Result<std::unique_ptr<Device>> make_device(const BackendChoice& choice);

}  // namespace hpo
