#include "worker/training/fusion.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace hpo {
namespace {

// Below these extents, a device with thousands of cores finishes before the next launch reaches it.
constexpr std::int64_t least_batch = 64, coarse_batch = 1024;
constexpr std::int64_t least_width = 128, coarse_width = 512;

/// Keys whose values may differ between trials that train side by side.
bool may_differ(std::string_view key) {
    constexpr std::array names = {"seed",    "lr",       "weight_decay", "momentum", "beta1", "beta2",
                                  "epsilon", "schedule", "warmup",       "dropout",  "clip",  "label_smoothing"};
    return std::find(names.begin(), names.end(), key) != names.end();
}

}  // namespace

std::int64_t padded_extent(std::int64_t extent, std::int64_t least, std::int64_t coarse) {
    if (extent > 4 * coarse) return extent;
    const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(extent, least))));
    const std::int64_t between = power / 4 * 3;
    return power > coarse && extent <= between ? between : power;
}

Configuration bucket_of(Configuration configuration) {
    TrainingConfig& training = configuration.training;
    training.batch_size = padded_extent(training.batch_size, least_batch, coarse_batch);
    training.optimizer = OptimizerKind::adamw;
    training.lr =
        TrainingConfig{}.lr;  // a rate that suits this optimizer, for measurements that train the bucket itself
    training.eval_every = 0;
    Params& all = configuration.all;
    all["batch_size"] = training.batch_size;
    all["optimizer"] = std::string("adamw");
    all["eval_every"] = std::int64_t{0};
    all["activation"] = std::string("gelu");
    auto widths = std::get<std::vector<std::int64_t>>(all.at("hidden"));
    for (std::int64_t& width : widths) width = padded_extent(width, least_width, coarse_width);
    all["hidden"] = std::move(widths);
    return configuration;
}

std::string fusion_key(const Configuration& laid_out, std::uint64_t data_seed) {
    std::string text = "data_seed=" + std::to_string(data_seed);
    for (const auto& [key, value] : laid_out.all)
        if (!may_differ(key)) text += ' ' + key + '=' + to_text(value);
    return text;
}

}  // namespace hpo
