#include "worker/backends/cpu/cpu_device.hpp"

#include <cstdint>
#include <cstring>
#include <new>

#include "os/memory.hpp"
#include "worker/backends/cpu/cpu_stream.hpp"
#include "worker/backends/cpu/products.hpp"

namespace hpo {
namespace {

class CpuDevice : public Device {
   public:
    explicit CpuDevice(const CpuLevel& level)
        : level_(level),
          bfloat16_(level.kernels == cpu_levels().back().kernels ? bfloat16_unit() : Bfloat16Unit::none) {
        // The tails of GELU and the moments of dead units contain many subnormal numbers, and on some CPUs each costs a
        // hundred cycles or more: training with GELU was measured to be 40 times slower. Numbers below 1e-38 do not
        // influence the result.
        flush_subnormals();
    }

    [[nodiscard]] std::string_view backend() const override { return "cpu"; }
    [[nodiscard]] std::string name() const override {
        std::string name = "cpu, " + std::string(level_.name);
        if (bfloat16_ != Bfloat16Unit::none) name += ", " + std::string(to_text(bfloat16_));
        return name + ", " + product_libraries();
    }
    [[nodiscard]] Result<void> computes_in(Precision precision) const override {
        if (precision == Precision::float32) return {};
        if (precision != Precision::bfloat16)
            return Error{
                "the CPU backend multiplies in float32, and in bfloat16 where the CPU has AMX, AVX512-BF16 or the "
                "BF16 extension of ARM"};
        if (bfloat16_ == Bfloat16Unit::none)
            return Error{
                "this CPU multiplies only in float32: bfloat16 needs AMX, AVX512-BF16 or the BF16 extension of ARM"};
        return {};
    }
    Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
        auto buffer = std::make_unique<CpuBuffer>(bytes);
        if (bytes > 0 && !buffer->data()) return Error{"not enough memory for " + std::to_string(bytes) + " bytes"};
        return std::unique_ptr<Buffer>(std::move(buffer));
    }
    void use_cores(std::span<const int> cores) override { threads_.use(cores); }
    std::unique_ptr<Stream> stream(Buffer& arena, int replicas) override {
        return std::make_unique<CpuStream>(*level_.kernels, threads_, static_cast<CpuBuffer&>(arena), replicas);
    }

   private:
    CpuLevel level_;
    Bfloat16Unit bfloat16_;
    ThreadPool threads_;
};

/// Asks for huge pages of 2 MiB: the first access to a large arena is ten times as fast, and its matrices cause fewer
/// TLB misses. Where the system refuses, or has huge pages of another size, the arena has ordinary pages.
void prefer_huge_pages(std::byte* data, std::size_t bytes) {
    constexpr std::uintptr_t huge = 2u << 20;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t first = (begin + huge - 1) / huge * huge;
    const std::uintptr_t last = (begin + bytes) / huge * huge;
    if (last > first) os::prefer_large_pages(reinterpret_cast<void*>(first), last - first);
}

}  // namespace

CpuBuffer::CpuBuffer(std::size_t bytes)
    : bytes_(bytes), data_(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}, std::nothrow))) {
    if (!data_) return;
    prefer_huge_pages(data_, bytes);
    std::memset(data_, 0, bytes);  // maps the pages now, so that the first step has no page faults
}

CpuBuffer::~CpuBuffer() { ::operator delete (data_, std::align_val_t{alignment}); }

std::unique_ptr<Device> make_cpu_device(std::optional<CpuLevel> level) {
    return std::make_unique<CpuDevice>(level.value_or(cpu_levels().back()));
}

}  // namespace hpo
