#include "worker/trees/tree_data.hpp"

#include <cstring>
#include <span>
#include <utility>

#include "worker/training/worker_context.hpp"

namespace hpo {
namespace {

/// Reads samples that the host holds.
class HostSamples {
   public:
    HostSamples(const DeviceData& data, const Samples& samples, int fold)
        : shape_(data.shape),
          bytes_(dynamic_cast<const HostBuffer&>(*samples.buffer).data()),
          features_(samples.features.replica(fold)),
          targets_(samples.targets.replica(fold)),
          rows_(samples.rows ? samples.rows.replica(fold) : samples.rows) {}

    /// Features [rows, features] of the first `count` samples.
    [[nodiscard]] std::vector<float> features(std::int64_t count) const {
        const auto columns = static_cast<std::size_t>(shape_.features());
        std::vector<float> all(static_cast<std::size_t>(count) * columns);
        for (std::int64_t i = 0; i < count; ++i) {
            float* const to = all.data() + static_cast<std::size_t>(i) * columns;
            const std::byte* const row = bytes_ + features_.offset + row_of(i) * shape_.row_bytes();
            if (shape_.pixels)
                for (std::size_t j = 0; j < columns; ++j) to[j] = static_cast<float>(row[j]);
            else
                std::memcpy(to, row, columns * sizeof(float));
        }
        return all;
    }

    /// Returns the targets of the samples [rows, target columns].
    [[nodiscard]] std::vector<float> targets(std::int64_t count) const {
        const auto columns = static_cast<std::size_t>(shape_.target_columns());
        std::vector<float> all(static_cast<std::size_t>(count) * columns);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j < columns; ++j) {
                const std::size_t at = static_cast<std::size_t>(row_of(i)) * columns + j;
                const std::byte* const from = bytes_ + targets_.offset + at * sizeof(float);
                float& to = all[static_cast<std::size_t>(i) * columns + j];
                if (shape_.task == Task::classification) {
                    std::int32_t label = 0;
                    std::memcpy(&label, from, sizeof label);
                    to = static_cast<float>(label);
                } else {
                    std::memcpy(&to, from, sizeof to);
                }
            }
        return all;
    }

   private:
    [[nodiscard]] std::int64_t row_of(std::int64_t sample) const {
        if (!rows_) return sample;
        std::int32_t row = 0;
        std::memcpy(&row, bytes_ + rows_.offset + static_cast<std::size_t>(sample) * sizeof row, sizeof row);
        return row;
    }

    const DataShape& shape_;
    const std::byte* bytes_;
    Tensor features_, targets_, rows_;
};

TreeSamples samples_of(const DeviceData& data, const Samples& samples, int fold, std::int64_t count, int threads) {
    if (count == 0) return {};
    const HostSamples host(data, samples, fold);
    return {TreeMatrix(host.features(count), data.shape.features(), threads), host.targets(count)};
}

/// Weights training samples by their classes. Labels have no weights of rows (see Booster settings).
void set_weights(TreeSamples& train, const FoldFacts& facts, const ClassWeights& weights) {
    const std::vector<float> of_classes =
        class_weights_of(weights, Task::classification, facts.class_counts, train.rows());
    std::vector<float> of_rows(train.targets.size());
    for (std::size_t i = 0; i < of_rows.size(); ++i)
        of_rows[i] = of_classes[static_cast<std::size_t>(train.targets[i])];
    train.matrix->set_weights(of_rows);
}

}  // namespace

bool TreeData::is_of(const Configuration& configuration, std::uint64_t data_seed) const {
    return facts && facts->config == tree_data_config(configuration.data) && facts->data_seed == data_seed &&
           class_weights == configuration.training.class_weights;
}

DataConfig tree_data_config(DataConfig data) {
    data.placement = Placement::staged;
    return data;
}

Result<void> check_tree_data(const DataConfig& config, const DataShape& shape) {
    if (shape.target_per_step)
        return Error{
            "model.type: trees predict one target for each sample, and each step of these sequences has one: "
            "use transformer, gru or lstm"};
    if (std::holds_alternative<TokenShape>(shape.sample))
        return Error{"model.type: trees take numbers, and the samples are tokens: use transformer, gru or lstm"};
    if (config.placement == Placement::files) return Error{"data.placement: files: trees need all samples in memory"};
    return {};
}

TreeData load_tree_data(Device& device, const Configuration& configuration, std::uint64_t data_seed, int threads,
                        const std::function<void()>& progress) {
    TreeData made;
    made.facts = value_or_throw(load_to_device(device, tree_data_config(configuration.data), data_seed, progress));
    made.class_weights = configuration.training.class_weights;
    DeviceData& data = *made.facts;
    for (int fold = 0; fold < data.sizes.folds; ++fold) {
        const FoldFacts& its = data.folds[static_cast<std::size_t>(fold)];
        TreeFold& trees = made.folds.emplace_back();
        trees.train = samples_of(data, data.train, fold, its.train, threads);
        trees.validation = samples_of(data, data.validation, fold, its.validation, threads);
        trees.test = samples_of(data, data.test, fold, data.shape.test, threads);
        if (made.class_weights.any() && data.shape.task == Task::classification)
            set_weights(trees.train, its, made.class_weights);
        if (progress) progress();
    }
    data.train_buffer.reset();
    data.test_buffer.reset();
    return made;
}

}  // namespace hpo
