#include "hpo/solve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace hpo {
namespace {

// Only the lower triangle counts; 99 stands for anything.
const std::vector<double> matrix{4, 99, 99, 2, 5, 99, 1, 3, 6};
const std::vector<double> whole{4, 2, 1, 2, 5, 3, 1, 3, 6};

TEST(Solve, FindsTheSolution) {
    const std::vector<double> expected{1, -2, 3};
    std::vector<double> right(3, 0);
    for (std::size_t i = 0; i < 9; ++i) right[i / 3] += whole[i] * expected[i % 3];
    const std::vector<double> found = solve(matrix, right);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
}

TEST(Solve, InverseTimesMatrixIsTheIdentity) {
    const std::vector<double> found = inverse(matrix, 3, 1e-11);
    ASSERT_EQ(found.size(), 9U);
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < 3; ++k) sum += found[i * 3 + k] * whole[k * 3 + j];
            EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-12) << i << ' ' << j;
        }
}

TEST(Solve, NoInverseOfDependentRowsNorOfNaN) {
    EXPECT_TRUE(inverse({1, 1, 1, 1}, 2, 1e-11).empty());
    EXPECT_TRUE(inverse({1, 0, NAN, 1}, 2, 1e-11).empty());
}

}  // namespace
}  // namespace hpo
