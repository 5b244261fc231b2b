#define HPO_KERNEL_TABLE kernels_v2
#include "worker/backends/cpu/kernels_body.hpp"
