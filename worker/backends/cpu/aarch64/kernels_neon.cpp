#define HPO_KERNEL_TABLE kernels_neon
#include "worker/backends/cpu/kernels_body.hpp"
