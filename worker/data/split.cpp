#include "worker/data/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hpo/random.hpp"

namespace hpo {
namespace {

/// Fisher and Yates.
void shuffle(std::uint64_t seed, std::vector<std::int32_t>& items) {
    PhiloxBlock block{};
    for (std::size_t left = items.size(), element = 0; left > 1; --left, ++element) {
        if (element % 4 == 0) block = draw_block(seed, Purpose::split, 0, element / 4);
        // A 32-bit draw scaled to [0, left): its bias is below left / 2^32.
        const std::size_t pick = (std::uint64_t{block[element % 4]} * left) >> 32;
        std::swap(items[left - 1], items[pick]);
    }
}

}  // namespace

Result<SplitSizes> split_sizes(const DataConfig& config, std::int64_t samples) {
    if (config.subset > samples)
        return Error{"data.subset: " + std::to_string(config.subset) + " is more than the " + std::to_string(samples) +
                     " training samples there are"};
    const std::int64_t used = config.subset > 0 ? config.subset : samples;
    const auto validation = std::max<std::int64_t>(1, std::llround(config.validation * static_cast<double>(used)));
    if (used - validation < 1)
        return Error{"data.validation: of " + std::to_string(used) + " samples none is left to train on"};
    return SplitSizes{used - validation, validation};
}

Split make_split(const SplitSizes& sizes, std::int64_t samples, std::uint64_t data_seed) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(samples));
    std::iota(order.begin(), order.end(), 0);
    shuffle(data_seed, order);
    const auto middle = order.begin() + sizes.validation;
    return {{middle, middle + sizes.train}, {order.begin(), middle}};
}

}  // namespace hpo
