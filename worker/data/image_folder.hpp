// A folder of images by class: CLASS/FILE, or train/CLASS/FILE and test/CLASS/FILE. All have the same size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

struct ImageFolder {
    std::vector<std::string> classes;  ///< names of folders, in alphabetical order
    std::vector<std::filesystem::path> files;
    std::vector<std::int32_t> labels;         ///< of each file: indices into classes
    std::int64_t tests = 0;                   ///< the last images, if there is a folder for testing; else 0
    std::int64_t validations = 0;             ///< the images before them, if there is a folder for validation; else 0
    std::string validation_folder;            ///< its name
    std::int64_t others = 0;                  ///< files that are no images
    std::vector<std::string> empty_folders;   ///< names of folders without images, which are no classes
    ImageShape shape;                         ///< three channels if any image has them
    SplitKind split = SplitKind::stratified;  ///< never automatic

    /// All but those of a folder for testing.
    [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(files.size()) - tests; }
};

/// Finds the images below config.path and reads their sizes, unless the folders are the ones that were read last,
/// unchanged. Errors name the key, or the file; of images that differ in size, two files.
Result<const ImageFolder*> survey_images(const DataConfig& config);

// The format "images" (dataset.hpp).
Result<DataShape> describe_images(const DataConfig& config);
Result<DataFacts> load_images(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_images(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);
Result<std::vector<std::string>> explain_images(const DataConfig& config);
Result<std::unique_ptr<SampleReader>> open_images(const DataConfig& config, std::uint64_t data_seed);

}  // namespace hpo
