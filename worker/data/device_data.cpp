#include "worker/data/device_data.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "worker/data/mapped_file.hpp"
#include "worker/data/memory.hpp"
#include "worker/data/number_fit.hpp"

namespace hpo {
namespace {

struct SampleLayout {
    Tensor features;
    Tensor targets;
    Tensor train, validation;  ///< i32: the rows of each side of the split; of the training file alone
    std::size_t bytes = 0;
};

SampleLayout lay_out(const DataShape& shape, std::int64_t rows, const SplitSizes& sizes, int folds,
                     Placement placement) {
    // Means and deviations follow from the training split, and differ between folds.
    const bool same_targets = shape.task != Task::regression;
    Layout layout(folds);
    const auto add = [&](bool shared, Type type, std::int64_t columns) {
        if (placement == Placement::files) return Tensor{0, 0, rows, columns, type};
        return shared ? layout.add_shared(type, rows, columns) : layout.add(type, rows, columns);
    };
    SampleLayout laid_out;
    laid_out.features = add(!shape.standardised, shape.pixels ? Type::u8 : Type::f32, shape.features());
    laid_out.targets = add(same_targets, target_type(shape.task), shape.target_columns());
    if (sizes.train > 0) laid_out.train = layout.add(Type::i32, 1, sizes.train);
    if (sizes.validation > 0) laid_out.validation = layout.add(Type::i32, 1, sizes.validation);
    laid_out.bytes = layout.bytes();
    return laid_out;
}

SampleLayout lay_out_train(const DataShape& shape, const SplitSizes& sizes, Placement placement) {
    return lay_out(shape, shape.train, sizes, sizes.folds, placement);
}
SampleLayout lay_out_test(const DataShape& shape, const SplitSizes& sizes, Placement placement) {
    return lay_out(shape, shape.test, {}, sizes.folds, placement);
}

std::uint32_t checksum(std::uint32_t crc, std::span<const std::byte> bytes) {
    return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Accumulates sums over the features of the training split while they are read.
class Moments {
   public:
    Moments(const Split& split, const DataShape& shape)
        : shape_(shape), features_(shape.features()), trains_(static_cast<std::size_t>(shape.train), false) {
        for (const std::int32_t row : split.train) trains_[static_cast<std::size_t>(row)] = true;
    }

    void add(std::int64_t first, std::span<const std::byte> values) {
        const auto row_bytes = static_cast<std::size_t>(shape_.row_bytes());
        for (std::size_t i = 0; i * row_bytes < values.size(); ++i) {
            if (!trains_[static_cast<std::size_t>(first) + i]) continue;
            const std::byte* row = values.data() + i * row_bytes;
            shape_.pixels ? add_pixels(reinterpret_cast<const std::uint8_t*>(row)) : add_floats(row);
            count_ += static_cast<double>(features_);
        }
    }

    [[nodiscard]] double mean() const { return sum_ / count_; }
    [[nodiscard]] double deviation() const {
        const double variance = squares_ / count_ - mean() * mean();
        return variance > 1e-12 * squares_ / count_ ? std::sqrt(variance) : 1;
    }

   private:
    void add_pixels(const std::uint8_t* row) {
        // Whole numbers, so that a double holds them exactly; 32 bits hold the squares of 4096 pixels.
        for (std::int64_t begin = 0; begin < features_; begin += 4096) {
            std::uint32_t sum = 0;
            std::uint32_t squares = 0;
            const std::int64_t end = std::min(begin + 4096, features_);
            for (std::int64_t j = begin; j < end; ++j) {
                sum += row[j];
                squares += std::uint32_t{row[j]} * row[j];
            }
            sum_ += sum;
            squares_ += squares;
        }
    }
    void add_floats(const std::byte* row) {
        for (std::int64_t j = 0; j < features_; ++j) {
            float value = 0;
            std::memcpy(&value, row + j * 4, 4);
            sum_ += value;
            squares_ += double{value} * value;
        }
    }

    DataShape shape_;
    std::int64_t features_;
    std::vector<bool> trains_;
    double sum_ = 0;
    double squares_ = 0;
    double count_ = 0;
};

/// Accumulates, while validation or test samples are read, the variance of each output of the model, the mean of these
/// variances, and the errors of predicting the training split's mean.
class TargetSpread {
   public:
    explicit TargetSpread(std::int64_t outputs) : outputs_(static_cast<std::size_t>(outputs)) {}

    /// Adds the targets of samples: rows with a number for each output.
    void add(std::span<const std::byte> targets) {
        for (std::size_t i = 0; i + 4 <= targets.size(); i += 4) {
            float value = 0;
            std::memcpy(&value, &targets[i], 4);
            outputs_[i / 4 % outputs_.size()].add(value);
            squares_ += double{value} * value;
            absolutes_ += std::abs(value);
            ++count_;
        }
    }
    // Return the errors of predicting the training split's mean, which is 0 in standardised targets.
    [[nodiscard]] double squared_error() const { return count_ > 0 ? squares_ / count_ : 0; }
    [[nodiscard]] double absolute_error() const { return count_ > 0 ? absolutes_ / count_ : 0; }
    [[nodiscard]] double variance() const {
        double sum = 0;
        for (const NumberFit& output : outputs_) sum += output.variance();
        return sum / static_cast<double>(outputs_.size());
    }

   private:
    std::vector<NumberFit> outputs_;
    double squares_ = 0, absolutes_ = 0, count_ = 0;
};

/// Checks samples against the shape for which memory is laid out, since a file may change after it was described.
/// Throws UnreadableFile, also where samples are missing at the end.
class ShapeGuard {
   public:
    ShapeGuard(const DataShape& shape, std::string path) : shape_(shape), path_(std::move(path)) {}

    void add(const SampleBatch& batch) {
        const bool trains = batch.part == Part::train;
        const std::int64_t rows = trains ? shape_.train : shape_.test;
        const auto has = [&](std::span<const std::byte> bytes, std::int64_t of_row) {
            return static_cast<std::int64_t>(bytes.size()) == batch.count * of_row;
        };
        if (batch.first < 0 || batch.count > rows - batch.first || !has(batch.features, shape_.row_bytes()) ||
            !has(batch.targets, 4 * shape_.target_columns()))
            refuse();
        (trains ? train_ : test_) += batch.count;
        if (shape_.task != Task::classification) return;
        for (std::size_t i = 0; i < batch.targets.size(); i += 4) {
            std::int32_t label = 0;
            std::memcpy(&label, &batch.targets[i], 4);
            if (label < 0 || label >= shape_.outputs) refuse();
        }
    }

    /// Begins the next fold. Throws if the present one had too few samples.
    void end() {
        if (std::exchange(train_, 0) != shape_.train || std::exchange(test_, 0) != shape_.test) refuse();
    }

   private:
    [[noreturn]] void refuse() const { throw UnreadableFile(path_ + ": changed while it was read"); }

    const DataShape& shape_;
    std::string path_;
    std::int64_t train_ = 0, test_ = 0;  ///< samples so far
};

/// Writes into a buffer of samples.
class Writer {
   public:
    Writer(Device& device, Buffer& buffer, const SampleLayout& laid_out)
        : layout_(laid_out), host_(dynamic_cast<HostBuffer*>(&buffer)) {
        if (!host_) stream_ = device.stream(buffer, 1);
    }

    void take(const SampleBatch& batch, int fold) const {
        const auto rows_of = [&](const Tensor& tensor) {
            return tensor.replica(fold).slice(batch.first * tensor.columns, batch.count, tensor.columns);
        };
        write(rows_of(layout_.features), batch.features);
        write(rows_of(layout_.targets), batch.targets);
    }
    void write(const Tensor& to, std::span<const std::byte> bytes) const {
        if (stream_)
            stream_->write_bytes(to, 0, bytes);
        else
            std::memcpy(host_->data() + to.offset, bytes.data(), bytes.size());
    }

   private:
    const SampleLayout& layout_;
    HostBuffer* host_;
    std::unique_ptr<Stream> stream_;
};

/// The statistics of a fold, gathered while its samples pass.
class FoldSums {
   public:
    FoldSums(const Split& split, const DataShape& shape)
        : shape_(shape),
          moments_(split, shape),
          validation_spread_(shape.outputs),
          test_spread_(shape.outputs),
          trains_(static_cast<std::size_t>(shape.train), false),
          validates_(static_cast<std::size_t>(shape.train), false) {
        its_.train = static_cast<std::int64_t>(split.train.size());
        its_.validation = static_cast<std::int64_t>(split.validation.size());
        for (const std::int32_t row : split.train) trains_[static_cast<std::size_t>(row)] = true;
        for (const std::int32_t row : split.validation) validates_[static_cast<std::size_t>(row)] = true;
        if (shape.task == Task::regression) return;
        its_.class_counts.resize(static_cast<std::size_t>(shape.outputs));
        test_counts_.resize(its_.class_counts.size());
    }

    void add(const SampleBatch& batch) {
        if (batch.part == Part::train && !shape_.standardised) moments_.add(batch.first, batch.features);
        if (shape_.task != Task::regression) return count_classes(batch);
        if (batch.part == Part::test) return test_spread_.add(batch.targets);
        const std::size_t bytes = batch.targets.size() / static_cast<std::size_t>(batch.count);
        for (std::int64_t i = 0; i < batch.count; ++i)
            if (validates_[static_cast<std::size_t>(batch.first + i)])
                validation_spread_.add(batch.targets.subspan(static_cast<std::size_t>(i) * bytes, bytes));
    }

    [[nodiscard]] FoldFacts facts(const DataFacts& facts) {
        its_.facts = facts;
        its_.validation_variance = validation_spread_.variance();
        its_.test_variance = test_spread_.variance();
        its_.test_baseline = {baseline_accuracy(), test_spread_.squared_error(), test_spread_.absolute_error()};
        if (shape_.standardised) return its_;
        its_.mean = static_cast<float>(moments_.mean());
        its_.deviation = static_cast<float>(moments_.deviation());
        its_.scale = static_cast<float>(1 / moments_.deviation());
        its_.shift = static_cast<float>(-moments_.mean() / moments_.deviation());
        return its_;
    }

   private:
    void count_classes(const SampleBatch& batch) {
        const std::size_t per_sample = static_cast<std::size_t>(shape_.target_columns());
        const bool tests = batch.part == Part::test;
        std::vector<std::int64_t>& counts = tests ? test_counts_ : its_.class_counts;
        for (std::size_t i = 0; i < batch.targets.size() / 4; ++i) {
            if (!tests && !trains_[static_cast<std::size_t>(batch.first) + i / per_sample]) continue;
            if (shape_.task == Task::classification) {
                std::int32_t label = 0;
                std::memcpy(&label, &batch.targets[4 * i], 4);
                ++counts[static_cast<std::size_t>(label)];
            } else {
                float label = 0;
                std::memcpy(&label, &batch.targets[4 * i], 4);
                counts[i % counts.size()] += label > 0.5F ? 1 : 0;
            }
        }
    }

    [[nodiscard]] double baseline_accuracy() const {
        const std::vector<std::int64_t>& trained = its_.class_counts;
        if (trained.empty() || shape_.test == 0) return 0;
        if (shape_.task == Task::classification) {
            const auto commonest = static_cast<std::size_t>(std::ranges::max_element(trained) - trained.begin());
            return static_cast<double>(test_counts_[commonest]) / static_cast<double>(shape_.test * shape_.targets());
        }
        std::int64_t right = 0;
        for (std::size_t i = 0; i < trained.size(); ++i)
            right += 2 * trained[i] > its_.train ? test_counts_[i] : shape_.test - test_counts_[i];
        return static_cast<double>(right) / static_cast<double>(shape_.test * shape_.outputs);
    }

    const DataShape& shape_;
    FoldFacts its_;
    Moments moments_;
    TargetSpread validation_spread_, test_spread_;
    std::vector<std::int64_t> test_counts_;  ///< as FoldFacts::class_counts
    std::vector<bool> trains_, validates_;
};

}  // namespace

std::array<std::int64_t, 2> data_pieces(const DataShape& shape, const SplitSizes& sizes, Placement placement) {
    return {static_cast<std::int64_t>(lay_out_train(shape, sizes, placement).bytes),
            static_cast<std::int64_t>(lay_out_test(shape, sizes, placement).bytes)};
}

std::int64_t data_bytes(const DataShape& shape, const SplitSizes& sizes, Placement placement) {
    const auto pieces = data_pieces(shape, sizes, placement);
    return pieces[0] + pieces[1];
}

std::int64_t DeviceData::bytes() const {
    return static_cast<std::int64_t>(train_buffer->bytes() + test_buffer->bytes());
}

namespace {

Result<std::unique_ptr<DeviceData>> load(Device& device, const DataConfig& config, std::uint64_t data_seed,
                                         const std::function<void()>& progress) {
    const auto shape = describe_data(config);
    if (!shape) return shape.error();
    const auto sizes = split_sizes(config, *shape);
    if (!sizes) return sizes.error();
    auto data = std::make_unique<DeviceData>();
    data->config = config;
    data->data_seed = data_seed;
    data->shape = *shape;
    data->sizes = *sizes;

    const bool in_files = config.placement == Placement::files;
    if (in_files && !shape->not_in_files.empty()) return Error{"data.placement: files: " + shape->not_in_files};
    const SampleLayout train = lay_out_train(*shape, *sizes, config.placement);
    const SampleLayout test = lay_out_test(*shape, *sizes, config.placement);
    for (const auto& [laid_out, buffer] :
         {std::pair(&train, &data->train_buffer), std::pair(&test, &data->test_buffer)}) {
        if (data->staged()) {
            *buffer = std::make_unique<HostBuffer>(laid_out->bytes);
            continue;
        }
        auto memory = device.allocate(laid_out->bytes);
        if (!memory) throw OutOfMemory("the data set: " + memory.error().message);
        *buffer = *std::move(memory);
    }
    const auto samples = [](const Buffer& buffer, const SampleLayout& laid_out, const Tensor& rows) {
        const std::int64_t count = rows ? rows.columns : laid_out.targets.rows;
        return Samples{&buffer, laid_out.features, laid_out.targets, rows, count};
    };
    data->train = samples(*data->train_buffer, train, train.train);
    data->validation = samples(*data->train_buffer, train, train.validation);
    data->test = samples(*data->test_buffer, test, {});

    const Writer to_train(device, *data->train_buffer, train);
    const Writer to_test(device, *data->test_buffer, test);
    // Samples that do not depend on the split are read once for all folds.
    const bool all_alike = !shape->standardised && shape->task != Task::regression;
    ShapeGuard guard(data->shape, config.path);
    std::uint32_t crc = 0;
    for (DataConfig its = config; its.fold < sizes->folds;) {
        std::vector<FoldSums> sums;
        const auto first = static_cast<int>(its.fold);
        for (const std::int64_t end = all_alike ? sizes->folds : first + 1; its.fold < end; ++its.fold) {
            const auto split = split_data(its, *shape, *sizes, data_seed);
            if (!split) return split.error();
            const auto write = [&](const Tensor& to, const std::vector<std::int32_t>& rows) {
                to_train.write(
                    to.replica(static_cast<int>(its.fold)).slice(0, 1, static_cast<std::int64_t>(rows.size())),
                    std::as_bytes(std::span(rows)));
            };
            write(train.train, split->train);
            write(train.validation, split->validation);
            sums.emplace_back(*split, *shape);
        }
        its.fold = first;
        const auto facts = load_data(its, data_seed, [&](const SampleBatch& batch) {
            guard.add(batch);
            if (!in_files) (batch.part == Part::train ? to_train : to_test).take(batch, first);
            for (FoldSums& one : sums) one.add(batch);
            crc = checksum(checksum(crc, batch.features), batch.targets);
            if (progress) progress();
        });
        if (!facts) return facts.error();
        guard.end();
        for (FoldSums& one : sums) data->folds.push_back(one.facts(*facts));
        if (in_files) {
            auto reader = open_samples(its, data_seed);
            if (!reader) return reader.error();
            data->readers.push_back(*std::move(reader));
            // Opened anew after the samples were checked.
            if (const auto now = describe_data(config); !now || *now != *shape)
                return Error{config.path + ": changed while it was read"};
        }
        its.fold += static_cast<std::int64_t>(sums.size());
    }
    for (Samples* part : {&data->train, &data->validation, &data->test}) {
        part->scale = data->folds.front().scale;
        part->shift = data->folds.front().shift;
    }
    data->fingerprint = crc;
    return data;
}

}  // namespace

Result<std::unique_ptr<DeviceData>> load_to_device(Device& device, const DataConfig& config, std::uint64_t data_seed,
                                                   const std::function<void()>& progress) {
    try {
        return load(device, config, data_seed, progress);
    } catch (const UnreadableFile& error) {
        return Error{error.what()};
    }
}

}  // namespace hpo
