#include "worker/backends/cpu/cpu_device.hpp"

#include <cblas.h>
#include <cpuid.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "worker/backends/cpu/cpu_stream.hpp"
#include "worker/backends/cpu/products.hpp"

namespace hpo {
namespace {

const Kernels& kernels_of(CpuLevel level) {
    switch (level) {
        case CpuLevel::x86_64_v4:
            return kernels_v4;
        case CpuLevel::x86_64_v3:
            return kernels_v3;
        default:
            return kernels_v2;
    }
}

/// Subnormal results become 0, and subnormal operands are read as 0 (FTZ and DAZ of MXCSR). The tails of GELU and the
/// moments of dead units contain many of them, and on some CPUs each costs a hundred cycles or more: training with GELU
/// was measured to be 40 times slower. Numbers below 1e-38 do not influence the result.
void flush_subnormals() {
    constexpr unsigned flush_to_zero = 0x8000, subnormals_are_zero = 0x0040;
    _mm_setcsr(_mm_getcsr() | flush_to_zero | subnormals_are_zero);
}

class CpuDevice : public Device {
   public:
    explicit CpuDevice(CpuLevel level)
        : level_(level), bfloat16_(level == CpuLevel::x86_64_v4 ? bfloat16_unit() : Bfloat16Unit::none) {
        openblas_set_num_threads(1);
        flush_subnormals();
    }

    [[nodiscard]] std::string_view backend() const override { return "cpu"; }
    [[nodiscard]] std::string name() const override {
        return "cpu, " + to_text(level_) +
               (bfloat16_ == Bfloat16Unit::tiles  ? ", AMX"
                : bfloat16_ == Bfloat16Unit::dots ? ", AVX512-BF16"
                                                  : "") +
               ", " + product_libraries();
    }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        if (precision == Precision::float32) return {};
        if (precision != Precision::bfloat16)
            return Error{"the CPU backend multiplies in float32, and in bfloat16 where the CPU has AMX or AVX512-BF16"};
        if (bfloat16_ == Bfloat16Unit::none)
            return Error{"this CPU multiplies only in float32: bfloat16 needs AMX or AVX512-BF16"};
        return {};
    }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
        auto buffer = std::make_unique<CpuBuffer>(bytes);
        if (bytes > 0 && !buffer->data()) return Error{"not enough memory for " + std::to_string(bytes) + " bytes"};
        return std::unique_ptr<Buffer>(std::move(buffer));
    }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override {
        return std::make_unique<CpuStream>(kernels_of(level_), static_cast<CpuBuffer&>(arena), replicas);
    }

   private:
    CpuLevel level_;
    Bfloat16Unit bfloat16_;
};

}  // namespace

namespace {

/// Asks for huge pages of 2 MiB: the first access to a large arena is ten times as fast, and its matrices cause fewer
/// TLB misses. Where the system refuses, the arena has ordinary pages.
void prefer_huge_pages(std::byte* data, std::size_t bytes) {
    constexpr std::uintptr_t huge = 2u << 20;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t first = (begin + huge - 1) / huge * huge;
    const std::uintptr_t last = (begin + bytes) / huge * huge;
    if (last > first) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace

CpuBuffer::CpuBuffer(std::size_t bytes)
    : bytes_(bytes), data_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}, std::nothrow))) {
    if (!data_) return;
    prefer_huge_pages(data_, bytes);
    std::memset(data_, 0, bytes);  // maps the pages now, so that the first step has no page faults
}

CpuBuffer::~CpuBuffer() { ::operator delete (data_, std::align_val_t{alignment}); }

std::vector<CpuLevel> cpu_levels() {
    __builtin_cpu_init();
    std::vector<CpuLevel> levels{CpuLevel::x86_64_v2};
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return levels;
    levels.push_back(CpuLevel::x86_64_v3);
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return levels;
    levels.push_back(CpuLevel::x86_64_v4);
    return levels;
}

std::string to_text(CpuLevel level) {
    switch (level) {
        case CpuLevel::x86_64_v4:
            return "x86-64-v4";
        case CpuLevel::x86_64_v3:
            return "x86-64-v3";
        default:
            return "x86-64-v2";
    }
}

namespace {

Bfloat16Unit ask_for_bfloat16() {
    using enum Bfloat16Unit;
    if (cpu_levels().back() != CpuLevel::x86_64_v4) return none;  // the code is compiled for this level
    constexpr unsigned amx_tile = 1U << 24, amx_bf16 = 1U << 22, avx512_bf16 = 1U << 5;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a & avx512_bf16) == 0) return none;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & amx_tile) == 0 || (d & amx_bf16) == 0) return dots;
    constexpr int request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0 ? tiles : dots;
}

}  // namespace

Bfloat16Unit bfloat16_unit() {
    static const Bfloat16Unit unit = ask_for_bfloat16();
    return unit;
}

std::unique_ptr<Device> make_cpu_device(std::optional<CpuLevel> level) {
    return std::make_unique<CpuDevice>(level.value_or(cpu_levels().back()));
}

std::optional<std::string> better_blas_core() {
    constexpr std::string_view avx512_cores[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    if (cpu_levels().back() != CpuLevel::x86_64_v4 || std::getenv("OPENBLAS_CORETYPE")) return {};
    for (const auto core : avx512_cores)
        if (core == openblas_get_corename()) return {};
    return "SkylakeX";
}

}  // namespace hpo
