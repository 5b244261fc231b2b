// Finds NVIDIA's Multi-Process Service (MPS): a daemon through which several processes compute on a GPU at the same
// time instead of in turns. CUDA finds it by the folder of its pipes. hpo uses a daemon that runs and never starts one.
//
// With MPS a fault of one process may end all processes that share the GPU.
#pragma once

#include <filesystem>
#include <optional>

namespace hpo {

/// Returns the folder of the pipes of a control daemon that runs: the one that CUDA_MPS_PIPE_DIRECTORY names, or the
/// usual one. `root` is prepended to all paths, for tests.
std::optional<std::filesystem::path> mps_pipes(const std::filesystem::path& root = "/");

}  // namespace hpo
