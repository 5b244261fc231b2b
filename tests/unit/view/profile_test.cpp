#include "orchestrator/view/profile.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpo::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* lines =
    R"({"measured":"update","backend":"cpu","name":"cpu, AVX","identity":"one","precision":"float32","batch_size":256,"micro_batches":2,"parameters":1234,"updates":20}
{"measured":"whole","seconds":0.004}
{"measured":"operation","operation":"adamw","shape":"1 x 9","calls":1,"flops":0,"bytes":1e6,"seconds":0.001,"least":0.0009,"most":0.002}
{"measured":"operation","operation":"linear","shape":"256 x 784 x 512","calls":2,"flops":3e8,"bytes":1e6,"seconds":0.003,"least":0.0029,"most":0.0035}
{"measured":"a later kind"}
)";

TEST(ProfileView, ShowsTheLongestOperationFirstWithItsShareAndItsRate) {
    const auto profile = read_profile(lines);
    ASSERT_TRUE(profile) << profile.error().message;
    DeviceCalibration peaks;
    peaks.memory_rate = 4e9;
    peaks.products.push_back({"float32", 1, 1, 1, 1, 2e11, 1, MeasuredTime{1, 1, 1}, {}});
    const std::string text = draw_profile(*profile, &peaks, {.width = 120});
    EXPECT_THAT(text, Mentions("cpu, AVX:", "of 256", "2 micro-batches", "1234 parameters", "float32", "20 updates"));
    EXPECT_THAT(
        text, ::testing::ContainsRegex("linear +256 x 784 x 512 +2 +3.0 ms +2.9 ms +3.5 ms +75 % +100 GFLOP/s +50 %"));
    EXPECT_THAT(text, ::testing::ContainsRegex("adamw +1 x 9 +1 +1.0 ms +900 us +2.0 ms +25 % +953.7 MiB/s +25 %"));
    EXPECT_LT(text.find("linear"), text.find("adamw"));
    EXPECT_THAT(text, Mentions("update", "4.0 ms"));
    const std::string without = draw_profile(*profile, nullptr, {.width = 120});
    EXPECT_THAT(without, HasSubstr("hpo bench devices"));
    EXPECT_THAT(without, Not(HasSubstr("50 %")));
}

TEST(ProfileView, TheWorkersErrorAndLinesThatAreNoProfileAreErrors) {
    EXPECT_EQ(read_profile("{\"error\": \"training.batch_size: too many\"}\n").error().message,
              "training.batch_size: too many");
    EXPECT_THAT(read_profile("{\"measured\": \"operation\"}\n").error().message, Mentions("line 1"));
    EXPECT_THAT(read_profile("").error().message, HasSubstr("nothing"));
}

}  // namespace
}  // namespace hpo::view
