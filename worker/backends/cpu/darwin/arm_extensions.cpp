#include <sys/sysctl.h>

#include <cstddef>

#include "worker/backends/cpu/aarch64/extensions.hpp"

namespace hpo::aarch64 {

/// No processor of Apple has scalable vectors outside of the streaming mode of its matrix unit, which is not used.
Extensions extensions() {
    int bf16 = 0;
    std::size_t size = sizeof bf16;
    const bool told = ::sysctlbyname("hw.optional.arm.FEAT_BF16", &bf16, &size, nullptr, 0) == 0;
    return {.sve = false, .bf16 = told && bf16 == 1};
}

}  // namespace hpo::aarch64
