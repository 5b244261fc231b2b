// hpo-worker --profile: the time of each operation of an update.
#include "worker/profile.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/contract/worker/fixture.hpp"
#include "tests/support/mentions.hpp"
#include "worker/profiled_device.hpp"

namespace hpo::test {
namespace {

using Json = nlohmann::json;

std::vector<Json> profile_of(WorkerContext& context, const Params& params, std::int64_t updates = 3) {
    std::vector<Json> lines;
    profile_training(context, small_run(params, 5), updates, [&](const Json& json) { lines.push_back(json); });
    return lines;
}

class ProfileOn : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Backends, ProfileOn, ::testing::Values("cpu", "opencl"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(ProfileOn, CountsTheOperationsOfAnUpdate) {
    WorkerFixture worker(GetParam());
    const auto lines = profile_of(worker.context, with(small_params(), {{"accumulation", std::int64_t{2}}}));
    EXPECT_EQ(lines[0].at("measured"), "update");
    EXPECT_EQ(lines[0].at("backend"), GetParam());
    EXPECT_EQ(lines[0].at("batch_size"), 64);
    EXPECT_EQ(lines[0].at("micro_batches"), 2);
    EXPECT_EQ(lines[1].at("measured"), "whole");
    double forward = 0, backward = 0;
    int advances = 0;
    for (const Json& line : lines) {
        if (line.at("measured") != "operation") continue;
        EXPECT_LE(line.at("least"), line.at("seconds"));
        EXPECT_LE(line.at("seconds"), line.at("most"));
        if (line.at("operation") == "linear") {
            EXPECT_EQ(line.at("calls"), 2);
            forward += line.at("flops").get<double>();
        }
        if (line.at("operation") == "linear_backward") backward += line.at("flops").get<double>();
        if (line.at("operation") == "adamw") {
            EXPECT_EQ(line.at("calls"), 1);
            EXPECT_EQ(line.at("bytes"), 28.0 * (480 + 384 + 80 + 32 + 16 + 16));
        }
        advances += line.at("operation") == "advance";
    }
    EXPECT_EQ(forward, 2.0 * 64 * (20 * 24 + 24 * 16 + 16 * 5));
    EXPECT_EQ(backward, 2 * forward - 2.0 * 64 * 20 * 24);
    EXPECT_EQ(advances, 1);
}

TEST(Profile, ShowsThatIn16BitsOperationsRoundWhatTheyWrite) {
    WorkerFixture worker("opencl");
    double weights = 0, gathered = 0, output = 0;
    for (const Json& line :
         profile_of(worker.context, with(small_params(), {{"precision", std::string("bfloat16")}}))) {
        if (line.at("measured") != "operation") continue;
        EXPECT_NE(line.at("operation"), "round");
        const double bytes = line.at("bytes");
        if (line.at("operation") == "adamw") weights = bytes;
        if (line.at("operation") == "gather") gathered = bytes;
        if (line.at("operation") == "activate" && line.at("shape") == "64 x 24") output = bytes;
    }
    EXPECT_EQ(weights, 28.0 * (480 + 384 + 80 + 32 + 16 + 16) + 2 * (480 + 384 + 80));
    EXPECT_EQ(gathered, (2.0 + 2) * 64 * 20 + 4 * 64);
    EXPECT_EQ(output, (4.0 + 2) * 64 * 24);
}

TEST(Profile, TakesTheTimeOfTheClockAndOfEachUpdate) {
    // The inner device is never asked: a clock that moves with each operation shows that all are timed.
    WorkerFixture worker;
    Layout layout(2);
    const Tensor numbers = layout.add(Type::f32, 4, 8);
    const Tensor loss = layout.add(Type::f32, 1, 1), norm = layout.add(Type::f32, 1, 1);
    const Tensor iteration = layout.add_per_replica(Type::u32), alive = layout.add_per_replica(Type::u8);
    const auto arena = std::move(*worker.device->allocate(layout.bytes()));
    Profile profile;
    const auto device = profiled(*worker.device, worker.clock, profile);
    const auto stream = device->stream(*arena, 2);
    stream->enqueue(Fill{numbers, 1});
    EXPECT_TRUE(profile.operations.empty()) << "nothing is recorded yet";
    profile.recording = true;
    for (int update = 0; update < 3; ++update) {
        stream->enqueue(Fill{numbers, 1});
        stream->enqueue(Fill{numbers, 2});
        stream->enqueue(Advance{.iteration = iteration, .alive = alive, .loss = loss, .norm = norm});
    }
    ASSERT_EQ(profile.operations.size(), 2U);
    EXPECT_EQ(profile.operations[0].name, "fill");
    EXPECT_EQ(profile.operations[0].shape, "4 x 8");
    EXPECT_EQ(profile.operations[0].calls, 6);
    EXPECT_EQ(profile.operations[0].bytes, 6 * 2 * 4.0 * 32);
    EXPECT_EQ(profile.operations[0].updates.size(), 3U);
}

TEST(Profile, AConfigurationThatCannotTrainIsAnErrorThatNamesTheKey) {
    WorkerFixture worker;
    EXPECT_THROW(
        {
            try {
                profile_of(worker.context, with(small_params(), {{"batch_size", std::int64_t{5000}}}));
            } catch (const InvalidTrial& error) {
                EXPECT_THAT(error.what(), Mentions("training.batch_size: 5000", "more than"));
                throw;
            }
        },
        InvalidTrial);
}

}  // namespace
}  // namespace hpo::test
