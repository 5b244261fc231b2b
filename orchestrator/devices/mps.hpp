// NVIDIA's Multi-Process Service: a daemon through which several processes compute on a GPU at once, instead of taking
// turns. CUDA finds it by the folder of its pipes. hpo uses one that runs and never starts one.
//
// Its price: a fault of one process may end all that share the GPU.
#pragma once

#include <filesystem>
#include <optional>

namespace hpo {

/// The folder of the pipes of a control daemon that lives: the one that CUDA_MPS_PIPE_DIRECTORY names, or the usual
/// one. `root`: of the file system, for tests.
std::optional<std::filesystem::path> mps_pipes(const std::filesystem::path& root = "/");

}  // namespace hpo
