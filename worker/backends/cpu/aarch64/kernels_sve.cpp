#define HPO_KERNEL_TABLE kernels_sve
#include "worker/backends/cpu/kernels_body.hpp"
