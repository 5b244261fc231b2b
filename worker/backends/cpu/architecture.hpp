// The parts of the CPU backend that differ between architectures. A folder x86_64/ or aarch64/ implements this header
// and bfloat16.hpp, and compiles the kernels for the levels of its architecture.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

struct Kernels;

/// A level of the architecture that the kernels are compiled for, such as x86-64-v3.
struct CpuLevel {
    std::string_view name;
    const Kernels* kernels;
};

/// The levels that this CPU has, in rising order. Every CPU has the first one.
std::vector<CpuLevel> cpu_levels();

/// Instructions for products of bfloat16 numbers: none, on vector registers, or on AMX tiles.
enum class Bfloat16Unit { none, vectors, tiles };

/// Returns the fastest unit of this CPU that the system lets this process use. Asks for it once. Only a CPU with the
/// highest level has one.
Bfloat16Unit bfloat16_unit();

/// The name of the extension that the unit is on this architecture; empty for none.
std::string_view to_text(Bfloat16Unit unit);

/// Makes subnormal results 0 and reads subnormal operands as 0 from now on, in this thread and those that it starts.
void flush_subnormals();

/// OpenBLAS chooses its kernels when it is loaded, and where it does not know an x86 CPU it may fall back to AVX2 ones
/// at half the speed. Where the CPU has AVX-512 and the chosen kernels do not use it, returns the value that
/// OPENBLAS_CORETYPE should have: set it in the environment and execute the program again. Empty where OpenBLAS chose
/// well, and where the user has set the variable. Always empty on ARM, where no choice of OpenBLAS has been measured.
std::optional<std::string> better_blas_core();

}  // namespace hpo
