// Loads libraries of the CUDA toolkit (NVRTC, cuBLAS) from any place where they are installed: with the system, below
// CUDA_HOME, or as Python wheels. A library that is loaded by its path finds its own dependencies by name (NVRTC its
// builtins, cuBLAS its other half) only where the loader looks; so the dependency is loaded first, from the same
// folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/backends/library.hpp"

namespace hpo::gpu {

/// Opens a library of the CUDA toolkit (`stem`: nvrtc, cublas), of the driver's major version if it is there (0:
/// unknown), else of another: where the loader finds it, else in toolkit_folders(). The error names the package to
/// install, or says why a library that is there does not load.
Result<Library> open_toolkit_library(const std::string& stem, int driver_major);

/// Folders that are there and may hold the toolkit's libraries, in the order in which they are looked through: below
/// $CUDA_HOME and $CUDA_PATH (lib64, lib, targets/*/lib); wheels (site-packages/nvidia/*/lib, CUDA 13: nvidia/cu13/lib)
/// of $VIRTUAL_ENV, $CONDA_PREFIX and each program folder of $PATH; /usr/local/cuda, /usr/local/cuda-* (the newest
/// first), /opt/cuda; then wheels of ~/.local and the system's Python.
std::vector<std::filesystem::path> toolkit_folders();

}  // namespace hpo::gpu
