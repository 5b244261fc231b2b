// Products of float32 matrices: those of oneDNN, where it is installed, and those of OpenBLAS.
#include "worker/backends/cpu/products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "hpo/random.hpp"

namespace hpo {
namespace {

struct Shape {
    std::int64_t m, n, k;
};

class Products : public ::testing::TestWithParam<std::tuple<Shape, bool, bool, Write>> {};

INSTANTIATE_TEST_SUITE_P(Of, Products,
                         ::testing::Combine(::testing::Values(Shape{3, 5, 7}, Shape{256, 10, 128}, Shape{256, 1, 64},
                                                              Shape{1, 64, 257}, Shape{64, 96, 128},
                                                              Shape{33, 65, 257}),
                                            ::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(Write::set, Write::add)));

TEST_P(Products, EqualSumsInDoublePrecision) {
    const auto& [shape, a_transposed, b_transposed, write] = GetParam();
    const auto [m, n, k] = shape;
    const auto drawn = [](std::int64_t count, std::uint64_t element) {
        std::vector<float> numbers(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<float>(2 * draw_unit(1, Purpose::synthetic, i, element) - 1);
        return numbers;
    };
    const auto at = [](const std::vector<float>& matrix, std::int64_t index) {
        return static_cast<double>(matrix[static_cast<std::size_t>(index)]);
    };
    const std::vector<float> a = drawn(m * k, 1), b = drawn(k * n, 2), before = drawn(m * n, 3);
    std::vector<float> c = before;
    ThreadPool threads;
    multiply(threads, m, n, k, {a.data(), a_transposed}, {b.data(), b_transposed}, c.data(), write);
    double worst = 0;
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = write == Write::add ? at(before, i * n + j) : 0;
            for (std::int64_t l = 0; l < k; ++l)
                sum += at(a, a_transposed ? l * m + i : i * k + l) * at(b, b_transposed ? j * k + l : l * n + j);
            worst = std::max(worst, std::abs(sum - at(c, i * n + j)));
        }
    EXPECT_LT(worst, 1e-5 * std::sqrt(static_cast<double>(k)));
}

#if defined(__x86_64__)
TEST(ProductLibraries, ContainOneDnnWhichIsInstalledForTests) {
    EXPECT_EQ(product_libraries().find("oneDNN "), 0u) << product_libraries();
}
#endif

}  // namespace
}  // namespace hpo
