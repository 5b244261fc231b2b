#include "worker/backends/cpu/cpu_device.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <thread>

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
    EXPECT_EQ(name.find("AMX") != std::string::npos, bfloat16_unit() == Bfloat16Unit::tiles) << name;
    EXPECT_EQ(name.find("AVX512-BF16") != std::string::npos, bfloat16_unit() == Bfloat16Unit::dots) << name;
    EXPECT_THAT(make_cpu_device(CpuLevel::x86_64_v2)->name(), ::testing::Not(::testing::ContainsRegex("AMX|BF16")));
}

TEST(CpuDevice, TakesSubnormalNumbersForZeroAlsoInThreadsStartedLater) {
    const auto device = make_cpu_device();
    const auto halved = [](float number) {
        volatile float kept = number;  // computed here, not by the compiler
        return kept * 0.5f;
    };
    const float least = std::numeric_limits<float>::min();
    EXPECT_EQ(halved(least), 0.0f) << "a subnormal result";
    EXPECT_EQ(halved(2 * least), least);
    volatile float subnormal = std::bit_cast<float>(0x00000001u);
    EXPECT_EQ(subnormal * 0x1p100f, 0.0f) << "a subnormal operand";
    std::thread([&] { EXPECT_EQ(halved(least), 0.0f); }).join();
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
