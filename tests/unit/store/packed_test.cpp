// Trials of the summary as bytes: parameters of every kind come back as they
// were.
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
    const TrialRecord bare = packed::to_trial(packed::of(trial), TrialParts::without_parameters);
    EXPECT_THAT(bare.params, IsEmpty());
    EXPECT_THAT(bare.point, IsEmpty());
    EXPECT_EQ(bare.number, 3);
    EXPECT_EQ(bare.state, TrialState::complete);
    EXPECT_EQ(bare.value, trial.value);
    EXPECT_THAT(bare.curve, SizeIs(1));
}

TEST(PackedTrial, HasThePartsThatAreRead) {
    TrialRecord trial;
    trial.number = 3;
    trial.attempt = 2;
    trial.trained = 2;
    trial.point = {0.5};
    trial.params = {{"x", 0.5}};
    trial.value = 0.25;
    trial.best_step = 2;
    trial.rule = "asha";
    trial.allocation = Allocation{.device = "cpu 0"};
    trial.curve = {{.step = 2, .metrics = {{"loss", 0.25}}}};
    for (const TrialState state : {TrialState::queued, TrialState::paused, TrialState::stopped, TrialState::complete}) {
        trial.state = state;
        const TrialRecord read = packed::to_trial(packed::of(trial), TrialParts::standing);
        EXPECT_EQ(read.state, state);
        EXPECT_EQ(read.number, 3);
        EXPECT_EQ(read.attempt, 2);
        EXPECT_EQ(read.trained, 2);
        EXPECT_EQ(read.value, 0.25);
        EXPECT_EQ(read.best_step, 2);
        EXPECT_EQ(read.rule, "asha");
        EXPECT_THAT(read.params, IsEmpty());
        EXPECT_THAT(read.curve, SizeIs(is_final(state) ? 0 : 1));
        const TrialRecord listed = packed::to_trial(packed::of(trial), TrialParts::listed);
        EXPECT_EQ(listed.state, state);
        EXPECT_EQ(listed.value, 0.25);
        EXPECT_EQ(listed.params, trial.params);
        EXPECT_THAT(listed.point, IsEmpty());
        EXPECT_THAT(listed.curve, SizeIs(1));
        const TrialRecord shown = packed::to_trial(packed::of(trial), TrialParts::shown);
        EXPECT_EQ(shown.allocation->device, "cpu 0");
        EXPECT_EQ(shown.params, trial.params);
        EXPECT_THAT(shown.point, IsEmpty());
    }
}

TEST(PackedTrial, OneReaderGivesEachTrialItsOwn) {
    packed::TrialReader reader;
    std::vector<TrialRecord> trials(4);
    trials[0].params = {{"a", 1.5}, {"b", "x"}};
    trials[1].params = {{"a", 2.5}};
    trials[2].params = {{"a", 3.5}, {"c", true}};
    trials[3].params = {{"a", JsonText{"null"}}, {"b", "y"}};
    for (std::size_t i = 0; i < trials.size(); ++i) {
        TrialRecord& trial = trials[i];
        trial.number = static_cast<std::int64_t>(i) + 1;
        trial.attempt = i == 1 ? 0 : 1;
        if (i != 1) trial.allocation = Allocation{.device = i < 3 ? "cpu 0" : "cuda 0", .environment = "A=1\nB=2\n"};
        trial.curve = {{.step = 1, .metrics = {{"loss", 0.5 + trial.number}}}};
        if (i == 2) trial.curve[0].metrics["size"] = 3;
    }
    for (const TrialRecord& trial : trials) {
        const TrialRecord read = reader.read(packed::of(trial), TrialParts::all);
        EXPECT_EQ(read.params, trial.params);
        EXPECT_EQ(read.curve.at(0).metrics, trial.curve[0].metrics);
        EXPECT_EQ(*read.allocation, *trial.allocation);
        EXPECT_EQ(packed::of(read), packed::of(packed::to_trial(packed::of(trial))));
    }
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
    for (const TrialParts parts : {TrialParts::all, TrialParts::without_parameters, TrialParts::standing}) {
        const TrialRecord read = packed::to_trial(packed::of(first), parts);
        EXPECT_EQ(read.seeds, first.seeds);
        EXPECT_EQ(read.means, first.means);
        EXPECT_EQ(read.repeat_of, 0);
        EXPECT_EQ(packed::to_trial(packed::of(repeat), parts).repeat_of, 3);
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

std::string from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

// The bytes were recorded with version 0.2.0, before the codec followed from a
// description of the fields.

TEST(StoredBytes, OfAReportAreThoseOfEarlierVersions) {
    const Report report{.step = 7,
                        .metrics = {{"loss", 0.25}, {"val_loss", -std::numeric_limits<double>::infinity()}},
                        .iteration = 300,
                        .seconds = 0.5,
                        .iterations_per_second = 10,
                        .iterations_per_second_overall = 9,
                        .samples_per_second = 8,
                        .samples_per_second_overall = 7,
                        .gradient_norm = 6,
                        .learning_rate = 0,
                        .loss_deviation = 5,
                        .loss_trend = -4,
                        .micro_batch = 128,
                        .peak_bytes = 1 << 20,
                        .peak_device_bytes = 3,
                        .warning = "w"};
    const std::string bytes = from_hex(
        "0807120c000000000000d03f6c6f73731210000000000000f0ff76616c5f6c6"
        "f737321000000000000e03f290000000000002440310000"
        "00"
        "0000002240390000000000002040410000000000001c4049000000000000184"
        "05100000000000000005900000000000014406100000000"
        "00"
        "0010c018ac0268800170808040780382010177");
    EXPECT_EQ(packed::of(report), bytes);
    EXPECT_EQ(packed::of(packed::to_report(bytes)), bytes);
    EXPECT_EQ(packed::of(Report{.step = 1}), from_hex("0801"));
}

TEST(StoredBytes, OfTheStateAfterAStepAreThoseOfEarlierVersions) {
    const SoFar so_far{0.5, 3, 4, {{1.5, 2}, {2.5, 3}, 2}};
    const std::string bytes = from_hex(
        "09000000000000e03f10031804221808021100000"
        "0000000f83f18022100000000000004402803");
    EXPECT_EQ(packed::of(so_far), bytes);
    EXPECT_EQ(packed::of(packed::to_so_far(bytes)), bytes);
    EXPECT_EQ(packed::of(SoFar{}), from_hex("10001800"));
}

TEST(StoredBytes, OfATrialOfAnEarlierVersionAreReadWhole) {
    const std::string bytes = from_hex(
        "08091004180220012a10000000000000d03f000000000000e83f32107b226c7"
        "2223a302e352c226e223a347d39000000000000e03f40024a"
        "046173686152037768795a05637075203062590805100619000000000000f83"
        "f22054750552d31280130043a07636f726573203042290a06"
        "637564612030119a9999999999b93f19000000000000f43f200228033100000"
        "0000000e03f3a0049000000000000044052026e31680b700c"
        "78018001058801029101000000000000594099010000000000405940a101000"
        "0000000805940aa01190802120c000000000000e03f6c6f73"
        "73210000000000000040b20110000000000000f03f000000000000e03fb8010"
        "3c2010c000000000000e83f74657374c901000000000000f0"
        "3fd2010d080111000000000000f83f1801d9010000000000004940e00101e80"
        "103f20110000000000000d03f000000000000e83ffa010c00"
        "0000000000004073697a65");
    const TrialRecord trial = packed::to_trial(bytes);
    EXPECT_EQ(trial.number, 9);
    EXPECT_EQ(trial.state, TrialState::stopped);
    EXPECT_EQ(trial.attempt, 2);
    EXPECT_EQ(trial.failures, 1);
    EXPECT_EQ(trial.point, (Point{0.25, 0.75}));
    EXPECT_EQ(trial.params, (Params{{"lr", 0.5}, {"n", std::int64_t{4}}}));
    EXPECT_EQ(trial.value, 0.5);
    EXPECT_EQ(trial.best_step, 2);
    EXPECT_EQ(trial.rule + trial.reason + trial.where, "ashawhycpu 0");
    const Allocation& given = *trial.allocation;
    EXPECT_EQ(given.footprint.device_bytes, 5);
    EXPECT_EQ(given.footprint.host_bytes, 6);
    EXPECT_EQ(given.footprint.cores, 1.5);
    EXPECT_EQ(given.device + given.environment + given.host, "GPU-1cores 0n1");
    EXPECT_TRUE(given.alone);
    EXPECT_EQ(given.micro_batches, 4);
    EXPECT_EQ(given.forecast, (StepForecast{"cuda 0", 0.1, 1.25, 2, 3, 0.5, ""}));
    EXPECT_EQ(given.start, 2.5);
    EXPECT_EQ(trial.peak.device_bytes, 11);
    EXPECT_EQ(trial.peak.host_bytes, 12);
    EXPECT_EQ(trial.memory_deaths, 1);
    EXPECT_EQ(trial.requeued, Outcome::out_of_memory);
    EXPECT_EQ(trial.log, 2);
    EXPECT_EQ(std::vector({trial.queued_at, trial.started_at, trial.ended_at}), (std::vector{100.0, 101.0, 102.0}));
    ASSERT_THAT(trial.curve, SizeIs(1));
    EXPECT_EQ(trial.curve[0].step, 2);
    EXPECT_EQ(trial.trained, 3);
    EXPECT_EQ(trial.closing, (Metrics{{"test", 0.75}}));
    EXPECT_EQ(trial.pace, 1.0);
    EXPECT_EQ(trial.starts, (StartUps{{1.5, 1}, {}, 1}));
    EXPECT_EQ(trial.awaited_since, 50);
    EXPECT_TRUE(trial.spared);
    EXPECT_EQ(trial.repeat_of, 3);
    EXPECT_EQ(trial.seeds, (std::vector{0.25, 0.75}));
    EXPECT_EQ(trial.means, (Metrics{{"size", 2}}));
    constexpr std::size_t losses = 19;  // bytes of the field 22
    EXPECT_EQ(packed::of(trial).size(), bytes.size() - losses) << "all else is written again, in another order";
}

}  // namespace
}  // namespace hpo
