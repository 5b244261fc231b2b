#include "worker/backends/cpu/bfloat16.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "worker/backends/cpu/cpu_device.hpp"
#include "worker/backends/cpu/thread_pool.hpp"

namespace hpo {
namespace {

/// Small whole numbers: they are bfloat16 numbers, and so are their sums in float32 exact in every order.
struct Whole {
    std::vector<int> numbers;
    std::vector<std::uint16_t> bits;
    std::int64_t columns;

    Whole(std::int64_t rows, std::int64_t width, int seed) : columns(width) {
        for (std::int64_t i = 0; i < rows * columns; ++i) {
            numbers.push_back(static_cast<int>((i * 7 + i / columns * 3 + seed) % 11) - 5);
            const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(numbers.back()));
            bits.push_back(static_cast<std::uint16_t>(wide >> 16));
        }
    }
    [[nodiscard]] int at(std::int64_t row, std::int64_t column, bool transposed) const {
        const std::int64_t i = transposed ? column * columns + row : row * columns + column;
        return numbers[static_cast<std::size_t>(i)];
    }
};

TEST(Bfloat16Products, AreExactInEveryFormAndSizeAndTouchNothingElse) {
    const Bfloat16Unit best = bfloat16_unit();
    if (best == Bfloat16Unit::none) {
        EXPECT_FALSE(make_cpu_device()->computes_in(Precision::bfloat16)) << "no plan can lead to them";
        return;
    }
    struct Sizes {
        std::int64_t m, n, k;
    };
    ThreadPool threads;
    std::vector<Bfloat16Unit> units{Bfloat16Unit::vectors};
    if (best != units.front()) units.push_back(best);
    // Parts of tiles, one tile, four, and more than one block of columns and of depth.
    for (const auto& [m, n, k] : {Sizes{1, 1, 1}, Sizes{16, 16, 32}, Sizes{15, 17, 33}, Sizes{32, 32, 512},
                                  Sizes{33, 31, 513}, Sizes{48, 1057, 70}, Sizes{70, 40, 1100}})
        for (const bool left : {false, true})
            for (const bool right : {false, true})
                for (const bool add : {false, true}) {
                    const Whole a(left ? k : m, left ? m : k, 1), b(right ? n : k, right ? k : n, 4);
                    std::vector<float> wanted(static_cast<std::size_t>(m * n) + 64, 3.0F);
                    for (std::int64_t i = 0; i < m; ++i)
                        for (std::int64_t j = 0; j < n; ++j) {
                            int sum = add ? 3 : 0;
                            for (std::int64_t l = 0; l < k; ++l) sum += a.at(i, l, left) * b.at(l, j, right);
                            wanted[static_cast<std::size_t>(i * n + j)] = static_cast<float>(sum);
                        }
                    for (const Bfloat16Unit unit : units) {
                        std::vector<float> c(wanted.size(), 3.0F);
                        Bfloat16Products(unit, threads)
                            .multiply(m, n, k, {a.bits.data(), left}, {b.bits.data(), right}, c.data(), add);
                        EXPECT_EQ(c, wanted) << m << ' ' << n << ' ' << k << ' ' << left << right << add;
                    }
                }
}

}  // namespace
}  // namespace hpo
