// The devices of this machine that every operation is tested on.
#pragma once

#include <span>

#include "worker/backends/backend.hpp"

namespace hpo::test {

struct Present {
    Device* device;
    /// Whether a replica alone leaves the same bits as among others; not promised by libraries of matrix products,
    /// which choose how to compute by the number of products.
    bool same_bits = true;
};

/// Every level of the CPU; an OpenCL device, with the kernels' own products, and with CLBlast's where it is a GPU or
/// the environment has HPO_TEST_CLBLAST; a CUDA device. With HPO_TEST_BACKEND those of that backend alone, one at
/// least. Opened once a process.
std::span<const Present> present_devices();

}  // namespace hpo::test
