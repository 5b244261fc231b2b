// The CPU backend: oneDNN and OpenBLAS for matrix products, vectorised kernels for the rest, one thread. Operations run
// at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "worker/backends/backend.hpp"

namespace hpo {

/// Levels of the x86-64 architecture the kernels are compiled for; above x86_64 this CPU may lack them.
enum class CpuLevel { x86_64_v2, x86_64_v3, x86_64_v4 };

/// Those that this CPU has, in rising order; never empty.
std::vector<CpuLevel> cpu_levels();
std::string to_text(CpuLevel level);

/// A device on the best level this CPU has, or on `level`. Makes OpenBLAS use one thread. From here on the calling
/// thread, and those that it starts, take subnormal numbers for 0.
std::unique_ptr<Device> make_cpu_device(std::optional<CpuLevel> level = {});

/// What multiplies bfloat16 numbers: nothing, the dot products of AVX512-BF16, or AMX tiles.
enum class Bfloat16Unit { none, dots, tiles };

/// Returns the fastest unit of this CPU that the system lets this process use. Asks for it once.
Bfloat16Unit bfloat16_unit();

/// OpenBLAS chooses its kernels when it is loaded, and where it does not know the CPU it may fall back to AVX2 ones at
/// half the speed. Where the CPU has AVX-512 and the kernels chosen do not use it, this is the value OPENBLAS_CORETYPE
/// should have: set it in the environment and execute the program again. Empty where OpenBLAS chose well, and where
/// the variable is set already: then somebody else has chosen.
std::optional<std::string> better_blas_core();

}  // namespace hpo
