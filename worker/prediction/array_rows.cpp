// Rows of a NumPy array, standardized column by column as the model's training rows were.
#include <algorithm>
#include <array>
#include <cmath>

#include "worker/data/data_text.hpp"
#include "worker/data/npy_reader.hpp"
#include "worker/prediction/samples.hpp"

namespace hpo {
namespace {

constexpr std::int64_t at_once_bytes = std::int64_t{1} << 18;

class ArrayRows final : public PredictionSource {
   public:
    ArrayRows(const SavedModel& model, std::unique_ptr<NpyReader> reader, ArrayPlace place)
        : model_(model), reader_(std::move(reader)), place_(std::move(place)) {}

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
                if (auto taken = sink({name, features}); !taken) return taken;
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
};

/// The array with the samples: the only one, or the first one with a usual name.
Result<ArrayPlace> samples_in(const std::filesystem::path& data) {
    auto places = list_arrays(data);
    if (!places) return places.error();
    if (places->size() == 1) return places->front();
    constexpr std::array names{"x_test", "X_test", "test_images", "x", "X", "images", "features", "inputs"};
    NameList listed;
    for (const ArrayPlace& place : *places) listed.add(place.name);
    for (const char* const name : names)
        if (const auto found = std::ranges::find(*places, name, &ArrayPlace::name); found != places->end())
            return *found;
    return Error{data.string() + ": none of its arrays is called x_test, x, images, features or inputs; " +
                 listed.line("it has")};
}

}  // namespace

OpenedSource open_array_source(const SavedModel& model, const std::filesystem::path& data) {
    auto place = samples_in(data);
    if (!place) return place.error();
    auto reader = NpyReader::open(*place);
    if (!reader) return reader.error();
    const NpyHeader& header = (*reader)->header();
    if (header.row_numbers() != model.shape.features())
        return Error{place->text() + ": of shape " + shape_text(header.shape) + ", and the model takes " +
                     sample_text(model.shape.sample)};
    return std::unique_ptr<PredictionSource>(std::make_unique<ArrayRows>(model, *std::move(reader), *place));
}

}  // namespace hpo
