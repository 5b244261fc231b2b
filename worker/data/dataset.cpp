#include "worker/data/dataset.hpp"

#include <algorithm>
#include <array>

namespace hpo {
namespace {

constexpr std::array formats{
    DataFormat{"idx", describe_idx, load_idx},
    DataFormat{"synthetic", describe_synthetic, load_synthetic},
};

Result<const DataFormat*> find(const std::string& name) {
    const auto* found = std::find_if(formats.begin(), formats.end(), [&](const auto& row) { return row.name == name; });
    if (found == formats.end()) return Error{"data.format: unknown format \"" + name + "\""};
    return found;
}

}  // namespace

std::span<const DataFormat> data_formats() { return formats; }

Result<DataShape> describe_data(const DataConfig& config) {
    const auto format = find(config.format);
    if (!format) return format.error();
    return (*format)->describe(config);
}

Result<void> load_data(const DataConfig& config, std::uint64_t data_seed, const RowSink& sink) {
    const auto format = find(config.format);
    if (!format) return format.error();
    return (*format)->load(config, data_seed, sink);
}

}  // namespace hpo
