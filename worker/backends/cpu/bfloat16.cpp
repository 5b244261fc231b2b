#include "worker/backends/cpu/bfloat16.hpp"

#include <algorithm>

#include "worker/backends/cpu/bfloat16_blocks.hpp"
#include "worker/backends/cpu/thread_pool.hpp"

namespace hpo {

struct alignas(64) Bfloat16Products::Block {
    std::uint16_t right[Bfloat16Block::columns_at_once * Bfloat16Block::depth_at_once];
};

void Bfloat16Products::Free::operator()(Block* block) const { delete block; }

Bfloat16Products::Bfloat16Products(Bfloat16Unit unit, ThreadPool& threads)
    : block_(new Block), unit_(unit), threads_(threads) {}

void Bfloat16Products::multiply(std::int64_t m, std::int64_t n, std::int64_t k, Bfloat16Matrix a, Bfloat16Matrix b,
                                float* c, bool add) {
    constexpr std::int64_t width = Bfloat16Block::columns_at_once, most_depth = Bfloat16Block::depth_at_once;
    constexpr std::int64_t least_tiles = 256, least_products = std::int64_t{1} << 22;  // of a part: some 20 us
    const auto tiles_of = [](std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; };
    for (std::int64_t n0 = 0; n0 < n; n0 += width)
        for (std::int64_t k0 = 0; k0 < k; k0 += most_depth) {
            const std::int64_t columns = std::min(n - n0, width), summed = std::min(k - k0, most_depth);
            const std::int64_t steps = tiles_of(summed, Bfloat16Block::depth);
            const Bfloat16Block block{m, n, k, a, b, c, n0, columns, k0, steps, add || k0 > 0, block_->right};
            const Parts across =
                cut(2 * tiles_of(columns, Bfloat16Block::pair), std::max<std::int64_t>(1, least_tiles / steps));
            threads_.run(across.count, [&](int part) {
                pack_right_tiles(unit_, block, across.first(part), across.first(part) + across.length(part));
            });
            const Parts strips =
                cut(tiles_of(m, Bfloat16Block::pair),
                    std::max<std::int64_t>(1, least_products / (Bfloat16Block::pair * columns * summed)));
            threads_.run(strips.count, [&](int part) {
                multiply_strips(unit_, block, strips.first(part), strips.first(part) + strips.length(part));
            });
        }
}

}  // namespace hpo
