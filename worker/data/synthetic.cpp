// Gaussian clusters: each class has a centre drawn from N(0, 1) in every feature; a sample is its class's centre plus
// noise. Everything follows from the data seed.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "hpo/random.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {
namespace {

// What the `iteration` of a draw means here.
enum Stream : std::uint64_t { centres = 0, train_noise = 1, test_noise = 2 };

/// Box and Muller's transform: four numbers of N(0, 1) from the four words.
std::array<double, 4> normals(const PhiloxBlock& block) {
    std::array<double, 4> four{};
    for (std::size_t pair = 0; pair < 4; pair += 2) {
        const double radius = std::sqrt(-2.0 * std::log((block[pair] + 1.0) * 0x1p-32));
        const double angle = 2.0 * std::numbers::pi * block[pair + 1] * 0x1p-32;
        four[pair] = radius * std::cos(angle);
        four[pair + 1] = radius * std::sin(angle);
    }
    return four;
}

/// Elements `first` and following of the stream.
void fill_normal(std::uint64_t seed, Stream stream, std::uint64_t first, double deviation, std::span<float> to) {
    std::array<double, 4> four{};
    for (std::size_t i = 0; i < to.size(); ++i) {
        const std::uint64_t element = first + i;
        if (i == 0 || element % 4 == 0) four = normals(draw_block(seed, Purpose::synthetic, stream, element / 4));
        to[i] = static_cast<float>(deviation * four[element % 4]);
    }
}

void make(const DataConfig& config, std::uint64_t seed, Part part, std::int64_t count, const std::vector<float>& centre,
          const RowSink& sink) {
    const Stream stream = part == Part::train ? train_noise : test_noise;
    const auto features = static_cast<std::size_t>(config.features);
    const std::size_t at_once = std::max<std::size_t>(1, 65536 / features);
    std::vector<float> values;
    std::vector<std::int32_t> labels;
    for (std::int64_t first = 0; first < count; first += static_cast<std::int64_t>(labels.size())) {
        labels.resize(std::min(at_once, static_cast<std::size_t>(count - first)));
        values.resize(labels.size() * features);
        fill_normal(seed, stream, static_cast<std::uint64_t>(first * config.features), config.noise, values);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            labels[i] = static_cast<std::int32_t>((first + static_cast<std::int64_t>(i)) % config.classes);
            const float* of_class = centre.data() + static_cast<std::size_t>(labels[i]) * features;
            for (std::size_t j = 0; j < features; ++j) values[i * features + j] += of_class[j];
        }
        sink(part, first, std::as_bytes(std::span(values)), labels);
    }
}

}  // namespace

Result<DataShape> describe_synthetic(const DataConfig& config) {
    return DataShape{config.samples, config.samples / 4, config.features, config.classes, false};
}

Result<void> load_synthetic(const DataConfig& config, std::uint64_t data_seed, const RowSink& sink) {
    std::vector<float> centre(static_cast<std::size_t>(config.classes * config.features));
    fill_normal(data_seed, centres, 0, 1.0, centre);
    make(config, data_seed, Part::train, config.samples, centre, sink);
    make(config, data_seed, Part::test, config.samples / 4, centre, sink);
    return {};
}

}  // namespace hpo
