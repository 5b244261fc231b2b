// The kernels compiled for a CUDA device by NVRTC, CUDA's run-time compiler: a library that needs neither a driver nor
// a device. Loaded when it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::gpu {

/// Machine code for devices of compute capability `capability` (90 is 9.0), or, where the compiler is older than the
/// device, code that the driver translates. An error holds the compiler's messages.
Result<std::string> compile_for_cuda(int capability, int driver_major = 0);

/// The same, from a file of $XDG_CACHE_HOME/hpo (~/.cache/hpo) if it was compiled before. The file's name tells apart
/// the kernels, the capability, the driver's version, the compiler's, and its options. A cache that cannot be read or
/// written is done without.
/// `renew`: compiles again, and replaces the kept kernels.
Result<std::string> cached_for_cuda(int capability, int driver_version, bool renew = false);

/// The figures of ptxas, the last step of the compiler, for a kernel.
struct KernelResources {
    std::string name;
    int registers = 0;         ///< of a work-item
    int shared_bytes = 0;      ///< of a work-group
    std::int64_t spilled = 0;  ///< bytes of registers that are written to memory and read again; 0 is best
    friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

/// Reads the output of ptxas -v. Lines of another form are left out.
std::vector<KernelResources> read_ptxas(const std::string& text);

/// The kernels' resources on devices of compute capability `capability`. Needs neither a driver nor a device.
Result<std::vector<KernelResources>> kernel_resources(int capability);

}  // namespace hpo::gpu
