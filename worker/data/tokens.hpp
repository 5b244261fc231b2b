// Texts, byte by byte, and files of tokens: samples are windows, and each token's target is the next one.
//
// text: each different byte of the file is a token, in ascending order.
// tokens: little-endian numbers of 16 bits, and nothing else (as nanoGPT writes them), or behind a header of 256
// numbers of 32 bits: 20240520, the version 1, and how many tokens there are (as llm.c writes them). A folder has
// train.bin and val.bin; the latter tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/windows.hpp"

namespace hpo {

struct TokenFile {
    std::filesystem::path file;
    std::int64_t begin = 0;  ///< byte of the first token
    std::int64_t width = 1;  ///< bytes of a token: 1 or 2
    std::int64_t count = 0;  ///< of tokens
};

struct TokenData {
    TokenFile train;
    std::optional<TokenFile> test;    ///< none: a part of `train` tests
    std::vector<std::uint8_t> bytes;  ///< of a text, by token
    std::int64_t vocabulary = 0;
};

/// Finds the tokens of a file with these bytes. Errors do not name the file.
Result<TokenFile> find_tokens(const std::filesystem::path& file, std::span<const std::byte> bytes, bool text);

/// Reads the whole file that config.path names, unless the last one is the same, unchanged. Errors name the key, or the
/// file and the place in it: a token beyond config.vocabulary is one.
Result<const TokenData*> survey_tokens(const DataConfig& config);

// The formats "text" and "tokens" (dataset.hpp), by config.format.
Result<DataShape> describe_tokens(const DataConfig& config);
Result<DataFacts> load_tokens(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_tokens(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);
Result<std::vector<std::string>> explain_tokens(const DataConfig& config);
Result<std::unique_ptr<SampleReader>> open_tokens(const DataConfig& config, std::uint64_t data_seed);

}  // namespace hpo
