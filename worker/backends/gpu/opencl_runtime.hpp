// OpenCL 1.2 or later on any device, its library loaded at run time: the system's libOpenCL.so.1, which finds the
// drivers, or the one that HPO_OPENCL_LIBRARY names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/backends/gpu/gpu_runtime.hpp"

namespace hpo::gpu {

struct OpenClDevice {
    std::string name;
    bool is_cpu = false;
    std::size_t memory_bytes = 0;
};

/// All devices of all platforms, in the library's order. An error: there is no library, or no device.
Result<std::vector<OpenClDevice>> opencl_devices();

/// The implementation of matrix products.
enum class Products {
    automatic,  ///< CLBlast on a GPU where it is installed and works, else the kernels: CLBlast compiles for half a
                ///< minute on PoCL. It takes no memory in addition to the arena; it compiles its kernels when it is
                ///< opened
    kernels,
    clblast,
};

/// Opens the device with this number; by default the first GPU, otherwise the first accelerator, otherwise the first
/// device. The driver caches compiled kernels where it can.
Result<std::unique_ptr<Runtime>> open_opencl(std::optional<std::size_t> device = {},
                                             Products products = Products::automatic);

}  // namespace hpo::gpu
