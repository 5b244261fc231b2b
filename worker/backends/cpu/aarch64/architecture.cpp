#include "worker/backends/cpu/architecture.hpp"

#include <cstdint>

#include "worker/backends/cpu/aarch64/extensions.hpp"
#include "worker/backends/cpu/kernels.hpp"

namespace hpo {

extern const Kernels kernels_neon;
extern const Kernels kernels_sve;

std::vector<CpuLevel> cpu_levels() {
    std::vector<CpuLevel> levels{{"armv8-a", &kernels_neon}};
    if (aarch64::extensions().sve) levels.push_back({"armv8-a+sve", &kernels_sve});
    return levels;
}

Bfloat16Unit bfloat16_unit() { return aarch64::extensions().bf16 ? Bfloat16Unit::vectors : Bfloat16Unit::none; }

std::string_view to_text(Bfloat16Unit unit) { return unit == Bfloat16Unit::none ? "" : "BF16"; }

void flush_subnormals() {
    constexpr std::uint64_t flush_to_zero = 1U << 24;  // of FPCR; for operands and results
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("msr fpcr, %0" : : "r"(control | flush_to_zero));
}

std::optional<std::string> better_blas_core() { return {}; }

}  // namespace hpo
