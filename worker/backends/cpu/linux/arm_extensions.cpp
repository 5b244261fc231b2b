#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "worker/backends/cpu/aarch64/extensions.hpp"

namespace hpo::aarch64 {

Extensions extensions() {
    return {.sve = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0, .bf16 = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0};
}

}  // namespace hpo::aarch64
#endif
