// Trials of the summary as bytes: parameters of every kind come back as they were.
#include "orchestrator/store/packed.hpp"

#include <gmock/gmock.h>

#include <limits>

namespace hpo {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PackedTrial, ParametersOfEveryKindComeBackAsTheyWere) {
    const std::vector<Params> all{
        {},
        {{"x", 0.1}},
        {{"x", 1.0}, {"y", std::int64_t{1}}, {"z", -0.0}},
        {{"x", 5e-324}, {"y", 1.7976931348623157e308}, {"z", 1e22}, {"w", -1.5e-7}},
        {{"n", std::int64_t{1} << 53}, {"m", -(std::int64_t{1} << 53)}, {"o", std::int64_t{0}}},
        {{"on", true}, {"off", false}},
        {{"", "empty name"}, {"t", ""}, {"u", "true"}, {"v", "1e5"}, {"w", "nan"}, {"x", "a,b}:{"}},
        {{"quote\"d", "back\\slash"}, {"new\nline", "tab\t"}, {"\xc3\xbc", "\xe2\x82\xac"}},
        {{"l", std::vector<std::int64_t>{512, 256}}, {"e", std::vector<std::int64_t>{}}},
        {{"j", JsonText{"null"}}, {"k", JsonText{"[0.5, \"a\"]"}}, {"o", JsonText{"{\"a\": 1}"}}, {"x", 2.5}},
    };
    for (const Params& params : all) {
        TrialRecord trial;
        trial.number = 3;
        trial.params = params;
        EXPECT_EQ(packed::to_trial(packed::of(trial)).params, params) << ::testing::PrintToString(params);
    }
}

TEST(PackedTrial, ABareOneLacksItsPointAndItsParametersAlone) {
    TrialRecord trial;
    trial.number = 3;
    trial.state = TrialState::complete;
    trial.point = {0.5};
    trial.params = {{"x", 0.5}};
    trial.value = 0.25;
    trial.best_step = 2;
    trial.curve = {{.step = 2, .metrics = {{"loss", 0.25}}}};
    const TrialRecord bare = packed::to_trial(packed::of(trial), true);
    EXPECT_THAT(bare.params, IsEmpty());
    EXPECT_THAT(bare.point, IsEmpty());
    EXPECT_EQ(bare.number, 3);
    EXPECT_EQ(bare.state, TrialState::complete);
    EXPECT_EQ(bare.value, trial.value);
    EXPECT_THAT(bare.curve, SizeIs(1));
}

TEST(PackedTrial, KeepsTheSeedsOfAConfigurationAlsoIfBare) {
    TrialRecord first;
    first.number = 3;
    first.value = 0.375;
    first.seeds = {0.25, 0.5};
    first.means = {{"size", 2.5}};
    TrialRecord repeat;
    repeat.number = 4;
    repeat.repeat_of = 3;
    for (const bool bare : {false, true}) {
        const TrialRecord read = packed::to_trial(packed::of(first), bare);
        EXPECT_EQ(read.seeds, first.seeds);
        EXPECT_EQ(read.means, first.means);
        EXPECT_EQ(read.repeat_of, 0);
        EXPECT_EQ(packed::to_trial(packed::of(repeat), bare).repeat_of, 3);
    }
    for (const std::int64_t wrong : {4, 5, -1}) {
        repeat.repeat_of = wrong;
        EXPECT_ANY_THROW((void)packed::to_trial(packed::of(repeat))) << wrong;
    }
}

TEST(PackedTrial, ParametersThatAreNotReadableAreRefused) {
    const auto with = [](const std::string& params) {
        return std::string("\x32") + static_cast<char>(params.size()) + params;  // field 6
    };
    EXPECT_EQ(packed::to_trial(with(R"({"x":0.5,"y":"a"})")).params, (Params{{"x", 0.5}, {"y", "a"}}));
    EXPECT_EQ(packed::to_trial(with(R"({"x": 0.5, "y": 1})")).params, (Params{{"x", 0.5}, {"y", std::int64_t{1}}}));
    for (const char* broken : {"", "{", "[]", "{\"x\"}", "{\"x\":}", "{\"x\":1", "{\"x\":1,}", "{\"x\":1}}",
                               "{\"x\":01a}", "{\"x\":1e999}", "{x:1}"})
        EXPECT_ANY_THROW((void)packed::to_trial(with(broken))) << broken;
}

}  // namespace
}  // namespace hpo
