// Writes a trained model as a safetensors file: u64 length, a JSON header, the tensors' bytes; little-endian float32.
//
// Tensors: the model's parameters by their names (layers.0.weight [out, in], layers.0.bias [out], ...), and input.mean
// and input.deviation, both [1]: the model expects (value - mean) / deviation. __metadata__: format "hpo-model",
// version, classes, step, and configuration, a JSON object of every leaf key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

struct NamedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::span<const float> values;
};

/// Written beside its place, synced and renamed. Missing folders are an error, as is anything the system refuses.
Result<void> write_safetensors(const std::filesystem::path& file, const std::map<std::string, std::string>& metadata,
                               std::span<const NamedTensor> tensors);

}  // namespace hpo
