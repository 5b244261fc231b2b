// The devices of this machine on which every operation is tested.
#pragma once

#include <span>

#include "worker/backends/backend.hpp"

namespace hpo::test {

struct Present {
    Device* device;
    /// True if a replica has the same bits alone and among others. Libraries of matrix products do not promise this,
    /// since they choose an algorithm by the number of products.
    bool same_bits = true;
};

/// Returns every level of the CPU, an OpenCL device and a CUDA device. The OpenCL device is tested with hpo's kernels
/// for matrix products, and with CLBlast's if it is a GPU or HPO_TEST_CLBLAST is set. If HPO_TEST_BACKEND is set, only
/// the devices of that backend are returned, at least one. Devices are opened once in a process.
std::span<const Present> present_devices();

}  // namespace hpo::test
