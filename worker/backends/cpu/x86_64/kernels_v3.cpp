#define HPO_KERNEL_TABLE kernels_v3
#include "worker/backends/cpu/kernels_body.hpp"
