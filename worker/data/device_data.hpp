// A data set in a device's memory, split and ready to train on. A worker keeps it from trial to trial.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "worker/backends/backend.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"

namespace hpo {

/// Samples that the host keeps.
class HostBuffer final : public Buffer {
   public:
    explicit HostBuffer(std::size_t bytes) : content_(bytes) {}
    [[nodiscard]] std::size_t bytes() const override { return content_.size(); }
    [[nodiscard]] std::byte* data() { return content_.data(); }
    [[nodiscard]] const std::byte* data() const { return content_.data(); }

   private:
    std::vector<std::byte> content_;
};

/// Counts and fits of the training split of one fold. Without folds there is one.
struct FoldFacts {
    std::int64_t train = 0, validation = 0;  ///< samples
    // The normalisation: the mean and the deviation over all values of the training split (deviation 1 if they are all
    // the same). 0 and 1 where shape.standardised.
    float mean = 0;
    float deviation = 1;
    float scale = 1;  ///< 1 / deviation
    float shift = 0;  ///< -mean / deviation
    DataFacts facts;
    /// The number of targets of each class in the training split, or of those that have each label.
    std::vector<std::int64_t> class_counts;
    // Variances of targets that are numbers, in the samples' standardised units.
    double validation_variance = 0;
    double test_variance = 0;
    /// The score of a constant prediction on the test samples: for classes and labels the accuracy of the majority
    /// class, or for each label of the majority answer, of the training split; for numbers the mean squared and
    /// absolute errors of the training split's mean, as the samples have them.
    struct Baseline {
        double accuracy = 0, squared = 0, absolute = 0;
    };
    Baseline test_baseline;
};

struct DeviceData {
    DataConfig config;  ///< `fold` is 0
    std::uint64_t data_seed = 0;
    DataShape shape;
    SplitSizes sizes;
    // In the device's memory; HostBuffers where the device has none of the samples. With Placement::files, these hold
    // the rows of the split alone.
    std::unique_ptr<Buffer> train_buffer;  ///< of the training file: both sides of the split, and which is which
    std::unique_ptr<Buffer> test_buffer;
    // The samples of the first fold; those of the others lie a replica_stride behind one another (see Gather::Fold).
    Samples train;
    Samples validation;
    Samples test;
    std::vector<FoldFacts> folds;
    std::vector<std::unique_ptr<SampleReader>> readers;  ///< with Placement::files: of each fold, or one for all
    std::uint32_t fingerprint = 0;  ///< CRC-32 of features and targets: checkpoints are bound to it

    [[nodiscard]] std::int64_t bytes() const;
    /// Returns true if each batch is copied to the device from the host.
    [[nodiscard]] bool staged() const { return is_staged(config.placement); }
    /// Returns the reader of a fold; null: the samples are in memory.
    [[nodiscard]] const SampleReader* reader(int fold) const {
        return readers.empty() ? nullptr : readers[readers.size() == 1 ? 0 : static_cast<std::size_t>(fold)].get();
    }
};

/// The type of a target's numbers.
constexpr Type target_type(Task task) { return task == Task::classification ? Type::i32 : Type::f32; }

/// Returns the later DeviceData::bytes().
std::int64_t data_bytes(const DataShape& shape, const SplitSizes& sizes, Placement placement = Placement::device);
/// Returns the bytes of its two buffers: the training and validation samples', the test samples'.
std::array<std::int64_t, 2> data_pieces(const DataShape& shape, const SplitSizes& sizes,
                                        Placement placement = Placement::device);

/// `progress` is called at least once a megabyte. Errors are load_data's; a device without enough memory throws
/// OutOfMemory.
Result<std::unique_ptr<DeviceData>> load_to_device(Device& device, const DataConfig& config, std::uint64_t data_seed,
                                                   const std::function<void()>& progress = {});

}  // namespace hpo
