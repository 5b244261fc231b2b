// Samples from NumPy arrays (arrays.hpp). Fits see the training split alone.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "worker/data/arrays.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/number_fit.hpp"
#include "worker/data/split.hpp"
#include "worker/data/trained_classes.hpp"

namespace hpo {
namespace {

constexpr std::int64_t array_piece_bytes = std::int64_t{1} << 18;  // bytes that are read and passed on at once

/// The standardisation of a column.
struct ColumnScale {
    double mean = 0, deviation = 1;

    [[nodiscard]] float of(double number) const { return static_cast<float>((number - mean) / deviation); }
};

/// The numbers of a row as features. `scales` of its columns, which repeat along the row; none: as they are.
template <class T>
void put_features(const std::byte* row, std::size_t count, std::span<const ColumnScale> scales, float* to) {
    const auto number = [row](std::size_t i) {
        T value;
        std::memcpy(&value, row + i * sizeof value, sizeof value);
        return static_cast<double>(value);
    };
    if (scales.empty())
        for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(number(i));
    for (std::size_t first = 0; !scales.empty() && first < count; first += scales.size())
        for (std::size_t i = 0; i < scales.size(); ++i) to[first + i] = scales[i].of(number(first + i));
}

void put_features(NpyType type, const std::byte* row, std::size_t count, std::span<const ColumnScale> scales,
                  float* to) {
    switch (type) {
        case NpyType::f32:
            return put_features<float>(row, count, scales, to);
        case NpyType::f64:
            return put_features<double>(row, count, scales, to);
        case NpyType::u8:
            return put_features<std::uint8_t>(row, count, scales, to);
        default:
            break;
    }
    const std::int64_t size = bytes_of(type);
    for (std::size_t i = 0; i < count; ++i) {
        const double number = npy_number(type, row + static_cast<std::int64_t>(i) * size);
        to[i] = scales.empty() ? static_cast<float>(number) : scales[i % scales.size()].of(number);
    }
}

/// Rows of NPY files.
class ArraySamples final : public SampleReader {
   public:
    struct Of {
        PositionedFile file;
        NpyHeader header;
        std::vector<std::int32_t> rows;      ///< of the array
        std::vector<std::uint32_t> targets;  ///< bits, of each sample
    };
    ArraySamples(std::vector<ColumnScale> scales, bool pixels, Of train, Of test)
        : scales_(std::move(scales)), pixels_(pixels), parts_{std::move(train), std::move(test)} {}

    static Result<Of> open(const ArrayPair& pair) {
        auto file = PositionedFile::open(pair.inputs.file);
        if (!file) return Error{"data.path: " + file.error().message};
        const NpyHeader& header = pair.inputs_header;
        if (file->size() != header.data_offset + header.data_bytes())
            return Error{"data.path: " + pair.inputs.text() + ": changed while it was read"};
        return Of{*std::move(file), header, {}, {}};
    }

    void read(Part part, std::int64_t index, std::span<std::byte> features,
              std::span<std::byte> targets) const override {
        const Of& its = parts_[part == Part::test ? 1 : 0];
        const std::int64_t row = its.rows[static_cast<std::size_t>(index)];
        const std::int64_t offset = its.header.data_offset + row * its.header.row_bytes();
        if (pixels_) {
            its.file.read(offset, features);
        } else {
            thread_local std::vector<std::byte> bytes;
            bytes.resize(static_cast<std::size_t>(its.header.row_bytes()));
            its.file.read(offset, bytes);
            put_features(its.header.type, bytes.data(), features.size() / sizeof(float), scales_,
                         reinterpret_cast<float*>(features.data()));
        }
        std::memcpy(targets.data(),
                    &its.targets[static_cast<std::size_t>(index) * (targets.size() / sizeof its.targets[0])],
                    targets.size());
    }

   private:
    std::vector<ColumnScale> scales_;
    bool pixels_;
    std::array<Of, 2> parts_;
};

/// Rows of a part that the sink has yet to get.
struct ArrayBatch {
    Part part;
    std::int64_t first = 0;
    std::vector<std::byte> features{};
    std::vector<std::uint32_t> targets{};  ///< bits
    std::int64_t count = 0;

    void pass_on(const SampleSink& sink) {
        if (count == 0) return;
        sink({part, first, count, features, std::as_bytes(std::span(targets))});
        first += count;
        count = 0;
        features.clear();
        targets.clear();
    }
};

class ArrayLoader {
   public:
    ArrayLoader(const ArrayData& data, std::vector<RowUse> uses)
        : data_(data),
          uses_(std::move(uses)),
          columns_(static_cast<std::size_t>(data.columns())),
          targets_(data.task == Task::classification ? 0 : static_cast<std::size_t>(data.outputs)) {}

    Result<void> fit() {
        const auto train = [&](std::int64_t row) { return uses_[static_cast<std::size_t>(row)] == RowUse::train; };
        for (std::int64_t row = 0; row < data_.train.rows(); ++row)
            for (std::size_t i = 0; i < targets_.size() && train(row) && data_.task == Task::regression; ++i)
                targets_[i].add(target(row, i));
        if (columns_.empty()) return {};
        return each_row(data_.train, [&](std::int64_t row, const std::byte* bytes) -> Result<void> {
            if (!train(row)) return {};
            return each_number(data_.train, row, bytes,
                               [&](std::size_t i, double number) { columns_[i % columns_.size()].add(number); });
        });
    }

    /// After fit().
    Result<void> pass_on(const SampleSink& sink) {
        scales_ = scales();
        ArrayBatch train{Part::train}, test{Part::test};
        const std::int64_t own = data_.train.rows();
        auto read = each_row(data_.train, [&](std::int64_t row, const std::byte* bytes) {
            const bool tests = uses_[static_cast<std::size_t>(row)] == RowUse::test;
            return add(data_.train, row, row, bytes, tests ? test : train, sink);
        });
        if (read && data_.test)
            read = each_row(*data_.test, [&](std::int64_t row, const std::byte* bytes) {
                return add(*data_.test, row, own + row, bytes, test, sink);
            });
        if (!read) return read;
        train.pass_on(sink);
        test.pass_on(sink);
        return {};
    }

    /// After fit().
    Result<std::unique_ptr<SampleReader>> samples() const {
        auto train = ArraySamples::open(data_.train);
        if (!train) return train.error();
        auto test = ArraySamples::open(data_.test.value_or(data_.train));
        if (!test) return test.error();
        const auto add_row = [&](ArraySamples::Of& to, std::int64_t row, std::int64_t target_row) {
            to.rows.push_back(static_cast<std::int32_t>(row));
            add_targets(target_row, to.targets);
        };
        const std::int64_t own = data_.train.rows();
        for (std::int64_t row = 0; row < own; ++row)
            add_row(uses_[static_cast<std::size_t>(row)] == RowUse::test ? *test : *train, row, row);
        for (std::int64_t row = 0; data_.test && row < data_.test->rows(); ++row) add_row(*test, row, own + row);
        return std::unique_ptr<SampleReader>(
            std::make_unique<ArraySamples>(scales(), data_.pixels, *std::move(train), *std::move(test)));
    }

    [[nodiscard]] DataFacts facts() const {
        using Json = nlohmann::ordered_json;
        const auto scales = [](std::span<const NumberFit> fits) {
            Json json = Json::array();
            for (const NumberFit& fit : fits) json.push_back({{"mean", fit.mean()}, {"deviation", fit.deviation()}});
            return json;
        };
        Json json = Json::object();
        if (!columns_.empty()) json["columns"] = scales(columns_);
        DataFacts facts;
        if (data_.task == Task::classification) {
            json["target"]["classes"] = data_.classes;
        } else if (data_.task == Task::regression) {
            json["targets"] = scales(targets_);
            if (targets_.size() == 1) {
                facts.target_mean = targets_[0].mean();
                facts.target_deviation = targets_[0].deviation();
            }
        }
        facts.encoding = json.dump();
        return facts;
    }

   private:
    /// Calls visit(row, its bytes) for each row of the features.
    template <class F>
    static Result<void> each_row(const ArrayPair& pair, F&& visit) {
        auto reader = NpyReader::open(pair.inputs);
        if (!reader) return reader.error();
        const NpyHeader& header = pair.inputs_header;
        if ((*reader)->header() != header) return Error{pair.inputs.text() + ": changed while it was read"};
        const std::int64_t row_bytes = header.row_bytes();
        const std::int64_t at_once = std::max<std::int64_t>(1, array_piece_bytes / row_bytes);
        std::vector<std::byte> bytes;
        for (std::int64_t first = 0; first < header.shape[0]; first += at_once) {
            const std::int64_t count = std::min(at_once, header.shape[0] - first);
            bytes.resize(static_cast<std::size_t>(count * row_bytes));
            if (auto read = (*reader)->read(bytes); !read) return read;
            for (std::int64_t i = 0; i < count; ++i)
                if (auto visited = visit(first + i, &bytes[static_cast<std::size_t>(i * row_bytes)]); !visited)
                    return visited;
        }
        return (*reader)->finish();
    }

    /// Calls visit(index, number) for each number of a row.
    template <class F>
    Result<void> each_number(const ArrayPair& pair, std::int64_t row, const std::byte* bytes, F&& visit) const {
        const NpyHeader& header = pair.inputs_header;
        const double most = columns_.empty() ? double{std::numeric_limits<float>::max()} : largest_number;
        const std::int64_t size = bytes_of(header.type), count = header.row_numbers();
        for (std::int64_t i = 0; i < count; ++i) {
            const double number = npy_number(header.type, bytes + i * size);
            if (!(std::abs(number) <= most)) {
                std::string place = std::to_string(row);
                std::int64_t within = i, extent = count;
                for (std::size_t d = 1; d < header.shape.size(); ++d) {
                    extent /= header.shape[d];
                    place += ", " + std::to_string(within / extent);
                    within %= extent;
                }
                return Error{pair.inputs.text() + ": [" + place + "] is " + short_text(number) +
                             (std::isfinite(number) ? ": features may be numbers up to " + short_text(most)
                                                    : ": features must be finite numbers")};
            }
            visit(static_cast<std::size_t>(i), number);
        }
        return {};
    }

    void add_targets(std::int64_t row, std::vector<std::uint32_t>& to) const {
        if (data_.task == Task::classification)
            return to.push_back(static_cast<std::uint32_t>(data_.labels[static_cast<std::size_t>(row)]));
        for (std::size_t i = 0; i < targets_.size(); ++i)
            to.push_back(std::bit_cast<std::uint32_t>(
                static_cast<float>((target(row, i) - targets_[i].mean()) / targets_[i].deviation())));
    }

    /// `target_row` counts over both arrays.
    Result<void> add(const ArrayPair& pair, std::int64_t row, std::int64_t target_row, const std::byte* bytes,
                     ArrayBatch& to, const SampleSink& sink) {
        if (data_.pixels) {
            to.features.insert(to.features.end(), bytes, bytes + pair.inputs_header.row_bytes());
        } else {
            const std::size_t begin = to.features.size();
            to.features.resize(begin + static_cast<std::size_t>(pair.inputs_header.row_numbers()) * sizeof(float));
            if (auto finite = each_number(pair, row, bytes, [](std::size_t, double) {}); !finite) return finite;
            put_features(pair.inputs_header.type, bytes, static_cast<std::size_t>(pair.inputs_header.row_numbers()),
                         scales_, reinterpret_cast<float*>(&to.features[begin]));
        }
        add_targets(target_row, to.targets);
        ++to.count;
        if (static_cast<std::int64_t>(to.features.size()) >= array_piece_bytes) to.pass_on(sink);
        return {};
    }

    [[nodiscard]] std::vector<ColumnScale> scales() const {
        std::vector<ColumnScale> scales;
        for (const NumberFit& fit : columns_) scales.push_back({fit.mean(), fit.deviation()});
        return scales;
    }
    [[nodiscard]] double target(std::int64_t row, std::size_t i) const {
        return data_.numbers[static_cast<std::size_t>(row) * targets_.size() + i];
    }

    const ArrayData& data_;
    std::vector<RowUse> uses_;  ///< of the rows of data_.train
    std::vector<NumberFit> columns_, targets_;
    std::vector<ColumnScale> scales_;  ///< of columns_
};

/// Labels of the rows of data.train.
std::span<const std::int32_t> training_labels(const ArrayData& data) {
    return std::span(data.labels).first(data.labels.empty() ? 0 : static_cast<std::size_t>(data.train.rows()));
}

Result<RowSplit> split_arrays(const ArrayData& data, const DataConfig& config, std::uint64_t data_seed) {
    const std::int64_t tests = test_rows_of(config, data);
    const auto sizes = split_sizes(config, data.train.rows() - tests);
    if (!sizes) return sizes.error();
    return split_rows(data.split, data.train.rows(), tests, training_labels(data), *sizes, data_seed, config.fold);
}

ClassedSamples classed_samples(const ArrayData& data) {
    return {.classes = training_labels(data),
            .count = static_cast<std::int64_t>(data.classes.size()),
            .name_of = [&data](std::size_t i) { return std::to_string(data.classes[i]); },
            .sample = "sample",
            .split = data.split};
}

/// A warning of classes that no sample trains, or the error that one class alone is trained on.
Result<std::string> untrained_samples(const ArrayData& data, const DataConfig& config) {
    if (data.task != Task::classification) return std::string();
    return untrained_classes(config, classed_samples(data),
                             [&](const DataConfig& fold) { return split_arrays(data, fold, 0); });
}

/// With the features and targets fitted to the samples that train.
Result<ArrayLoader> fitted_loader(const DataConfig& config, std::uint64_t data_seed) {
    const auto data = survey_arrays(config);
    if (!data) return data.error();
    auto split = split_arrays(**data, config, data_seed);
    if (!split) return split.error();
    if ((*data)->task == Task::classification)
        if (auto checked = check_trained_classes(config, classed_samples(**data), split->uses); !checked)
            return checked.error();
    ArrayLoader loader(**data, std::move(split->uses));
    if (auto fitted = loader.fit(); !fitted) return Error{"data.path: " + fitted.error().message};
    return loader;
}

std::string array_text(const ArrayPlace& place, const NpyHeader& header) {
    return shown_name(place.name) + " " + shape_text(header.shape) + " " + npy_name(header.type);
}

std::string targets_text(const ArrayData& data) {
    std::string line = "target: " + array_text(data.train.targets, data.train.targets_header);
    if (data.task == Task::regression) {
        const auto [low, high] = std::minmax_element(data.numbers.begin(), data.numbers.end());
        return line + ", " + (data.outputs == 1 ? "numbers" : grouped(data.outputs) + " numbers") + " from " +
               range_text(*low, *high);
    }
    if (data.task == Task::multi_label) {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(data.outputs), 0);
        const auto rows = data.train.rows();
        for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * counts.size(); ++i)
            counts[i % counts.size()] += data.numbers[i] > 0 ? 1 : 0;
        std::vector<ClassCount> labels;
        for (std::size_t i = 0; i < counts.size(); ++i) labels.push_back({std::to_string(i), counts[i]});
        return line + ", " + labels_text(labels, rows);
    }
    return line + ", " + classes_text(count_classes(data));
}

}  // namespace

Result<DataShape> describe_npy(const DataConfig& config) {
    const auto surveyed = survey_arrays(config);
    if (!surveyed) return surveyed.error();
    const ArrayData& data = **surveyed;
    if (data.split == SplitKind::stratified) {
        std::vector<std::int64_t> counts(data.classes.size(), 0);
        for (const std::int32_t label : training_labels(data)) ++counts[static_cast<std::size_t>(label)];
        const auto name_of = [&](std::size_t i) { return std::to_string(data.classes[i]); };
        if (auto checked = check_class_folds(config, !data.test, counts, name_of); !checked) return checked.error();
    }
    if (const auto untrained = untrained_samples(data, config); !untrained) return untrained.error();
    DataShape shape;
    shape.test = data.test ? data.test->rows() : test_rows_of(config, data);
    shape.train = data.train.rows() - test_rows_of(config, data);
    shape.sample = data.sample;
    shape.task = data.task;
    shape.outputs = data.outputs;
    shape.pixels = data.pixels;
    shape.standardised = data.columns() > 0;
    // The targets, the orders of rows with the places and labels that they are made from, and pieces of the features.
    shape.loading_bytes = 4 * static_cast<std::int64_t>(data.labels.size()) +
                          8 * static_cast<std::int64_t>(data.numbers.size()) + data.train.rows() * (5 * 4 + 1) +
                          4 * std::max(array_piece_bytes, data.train.inputs_header.row_numbers() * 8);
    if (!data.train.inputs.member.empty())
        shape.not_in_files = "arrays in an archive cannot be read row by row: save each as an NPY file, in a folder";
    return shape;
}

Result<Split> split_npy(const DataConfig& config, const SplitSizes&, std::uint64_t data_seed) {
    const auto data = survey_arrays(config);
    if (!data) return data.error();
    auto split = split_arrays(**data, config, data_seed);
    if (!split) return split.error();
    return std::move(split->within);
}

Result<DataFacts> load_npy(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink) {
    auto loader = fitted_loader(config, data_seed);
    if (!loader) return loader.error();
    if (auto passed = loader->pass_on(sink); !passed) return Error{"data.path: " + passed.error().message};
    return loader->facts();
}

Result<std::unique_ptr<SampleReader>> open_npy(const DataConfig& config, std::uint64_t data_seed) {
    const auto loader = fitted_loader(config, data_seed);
    if (!loader) return loader.error();
    return loader->samples();
}

Result<std::vector<std::string>> explain_npy(const DataConfig& config) {
    const auto shape = describe_npy(config);
    if (!shape) return shape.error();
    const ArrayData& data = **survey_arrays(config);
    const auto sizes = split_sizes(config, shape->train);
    if (!sizes) return sizes.error();
    auto warnings = array_warnings(data);
    if (!warnings) return Error{"data.path: " + warnings.error().message};
    std::vector<std::string> lines{
        "features: " + array_text(data.train.inputs, data.train.inputs_header) + ", which are " +
            sample_text(data.sample),
        split_sizes_text(*sizes, "samples") + ", " + split_text(data.split) + "; " + grouped(shape->test) + " test" +
            (data.test ? ": " + array_text(data.test->inputs, data.test->inputs_header) : ", chosen in the same way"),
        targets_text(data)};
    lines.insert(lines.end(), warnings->begin(), warnings->end());
    if (const auto untrained = untrained_samples(data, config); untrained && !untrained->empty())
        lines.push_back(*untrained);
    return lines;
}

}  // namespace hpo
