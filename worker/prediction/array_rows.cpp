// Rows of a NumPy array, standardized column by column as the model's training rows were.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "worker/data/arrays.hpp"
#include "worker/data/csv_columns.hpp"
#include "worker/data/data_text.hpp"
#include "worker/data/npy_reader.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

constexpr std::int64_t at_once_bytes = std::int64_t{1} << 18;

class ArrayRows final : public PredictionSource {
   public:
    /// `targets` of all samples; empty: not known.
    ArrayRows(const SavedModel& model, std::unique_ptr<NpyReader> reader, ArrayPlace place, std::vector<double> targets)
        : model_(model), reader_(std::move(reader)), place_(std::move(place)), targets_(std::move(targets)) {}

    Result<void> each(const PredictionSink& sink) override {
        const NpyHeader& header = reader_->header();
        const std::int64_t row_bytes = header.row_bytes(), size = bytes_of(header.type);
        const std::int64_t at_once = std::max<std::int64_t>(1, at_once_bytes / row_bytes);
        std::vector<std::byte> bytes;
        std::vector<float> features(static_cast<std::size_t>(header.row_numbers()));
        for (std::int64_t first = 0; first < header.shape[0]; first += at_once) {
            const std::int64_t count = std::min(at_once, header.shape[0] - first);
            bytes.resize(static_cast<std::size_t>(count * row_bytes));
            if (auto read = reader_->read(bytes); !read) return read;
            for (std::int64_t row = 0; row < count; ++row) {
                for (std::size_t i = 0; i < features.size(); ++i) {
                    const double number = npy_number(
                        header.type,
                        &bytes[static_cast<std::size_t>(row * row_bytes + static_cast<std::int64_t>(i) * size)]);
                    if (!std::isfinite(number))
                        return Error{place_.text() + ": sample " + std::to_string(first + row + 1) +
                                     ": not a finite number"};
                    features[i] = scaled(number, i);
                }
                const std::string name = std::to_string(first + row + 1);
                const std::size_t width = targets_.size() / static_cast<std::size_t>(header.shape[0]);
                const auto known = std::span(targets_).subspan(static_cast<std::size_t>(first + row) * width, width);
                if (auto taken = sink({name, features, known}); !taken) return taken;
            }
        }
        return reader_->finish();
    }

   private:
    [[nodiscard]] float scaled(double number, std::size_t i) const {
        if (model_.columns.empty()) return static_cast<float>(number);
        const SavedColumn& column = model_.columns[i % model_.columns.size()];
        return static_cast<float>((number - column.mean) / column.deviation);
    }

    const SavedModel& model_;
    std::unique_ptr<NpyReader> reader_;
    ArrayPlace place_;
    std::vector<double> targets_;
};

/// The arrays of samples and, if there is one, of their targets.
struct SampleArrays {
    ArrayPlace inputs;
    std::optional<ArrayPlace> targets;
};

/// The only array, or the ones with the usual names for testing, or else for training.
Result<SampleArrays> samples_in(const std::filesystem::path& data) {
    auto places = list_arrays(data);
    if (!places) return places.error();
    if (places->size() == 1) return SampleArrays{places->front(), {}};
    const auto named = [&](std::string_view name) -> std::optional<ArrayPlace> {
        const auto found = std::ranges::find(*places, name, &ArrayPlace::name);
        return found == places->end() ? std::nullopt : std::optional(*found);
    };
    using Name = std::string_view ArrayNames::*;
    for (const auto& [inputs, targets] : {std::pair<Name, Name>{&ArrayNames::test_inputs, &ArrayNames::test_targets},
                                          std::pair<Name, Name>{&ArrayNames::inputs, &ArrayNames::targets}}) {
        std::optional<SampleArrays> found;
        for (const ArrayNames& names : usual_names) {
            const auto place = named(names.*inputs);
            if (!place || (found && found->inputs.name != place->name)) continue;
            if (const auto known = named(names.*targets)) return SampleArrays{*place, known};
            if (!found) found = SampleArrays{*place, {}};
        }
        if (found) return *found;
    }
    NameList listed;
    for (const ArrayPlace& place : *places) listed.add(place.name);
    return Error{data.string() + ": none of its arrays is called x_test, x, images or features; " +
                 listed.line("it has")};
}

/// All targets of the samples, as PredictedSample::known has them.
Result<std::vector<double>> read_targets(const SavedModel& model, const ArrayPlace& place, std::int64_t samples) {
    const auto reader = NpyReader::open(place);
    if (!reader) return reader.error();
    const NpyHeader& header = (*reader)->header();
    const bool classes = model.shape.task == Task::classification;
    const std::int64_t width = classes ? model.shape.targets() : model.shape.outputs;
    if (header.shape[0] != samples || header.row_numbers() != width)
        return Error{place.text() + ": of shape " + shape_text(header.shape) + ", which does not match " +
                     grouped(samples, "sample")};
    std::vector<std::byte> bytes(static_cast<std::size_t>(header.data_bytes()));
    if (auto read = (*reader)->read(bytes); !read) return read.error();
    if (auto whole = (*reader)->finish(); !whole) return whole.error();
    std::map<double, double> class_of;
    for (std::size_t i = 0; classes && i < model.targets.front().classes.size(); ++i)
        if (const auto number = number_of(model.targets.front().classes[i])) class_of[*number] = static_cast<double>(i);
    std::vector<double> targets;
    for (std::int64_t i = 0; i < samples * width; ++i) {
        const double number = npy_number(header.type, &bytes[static_cast<std::size_t>(i * bytes_of(header.type))]);
        const auto known = std::isnan(number) ? class_of.end() : class_of.find(number);  // NaN has no order
        targets.push_back(!classes                  ? number
                          : known == class_of.end() ? std::numeric_limits<double>::quiet_NaN()
                                                    : known->second);
    }
    return targets;
}

}  // namespace

OpenedSource open_array_source(const SavedModel& model, const std::filesystem::path& data) {
    const auto arrays = samples_in(data);
    if (!arrays) return arrays.error();
    auto reader = NpyReader::open(arrays->inputs);
    if (!reader) return reader.error();
    const NpyHeader& header = (*reader)->header();
    if (header.row_numbers() != model.shape.features())
        return Error{arrays->inputs.text() + ": of shape " + shape_text(header.shape) + ", and the model takes " +
                     sample_text(model.shape.sample)};
    std::vector<double> targets;
    if (arrays->targets) {
        auto read = read_targets(model, *arrays->targets, header.shape[0]);
        if (!read) return read.error();
        targets = *std::move(read);
    }
    return std::unique_ptr<PredictionSource>(
        std::make_unique<ArrayRows>(model, *std::move(reader), arrays->inputs, std::move(targets)));
}

}  // namespace hpo
