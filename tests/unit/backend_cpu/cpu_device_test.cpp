#include "worker/backends/cpu/cpu_device.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "worker/backends/cpu/kernels.hpp"

namespace hpo {
namespace {

TEST(CpuLevels, BeginWithTheOneEveryCpuOfTheArchitectureHasAndRise) {
    std::string found;
    for (const CpuLevel& level : cpu_levels()) found += std::string(level.name) + ' ';
    EXPECT_THAT(found, ::testing::AnyOf("x86-64-v2 ", "x86-64-v2 x86-64-v3 ", "x86-64-v2 x86-64-v3 x86-64-v4 ",
                                        "armv8-a ", "armv8-a armv8-a+sve "));
}

TEST(CpuLevels, PermuteManyPositionsAsTheOrderDoesOneByOne) {
    for (const CpuLevel& level : cpu_levels())
        for (const std::uint32_t count : {1U, 2U, 5U, 257U, 10'000U}) {
            const EpochOrder order(3, 1, count);
            std::vector<std::uint32_t> positions(count);
            std::iota(positions.begin(), positions.end(), 0U);
            level.kernels->permute(count, order, positions.data());
            for (std::uint32_t i = 0; i < count; ++i)
                ASSERT_EQ(positions[i], order.at(i)) << level.name << ", " << count << " samples";
        }
}

TEST(CpuDevice, NamesItsLevelTheUnitForBfloat16AndTheKernelsOfOpenBlas) {
    const std::string name = make_cpu_device()->name();
    EXPECT_THAT(name, ::testing::StartsWith("cpu, " + std::string(cpu_levels().back().name) + ", "));
    EXPECT_NE(name.find(", OpenBLAS "), std::string::npos) << name;
    EXPECT_EQ(name.find(", AMX, ") != std::string::npos, bfloat16_unit() == Bfloat16Unit::tiles) << name;
    EXPECT_EQ(name.find("BF16, ") != std::string::npos, bfloat16_unit() == Bfloat16Unit::vectors) << name;
    if (cpu_levels().size() > 1) {
        EXPECT_THAT(make_cpu_device(cpu_levels().front())->name(),
                    ::testing::Not(::testing::ContainsRegex("AMX|BF16")));
    }
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
