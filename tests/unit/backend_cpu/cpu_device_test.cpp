#include "worker/backends/cpu/cpu_device.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace hpo {
namespace {

TEST(CpuLevels, BeginWithTheOneEveryCpuHasAndRise) {
    const auto levels = cpu_levels();
    ASSERT_FALSE(levels.empty());
    for (std::size_t i = 0; i < levels.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(levels[i]), i);
}

TEST(CpuDevice, NamesItsLevelAndTheKernelsOfOpenBlas) {
    const std::string name = make_cpu_device()->name();
    EXPECT_NE(name.find(to_text(cpu_levels().back())), std::string::npos) << name;
    EXPECT_NE(name.find("OpenBLAS "), std::string::npos) << name;
}

TEST(BlasCore, IsLeftAloneWhereTheUserHasChosenIt) {
    const char* given = std::getenv("OPENBLAS_CORETYPE");
    const std::string kept = given ? given : "";
    setenv("OPENBLAS_CORETYPE", "Haswell", 1);
    EXPECT_FALSE(better_blas_core());
    if (given)
        setenv("OPENBLAS_CORETYPE", kept.c_str(), 1);
    else
        unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace
}  // namespace hpo
