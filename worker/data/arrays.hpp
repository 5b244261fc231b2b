// Data sets of NumPy arrays: features and targets, each an array whose first dimension counts the samples.
//
// By their dimensions, features are rows of a table (n, columns), images (n, height, width) of unsigned bytes or
// (n, height, width, channels), or sequences (n, steps, columns). Images become numbers as pixels do in every format
// (device_data.hpp); the columns of tables and sequences are standardised one by one, by the training samples. Targets
// are classes if they are integers or task: classification, else numbers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/npy_reader.hpp"

namespace hpo {

/// Names by which arrays of features and targets are found, for training and for testing.
struct ArrayNames {
    std::string_view inputs, targets, test_inputs, test_targets;  ///< empty: there is no name for testing
};
inline constexpr std::array usual_names{
    ArrayNames{"x_train", "y_train", "x_test", "y_test"},
    ArrayNames{"X_train", "y_train", "X_test", "y_test"},
    ArrayNames{"train_images", "train_labels", "test_images", "test_labels"},
    ArrayNames{"x", "y", "", ""},
    ArrayNames{"X", "y", "", ""},
    ArrayNames{"images", "labels", "", ""},
    ArrayNames{"features", "labels", "", ""},
    ArrayNames{"features", "targets", "", ""},
};

/// Features with their targets.
struct ArrayPair {
    ArrayPlace inputs, targets;
    NpyHeader inputs_header, targets_header;

    [[nodiscard]] std::int64_t rows() const { return inputs_header.shape[0]; }
};

struct ArrayData {
    ArrayPair train;
    std::optional<ArrayPair> test;  ///< none: a part of `train` is held out for testing
    SampleShape sample;
    bool pixels = false;
    Task task = Task::classification;
    SplitKind split = SplitKind::random;  ///< never automatic
    std::vector<std::int64_t> classes;    ///< the distinct labels, in ascending order
    std::int64_t outputs = 0;
    // The targets of the rows of `train`, then of `test`: indices into classes, or `outputs` numbers each.
    std::vector<std::int32_t> labels;
    std::vector<double> numbers;

    /// Returns the number of columns, each of which is standardised by its own mean; 0 for images.
    [[nodiscard]] std::int64_t columns() const;
};

/// Finds the arrays that config.path, config.inputs and config.labels name, and reads their headers and targets. If the
/// files are those of the previous call, unchanged, returns its result. Errors name the key, or the file and the place
/// in it.
Result<const ArrayData*> survey_arrays(const DataConfig& config);

/// Returns the name of the array of features that belongs to the targets `targets` of an archive or a folder: by their
/// usual names, otherwise the only other array. Returns an empty name for a single NPY file. An Error lists the arrays.
Result<std::string> inputs_for(const std::filesystem::path& path, std::string_view targets);

/// Returns the number of rows of the training arrays that are held out for testing: 0 if there are test arrays.
std::int64_t test_rows_of(const DataConfig& config, const ArrayData& data);

/// Counts the samples of each class in the training arrays.
std::vector<ClassCount> count_classes(const ArrayData& data);

/// Warns, after reading all features of a table, of columns that are all the same or give the target away, and of
/// classes that are rare. Errors name the file.
Result<std::vector<std::string>> array_warnings(const ArrayData& data);

// The format "npy" (dataset.hpp).
Result<DataShape> describe_npy(const DataConfig& config);
Result<DataFacts> load_npy(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_npy(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);
Result<std::vector<std::string>> explain_npy(const DataConfig& config);
Result<std::unique_ptr<SampleReader>> open_npy(const DataConfig& config, std::uint64_t data_seed);

}  // namespace hpo
