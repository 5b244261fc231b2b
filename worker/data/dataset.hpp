// Samples with their targets: where they come from (one registry of formats), and how they get into a device's memory.
// Loading streams: no second copy of the samples is made on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/tasks.hpp"
#include "hpo/worker_key_defaults.hpp"

namespace hpo {

/// The place of the samples while trials train. staged: the host's memory, from which each batch is copied.
enum class Placement : std::uint8_t { automatic, device, staged, files };

/// Returns true if batches come from the host or from files. Undecided data lies in the device's memory.
constexpr bool is_staged(Placement placement) {
    return placement == Placement::staged || placement == Placement::files;
}

/// The division of samples. automatic: stratified where targets are classes, else random.
enum class SplitKind : std::uint8_t { automatic, random, stratified, time };

/// The task and the `data` section of a native worker's configuration (worker_keys.hpp documents the keys).
struct DataConfig {
    std::optional<Task> task;  ///< none: decided by the targets
    std::string format = "idx";
    std::string path;
    std::string target;       ///< name of a column; of a series, names as a line of CSV
    std::string ignore;       ///< names of columns, as a line of CSV
    std::string categorical;  ///< the same
    std::string inputs;       ///< name of an array
    std::string labels;       ///< name of an array, or an NPY file
    SplitKind split = SplitKind::automatic;
    double test = 0.1;        ///< fraction of the rows of a table
    std::int64_t window = 0;  ///< rows of a series, or tokens, that are a sample
    std::int64_t horizon = default_whole("horizon");
    std::int64_t stride = 0;  ///< 0: 1 row of a series, or a window of tokens
    double validation = default_number("validation");
    std::int64_t folds = 0;   ///< 0: one split, by `validation`
    std::int64_t fold = 0;    ///< with folds: the one that validates
    std::string group;        ///< name of a column; rows with the same value are in the same part
    std::int64_t subset = 0;  ///< 0: all
    std::int64_t samples = default_whole("samples");
    std::int64_t features = default_whole("features");
    std::int64_t steps = 0;       ///< of a sample that is a sequence; 0: samples are vectors
    std::int64_t vocabulary = 0;  ///< of sequences of tokens; 0: numbers in each step, or the vocabulary of the file
    std::int64_t classes = default_whole("classes");
    double noise = default_number("noise");
    Placement placement = Placement::automatic;  ///< settled before data is loaded: never automatic
    friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

/// The meaning of a sample's numbers, in the order in which they lie.
struct VectorShape {
    std::int64_t features = 0;
    friend bool operator==(const VectorShape&, const VectorShape&) = default;
};
/// Row by row, channels last.
struct ImageShape {
    std::int64_t height = 0, width = 0, channels = 1;
    friend bool operator==(const ImageShape&, const ImageShape&) = default;
};
/// Step by step.
struct SequenceShape {
    std::int64_t steps = 0, features = 0;
    friend bool operator==(const SequenceShape&, const SequenceShape&) = default;
};
/// One number for each step: which token it is, from 0 to vocabulary - 1, as a float. DataShape::standardised is true.
struct TokenShape {
    std::int64_t steps = 0, vocabulary = 0;
    friend bool operator==(const TokenShape&, const TokenShape&) = default;
};
/// The features of a vector that are the levels of one categorical column: the one that a sample has is 1, the others
/// are 0.
struct CategoryShape {
    std::int64_t first = 0, levels = 0;
    friend bool operator==(const CategoryShape&, const CategoryShape&) = default;
};
using SampleShape = std::variant<VectorShape, ImageShape, SequenceShape, TokenShape>;

/// Rows of the training part: the ones to train on and the ones to validate.
struct Split {
    std::vector<std::int32_t> train;
    std::vector<std::int32_t> validation;
};

/// Numbers of rows of the training part. With folds, each fold validates once, while the others train.
struct SplitSizes {
    std::int64_t train = 0, validation = 0;  ///< with folds of different sizes: of the largest fold
    int folds = 1;
    // Only for folds of different sizes:
    std::int64_t least_train = 0;  ///< of the smallest fold
    std::int64_t mean_train = 0;   ///< over the folds
    friend bool operator==(const SplitSizes&, const SplitSizes&) = default;

    /// Samples of an epoch, which all folds of a trial end together.
    [[nodiscard]] std::int64_t epoch() const { return mean_train > 0 ? mean_train : train; }
    /// The largest number of samples of a batch.
    [[nodiscard]] std::int64_t least() const { return least_train > 0 ? least_train : train; }
};

/// Facts known without loading the samples.
struct DataShape {
    std::int64_t train = 0;  ///< samples of the training part, before subset and split
    std::int64_t test = 0;
    SampleShape sample;
    Task task = Task::classification;
    std::int64_t outputs = 0;        ///< of a model: one for each class, or the numbers to predict
    bool pixels = false;             ///< a feature is an unsigned byte; else a float
    bool standardised = false;       ///< features are used as they are given
    std::int64_t loading_bytes = 0;  ///< of the host, at most, that loading takes in addition to the samples
    bool target_per_step = false;  ///< each step of a sequence has a target (of tokens: the next one); else each sample
    std::vector<CategoryShape> categories{};  ///< of a table, in the order of the features
    std::optional<SplitSizes> grouped{};      ///< the sizes that follow from a division of whole groups
    std::string not_in_files{};               ///< why samples cannot be read one by one, and the cure; empty: they can
    friend bool operator==(const DataShape&, const DataShape&) = default;

    /// Numbers of a sample.
    [[nodiscard]] std::int64_t features() const {
        return std::visit(
            Overloaded{[](const VectorShape& vector) { return vector.features; },
                       [](const ImageShape& image) { return image.height * image.width * image.channels; },
                       [](const SequenceShape& sequence) { return sequence.steps * sequence.features; },
                       [](const TokenShape& tokens) { return tokens.steps; }},
            sample);
    }
    /// Returns the number of steps of a sequence; 1 for other samples.
    [[nodiscard]] std::int64_t steps() const {
        if (const auto* tokens = std::get_if<TokenShape>(&sample)) return tokens->steps;
        const auto* sequence = std::get_if<SequenceShape>(&sample);
        return sequence ? sequence->steps : 1;
    }
    [[nodiscard]] std::int64_t row_bytes() const { return features() * (pixels ? 1 : 4); }
    /// Targets of a sample, and so rows of a model's outputs: one, or one for each step.
    [[nodiscard]] std::int64_t targets() const { return target_per_step ? steps() : 1; }
    /// Numbers of all targets of a sample: a class is one of 32 bits, the others are floats.
    [[nodiscard]] std::int64_t target_columns() const {
        return targets() * (task == Task::classification ? 1 : outputs);
    }
};

enum class Part { train, test };

/// Samples as they are read.
struct SampleBatch {
    Part part = Part::train;
    std::int64_t first = 0;                ///< number of the first one within its part; they come in order
    std::int64_t count = 0;                ///< of samples
    std::span<const std::byte> features;   ///< count * DataShape::row_bytes
    std::span<const std::byte> targets{};  ///< count * DataShape::target_columns, of 4 bytes each
};
using SampleSink = std::function<void(const SampleBatch&)>;

/// Reads single samples from their files, in any order. Several threads may use it at once.
class SampleReader {
   public:
    SampleReader() = default;
    virtual ~SampleReader() = default;
    SampleReader(const SampleReader&) = delete;
    SampleReader& operator=(const SampleReader&) = delete;
    /// Reads sample `index` of a part, with the bytes that the sink gets for it: DataShape::row_bytes of features, and
    /// DataShape::target_columns of 4 bytes each. Throws UnreadableFile, which names the file: its trials end then.
    virtual void read(Part part, std::int64_t index, std::span<std::byte> features,
                      std::span<std::byte> targets) const = 0;
};

/// Facts known once the data is loaded.
struct DataFacts {
    /// Mean and deviation of the training split's targets, in the units of the file: where targets are numbers, the
    /// sink got (target - mean) / deviation.
    double target_mean = 0;
    double target_deviation = 1;
    /// The map from the columns of a table to features, and the names of its classes: a JSON object (safetensors.hpp);
    /// empty: features are the values of the file.
    std::string encoding;
};

/// One row of the registry. `load` calls the sink at least once a megabyte.
struct DataFormat {
    std::string_view name;
    Result<DataShape> (*describe)(const DataConfig& config);
    Result<DataFacts> (*load)(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
    /// For a split that needs more than sizes and the seed; null: random (split.hpp).
    Result<Split> (*split)(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed) = nullptr;
    /// Findings about the data, in lines for people; null: those of the shape.
    Result<std::vector<std::string>> (*explain)(const DataConfig& config) = nullptr;
    /// For Placement::files, of config.fold; null: DataShape::not_in_files tells why not.
    Result<std::unique_ptr<SampleReader>> (*open)(const DataConfig& config, std::uint64_t data_seed) = nullptr;
};

/// Describe and load the data in the format config.format. Errors name the file or the key, and the cure where there is
/// one.
Result<DataShape> describe_data(const DataConfig& config);
Result<DataFacts> load_data(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
/// Opens the samples of load_data() for reading one by one. DataShape::not_in_files must be empty.
Result<std::unique_ptr<SampleReader>> open_samples(const DataConfig& config, std::uint64_t data_seed);
/// Splits shape.train samples by the study's data seed: the same for every trial of a study. Fails if the files no
/// longer have the samples that `shape` and `sizes` count, for which memory was taken.
Result<Split> split_data(const DataConfig& config, const DataShape& shape, const SplitSizes& sizes,
                         std::uint64_t data_seed);
/// "images of 28 x 28", for people.
std::string sample_text(const SampleShape& sample);
/// Returns the findings about the data, in lines for people. Lines with a warning begin with "warning: ".
Result<std::vector<std::string>> explain_data(const DataConfig& config);

// The formats.
Result<DataShape> describe_idx(const DataConfig& config);
Result<DataFacts> load_idx(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_idx(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);
Result<std::vector<std::string>> explain_idx(const DataConfig& config);
Result<std::unique_ptr<SampleReader>> open_idx(const DataConfig& config, std::uint64_t data_seed);
Result<DataShape> describe_synthetic(const DataConfig& config);
Result<DataFacts> load_synthetic(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink);
Result<Split> split_synthetic(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed);

}  // namespace hpo
