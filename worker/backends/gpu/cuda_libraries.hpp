// Tells where the libraries of CUDA are found, for users who wonder why a GPU is slow or not used at all.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace hpo::gpu {

/// One JSON object in a line: `cuda`, `nvrtc` and `cublas`, each with `path` (links followed, so that it tells the
/// version) or `problem`; `cuda` with `version` too. Loads them, and touches no device.
std::string libraries_report();

/// The same, and of all other libraries of GPUs: `nvrtc_builtins`, which NVRTC loads by name when it compiles,
/// `opencl` and `clblast`.
nlohmann::json all_gpu_libraries();

}  // namespace hpo::gpu
