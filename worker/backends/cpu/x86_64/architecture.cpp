#include "worker/backends/cpu/architecture.hpp"

#include <cblas.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <cstdlib>

#include "worker/backends/cpu/kernels.hpp"

namespace hpo {

extern const Kernels kernels_v2;
extern const Kernels kernels_v3;
extern const Kernels kernels_v4;

std::vector<CpuLevel> cpu_levels() {
    __builtin_cpu_init();
    std::vector<CpuLevel> levels{{"x86-64-v2", &kernels_v2}};
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return levels;
    levels.push_back({"x86-64-v3", &kernels_v3});
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return levels;
    levels.push_back({"x86-64-v4", &kernels_v4});
    return levels;
}

namespace {

bool has_avx512() { return cpu_levels().back().kernels == &kernels_v4; }

Bfloat16Unit ask_for_bfloat16() {
    using enum Bfloat16Unit;
    if (!has_avx512()) return none;  // the code is compiled for this level
    constexpr unsigned amx_tile = 1U << 24, amx_bf16 = 1U << 22, avx512_bf16 = 1U << 5;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a & avx512_bf16) == 0) return none;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & amx_tile) == 0 || (d & amx_bf16) == 0) return vectors;
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? tiles : vectors;
}

}  // namespace

Bfloat16Unit bfloat16_unit() {
    static const Bfloat16Unit unit = ask_for_bfloat16();
    return unit;
}

std::string_view to_text(Bfloat16Unit unit) {
    switch (unit) {
        case Bfloat16Unit::tiles:
            return "AMX";
        case Bfloat16Unit::vectors:
            return "AVX512-BF16";
        default:
            return "";
    }
}

void flush_subnormals() {
    constexpr unsigned flush_to_zero = 0x8000, subnormals_are_zero = 0x0040;  // of MXCSR
    _mm_setcsr(_mm_getcsr() | flush_to_zero | subnormals_are_zero);
}

std::optional<std::string> better_blas_core() {
    constexpr std::string_view avx512_cores[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    if (!has_avx512() || std::getenv("OPENBLAS_CORETYPE")) return {};
    for (const auto core : avx512_cores)
        if (core == openblas_get_corename()) return {};
    return "SkylakeX";
}

}  // namespace hpo
