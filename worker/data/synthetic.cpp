// Gaussian clusters: each class has a centre drawn from N(0, 1) in every feature; a sample is its class's centre plus
// noise. For regression features are N(0, 1), and the target is a sum of sines along random directions, with a variance
// of about 1, plus noise. For labels, each is 1 where the features along a random direction, plus noise, are above 0. A
// sample of a sequence holds as many of these as it has steps.
//
// With a vocabulary, samples are sequences of tokens: the token two steps back tells the next one by a permutation that
// all sequences share, and one token of eight is any. Everything follows from the data seed.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "hpo/random.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

// The streams of random numbers: the `iteration` of a draw.
enum Stream : std::uint64_t {
    centres = 0,
    train_noise = 1,
    test_noise = 2,
    train_target_noise = 3,
    test_target_noise = 4,
    train_tokens = 5,
    test_tokens = 6,
};

constexpr std::size_t waves = 4;

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

/// The vectors of a part, each with its target.
struct Source {
    const DataConfig& config;
    std::uint64_t seed;
    Part part;
    std::int64_t count;       ///< of vectors
    std::int64_t per_sample;  ///< vectors
    std::size_t targets = 1;  ///< numbers of a vector's target

    [[nodiscard]] std::size_t features() const {
        return config.vocabulary > 0 ? 1 : static_cast<std::size_t>(config.features);
    }
    [[nodiscard]] Stream noise() const { return part == Part::train ? train_noise : test_noise; }
};

/// Calls fill(first vector, features, targets) for the vectors of some samples at a time, and passes them on.
template <class Target, class Fill>
void make(const Source& source, const SampleSink& sink, Fill&& fill) {
    const std::size_t features = source.features();
    const auto per_sample = static_cast<std::size_t>(source.per_sample);
    const std::size_t at_once = std::max<std::size_t>(1, 65536 / (features * per_sample)) * per_sample;
    std::vector<float> values;
    std::vector<Target> targets;
    for (std::int64_t first = 0, here = 0; first < source.count; first += here) {
        here = std::min(static_cast<std::int64_t>(at_once), source.count - first);
        targets.resize(static_cast<std::size_t>(here) * source.targets);
        values.resize(static_cast<std::size_t>(here) * features);
        fill(first, std::span(values), std::span(targets));
        sink({source.part, first / source.per_sample, here / source.per_sample, std::as_bytes(std::span(values)),
              std::as_bytes(std::span(targets))});
    }
}

std::int32_t class_of(std::int64_t vector, const DataConfig& config) {
    return static_cast<std::int32_t>(vector % config.classes);
}

void make_clusters(const Source& source, const std::vector<float>& centre, const SampleSink& sink) {
    const DataConfig& config = source.config;
    const auto features = static_cast<std::size_t>(config.features);
    make<std::int32_t>(source, sink, [&](std::int64_t first, std::span<float> values, std::span<std::int32_t> labels) {
        fill_normal(source.seed, source.noise(), static_cast<std::uint64_t>(first * config.features), config.noise,
                    values);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            labels[i] = class_of(first + static_cast<std::int64_t>(i), config);
            const float* of_class = centre.data() + static_cast<std::size_t>(labels[i]) * features;
            for (std::size_t j = 0; j < features; ++j) values[i * features + j] += of_class[j];
        }
    });
}

void make_curved(const Source& source, const std::vector<float>& directions, const SampleSink& sink) {
    const DataConfig& config = source.config;
    const auto features = static_cast<std::size_t>(config.features);
    make<float>(source, sink, [&](std::int64_t first, std::span<float> values, std::span<float> targets) {
        fill_normal(source.seed, source.noise(), static_cast<std::uint64_t>(first * config.features), 1.0, values);
        fill_normal(source.seed, source.part == Part::train ? train_target_noise : test_target_noise,
                    static_cast<std::uint64_t>(first), config.noise, targets);
        for (std::size_t i = 0; i < targets.size(); ++i)
            for (std::size_t wave = 0; wave < waves; ++wave) {
                double along = 0;
                for (std::size_t j = 0; j < features; ++j)
                    along += double{values[i * features + j]} * directions[wave * features + j];
                // A sine of N(0, 1) has the variance (1 - exp(-2)) / 2.
                targets[i] += static_cast<float>(std::sin(along) * std::sqrt(2 / (1 - std::exp(-2.0)) / waves));
            }
    });
}

void make_labels(const Source& source, const std::vector<float>& directions, const SampleSink& sink) {
    const DataConfig& config = source.config;
    const auto features = static_cast<std::size_t>(config.features);
    make<float>(source, sink, [&](std::int64_t first, std::span<float> values, std::span<float> labels) {
        fill_normal(source.seed, source.noise(), static_cast<std::uint64_t>(first * config.features), 1.0, values);
        fill_normal(source.seed, source.part == Part::train ? train_target_noise : test_target_noise,
                    static_cast<std::uint64_t>(first) * source.targets, config.noise, labels);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const float* x = values.data() + i / source.targets * features;
            const float* direction = directions.data() + i % source.targets * features;
            double along = labels[i];
            for (std::size_t j = 0; j < features; ++j) along += double{x[j]} * direction[j];
            labels[i] = along > 0 ? 1 : 0;
        }
    });
}

/// Returns for each token the one that follows it two steps later.
std::vector<std::uint32_t> successors(std::int64_t vocabulary, std::uint64_t seed) {
    std::vector<std::uint32_t> order(static_cast<std::size_t>(vocabulary));
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = order.size(); i-- > 1;)
        std::swap(order[i], order[draw_block(seed, Purpose::synthetic, centres, i)[0] % (i + 1)]);
    return order;
}

void make_tokens(const Source& source, const SampleSink& sink) {
    const auto steps = static_cast<std::size_t>(source.per_sample);
    const auto vocabulary = static_cast<std::uint32_t>(source.config.vocabulary);
    const std::vector<std::uint32_t> next = successors(source.config.vocabulary, source.seed);
    const Stream stream = source.part == Part::train ? train_tokens : test_tokens;
    make<std::int32_t>(source, sink, [&](std::int64_t first, std::span<float> values, std::span<std::int32_t> targets) {
        for (std::size_t begin = 0; begin < targets.size(); begin += steps) {
            const std::uint64_t sample = (static_cast<std::uint64_t>(first) + begin) / steps;
            std::uint32_t last[2] = {0, 0};
            for (std::size_t step = 0; step <= steps; ++step) {
                const PhiloxBlock drawn =
                    draw_block(source.seed, Purpose::synthetic, stream, sample * (steps + 1) + step);
                const bool any = step < 2 || drawn[1] % 8 == 0;
                const std::uint32_t token = any ? drawn[0] % vocabulary : next[last[step % 2]];
                last[step % 2] = token;
                if (step < steps) values[begin + step] = static_cast<float>(token);
                if (step > 0) targets[begin + step - 1] = static_cast<std::int32_t>(token);
            }
        }
    });
}

}  // namespace

Result<DataShape> describe_synthetic(const DataConfig& config) {
    DataShape shape;
    shape.not_in_files = "synthetic samples lie in no file";
    shape.train = config.samples;
    shape.test = config.samples / 4;
    shape.target_per_step = config.steps > 0;
    shape.task = config.task.value_or(Task::classification);
    shape.outputs = shape.task == Task::regression ? 1 : config.classes;
    if (config.vocabulary > 0) {
        if (!shape.target_per_step)
            return Error{"data.vocabulary: tokens lie in sequences: give their length as data.steps"};
        if (shape.task != Task::classification)
            return Error{"data.vocabulary: the next token is a class: leave out task: " +
                         std::string(info_of(shape.task).name)};
        shape.sample = TokenShape{config.steps, config.vocabulary};
        shape.outputs = config.vocabulary;
        shape.standardised = true;
    } else if (shape.target_per_step) {
        shape.sample = SequenceShape{config.steps, config.features};
    } else {
        shape.sample = VectorShape{config.features};
    }
    return shape;
}

Result<Split> split_synthetic(const DataConfig& config, const SplitSizes& sizes, std::uint64_t data_seed) {
    const bool one_class_each = config.task.value_or(Task::classification) == Task::classification && config.steps == 0;
    if (config.folds == 0 || !one_class_each) return make_split(sizes, config.samples, data_seed, config.fold);
    std::vector<std::int32_t> classes(static_cast<std::size_t>(config.samples));
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = class_of(static_cast<std::int64_t>(i), config);
    return cut_split(sizes, split_order(SplitKind::stratified, config.samples, data_seed, 0, classes), config.fold);
}

Result<DataFacts> load_synthetic(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink) {
    const Task task = config.task.value_or(Task::classification);
    const auto features = static_cast<std::size_t>(config.features), classes = static_cast<std::size_t>(config.classes);
    // Centres of clusters, or directions: along one of these, features vary by 1.
    std::vector<float> numbers((task == Task::regression ? waves : classes) * features);
    fill_normal(data_seed, centres, 0,
                task == Task::classification ? 1.0 : 1 / std::sqrt(static_cast<double>(features)), numbers);
    for (const auto& [part, count] :
         {std::pair(Part::train, config.samples), std::pair(Part::test, config.samples / 4)}) {
        const std::int64_t per_sample = std::max<std::int64_t>(1, config.steps);
        const Source source{
            config, data_seed, part, count * per_sample, per_sample, task == Task::multi_label ? classes : 1};
        if (config.vocabulary > 0)
            make_tokens(source, sink);
        else if (task == Task::multi_label)
            make_labels(source, numbers, sink);
        else
            task == Task::regression ? make_curved(source, numbers, sink) : make_clusters(source, numbers, sink);
    }
    return DataFacts{};
}

}  // namespace hpo
