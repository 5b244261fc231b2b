// Writes and reads a trained model as a safetensors file: u64 length, a JSON header, the tensors' bytes; little-endian
// float32.
//
// Tensors: the model's parameters by their names (layers.0.weight [out, in], layers.0.bias [out], ...; of a convolution
// network those of cnn.cpp, with weights [out, height, width, in] for images with channels last; of a transformer those
// of transformer.cpp, where projections are the queries of all heads, then their keys, then their values, and the first
// half of up is the one that SwiGLU's silu applies to), and input.mean and input.deviation, both [1]: the model expects
// (value - mean) / deviation. Batch norms use NAME.norm.running_mean and NAME.norm.running_var, an unbiased variance.
// embeddings.N.weight [levels, numbers] is for the Nth categorical column of a table: the features of its levels are
// replaced by the row of the level that is 1. __metadata__: format "hpo-model", version, task, classes (or outputs, in
// regression), step, configuration, a JSON object of
// every leaf key, and input, the shape of a sample (sample_json.hpp).
//
// For a table there is also encoding, a JSON object that describes how a row becomes the model's input: its `columns`,
// in the order of the features. A number becomes (value - mean) / deviation; if the column has a `median`, that stands
// in for a missing value, and a second feature is 1 where it is missing, else 0. A category becomes a 1 at its place in
// `levels` and 0 at the others, or, if it is not there, a 1 at one more place behind them; a missing category is the
// level "". `target` has the names of the `classes` in the order of the outputs, or the `mean` and the `deviation` by
// which an output is to be scaled back. For windows over a series encoding has `window` and `horizon`, the `columns`
// with the `mean` and the `deviation` by which each row of a window is scaled, and the `targets` in the same form: the
// outputs are those of the first row after the window, then those of the next one. For arrays of NumPy it has `columns`
// for tables and sequences, and `target` with `classes` or `targets` with scales, one for each output. For texts and
// tokens it has `window` and `vocabulary`; `bytes` of a text are the bytes in the order of their tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

struct NamedTensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::span<const float> values;
};

/// Writes the file under a temporary name in the same folder, syncs and renames it. The error names the file and the
/// system's reason; a missing folder is an error.
Result<void> write_safetensors(const std::filesystem::path& file, const std::map<std::string, std::string>& metadata,
                               std::span<const NamedTensor> tensors);

/// A tensor of a file that was read.
struct StoredTensor {
    std::vector<std::int64_t> shape;
    std::vector<float> values;
};

struct Safetensors {
    std::map<std::string, std::string> metadata;
    std::map<std::string, StoredTensor, std::less<>> tensors;
};

/// Reads the bytes of a whole file. Errors name the flaw, not the file: a truncated file, a header that is no JSON or
/// longer than 100 MB, a tensor that is not of type F32 or whose bytes do not match its shape.
Result<Safetensors> parse_safetensors(std::string_view bytes);

}  // namespace hpo
