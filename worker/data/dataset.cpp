#include "worker/data/dataset.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "worker/data/arrays.hpp"
#include "worker/data/image_folder.hpp"
#include "worker/data/series.hpp"
#include "worker/data/split.hpp"
#include "worker/data/table.hpp"
#include "worker/data/tokens.hpp"

namespace hpo {
namespace {

constexpr std::array formats{
    DataFormat{"idx", describe_idx, load_idx, split_idx, explain_idx, open_idx},
    DataFormat{"csv", describe_table, load_table, split_table, explain_table},
    DataFormat{"parquet", describe_table, load_table, split_table, explain_table},
    DataFormat{"series", describe_series, load_series, split_series, explain_series, open_series},
    DataFormat{"npy", describe_npy, load_npy, split_npy, explain_npy, open_npy},
    DataFormat{"images", describe_images, load_images, split_images, explain_images, open_images},
    DataFormat{"text", describe_tokens, load_tokens, split_tokens, explain_tokens, open_tokens},
    DataFormat{"tokens", describe_tokens, load_tokens, split_tokens, explain_tokens, open_tokens},
    DataFormat{"synthetic", describe_synthetic, load_synthetic, split_synthetic},
};

Result<const DataFormat*> find(const std::string& name) {
    const auto* found = std::find_if(formats.begin(), formats.end(), [&](const auto& row) { return row.name == name; });
    if (found == formats.end()) return Error{"data.format: unknown format \"" + name + "\""};
    return found;
}

/// Returns true if there is memory for the rows of a split, which may have fewer than `sizes` where folds differ.
bool fits(const Split& split, const DataShape& shape, const SplitSizes& sizes) {
    const auto in = [&](const std::vector<std::int32_t>& rows, std::int64_t most) {
        return std::ssize(rows) <= most && std::ranges::all_of(rows, [&](auto row) { return row < shape.train; });
    };
    return !split.train.empty() && in(split.train, sizes.train) && in(split.validation, sizes.validation);
}

}  // namespace

Result<DataShape> describe_data(const DataConfig& config) {
    const auto format = find(config.format);
    if (!format) return format.error();
    return (*format)->describe(config);
}

Result<Split> split_data(const DataConfig& config, const DataShape& shape, const SplitSizes& sizes,
                         std::uint64_t data_seed) {
    const auto format = find(config.format);
    if (!format) return format.error();
    if (!(*format)->split) return make_split(sizes, shape.train, data_seed, config.fold);
    auto split = (*format)->split(config, sizes, data_seed);
    if (split && !fits(*split, shape, sizes)) return Error{config.path + ": changed while it was read"};
    return split;
}

std::string sample_text(const SampleShape& sample) {
    return std::visit(Overloaded{[](const VectorShape& vector) { return grouped(vector.features, "feature"); },
                                 [](const ImageShape& image) {
                                     return "images of " + std::to_string(image.height) + " x " +
                                            std::to_string(image.width) +
                                            (image.channels == 1 ? "" : " x " + std::to_string(image.channels));
                                 },
                                 [](const SequenceShape& sequence) {
                                     return "sequences of " + grouped(sequence.steps, "step") + " x " +
                                            grouped(sequence.features, "feature");
                                 },
                                 [](const TokenShape& tokens) {
                                     return "sequences of " + std::to_string(tokens.steps) + " tokens out of " +
                                            std::to_string(tokens.vocabulary);
                                 }},
                      sample);
}

Result<std::vector<std::string>> explain_data(const DataConfig& config) {
    const auto format = find(config.format);
    if (!format) return format.error();
    if ((*format)->explain) return (*format)->explain(config);
    const auto shape = (*format)->describe(config);
    if (!shape) return shape.error();
    const bool next_token = std::holds_alternative<TokenShape>(shape->sample) && shape->target_per_step;
    const std::string target = next_token ? "the next token"
                               : shape->task == Task::classification
                                   ? std::to_string(shape->outputs) + " classes"
                                   : std::to_string(shape->outputs) +
                                         (shape->task == Task::multi_label ? " label" : " number") +
                                         (shape->outputs == 1 ? "" : "s");
    return std::vector<std::string>{std::to_string(shape->train) + " samples to train and validate on, " +
                                    std::to_string(shape->test) + " to test; " + sample_text(shape->sample) +
                                    "; the target " + (shape->target_per_step ? "of each step is " : "is ") + target};
}

Result<DataFacts> load_data(const DataConfig& config, std::uint64_t data_seed, const SampleSink& sink) {
    const auto format = find(config.format);
    if (!format) return format.error();
    return (*format)->load(config, data_seed, sink);
}

Result<std::unique_ptr<SampleReader>> open_samples(const DataConfig& config, std::uint64_t data_seed) {
    const auto format = find(config.format);
    if (!format) return format.error();
    if (!(*format)->open) return Error{"data.placement: files is not for format " + config.format};
    return (*format)->open(config, data_seed);
}

}  // namespace hpo
