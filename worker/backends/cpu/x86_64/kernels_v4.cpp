#define HPO_KERNEL_TABLE kernels_v4
#include "worker/backends/cpu/kernels_body.hpp"
