#include "orchestrator/advice/advice.hpp"
#include "tests/support/mentions.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace hpo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ChannelSummary constant(double value) { return {.count = 60, .average = value, .least = value, .most = value}; }

/// Returns a device that reaches `rate` operations per second in float32, and `bfloat16` times as many in bfloat16 (0:
/// it has none).
DeviceCalibration device(const std::string& name, double rate, double bfloat16 = 0, double launch = 5e-9) {
    DeviceCalibration calibration{.device = name, .identity = name};
    calibration.launch = MeasuredTime{launch, launch, launch};
    calibration.memory_rate = rate / 5;
    for (const auto& [precision, times] : {std::pair("float32", 1.0), std::pair("bfloat16", bfloat16)})
        for (const std::int64_t size : {64, 256, 1024}) {
            if (times == 0) continue;
            MeasuredProduct product{.precision = precision, .rows = size, .inputs = size, .outputs = size};
            product.flops = 2.0 * double(size) * double(size) * double(size);
            product.bytes = 12.0 * double(size) * double(size);
            const double seconds = product.flops / (rate * times);
            product.time = MeasuredTime{seconds, seconds, seconds};
            calibration.products.push_back(product);
        }
    return calibration;
}

/// A trial of 50,000 samples and a model of three layers of 512.
TrainingOption trained(const std::string& backend, std::int64_t batch, const std::string& precision = "float32") {
    TrainingOption option;
    option.backend = backend;
    option.batch_size = batch;
    option.work.updates = 50'000.0 / double(batch);
    option.work.parameters = 3 * 512 * 512;
    option.work.rows = double(batch);
    option.work.layers = 3;
    option.work.flops = 6.0 * option.work.parameters * 50'000;
    option.work.precision = precision;
    return option;
}

TrainingOption other(TrainingOption option, const std::string& group, const std::string& key,
                     const std::string& value) {
    option.group = group;
    option.changes = {{key, value}};
    return option;
}

std::string all(const std::vector<std::string>& sentences) {
    std::string text;
    for (const std::string& sentence : sentences) text += sentence + '\n';
    return text;
}

TEST(Advice, ATinyBatchIsLaunchBoundAndALargerOneIsAdvised) {
    StudyFacts facts;
    facts.devices = {device("cpu", 100e9)};
    facts.options = {trained("cpu", 8)};
    for (std::int64_t batch = 16; batch <= 4096; batch *= 2)
        facts.options.push_back(
            other(trained("cpu", batch), "batch", "worker.training.batch_size", std::to_string(batch)));
    // Each update costs 200 us more than its products take.
    facts.step =
        predict_step(facts.devices[0], facts.options[0].work)->seconds() + 200e-6 * facts.options[0].work.updates;
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::launches) << all(advice.evidence);
    ASSERT_EQ(advice.changes.size(), 1u);
    EXPECT_GT(std::stoll(advice.changes[0].keys[0].second), 64);
    EXPECT_GT(*advice.changes[0].gain, 2);
    EXPECT_THAT(all(advice.evidence), HasSubstr("of 8 samples"));
}

TEST(Advice, TimeThatOtherProgramsTookIsNoCostOfUpdates) {
    StudyFacts facts;
    facts.devices = {device("cpu", 100e9)};
    facts.options = {trained("cpu", 512), other(trained("cpu", 1024), "batch", "worker.training.batch_size", "1024")};
    facts.step = 3 * predict_step(facts.devices[0], facts.options[0].work)->seconds();
    facts.telemetry[{"host", Quantity::utilization}] = constant(100);
    facts.telemetry[{"host", Quantity::cpu_pressure}] = constant(90);
    EXPECT_EQ(advise(facts).bound, Bound::cpu) << all(advise(facts).evidence);
    EXPECT_TRUE(advise(facts).changes.empty());
}

TEST(Advice, AGoodBatchIsComputeBoundAndNothingIsAdvised) {
    StudyFacts facts;
    facts.devices = {device("cpu", 100e9)};
    facts.options = {trained("cpu", 512), other(trained("cpu", 1024), "batch", "worker.training.batch_size", "1024")};
    facts.step = predict_step(facts.devices[0], facts.options[0].work)->seconds();
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::compute) << all(advice.evidence);
    EXPECT_TRUE(advice.changes.empty());
}

TEST(Advice, ASlowLoaderIsDataBoundAlthoughOtherProgramsKeepTheCpuBusy) {
    StudyFacts facts{.native = false, .at_once = 2, .cores = 4};
    facts.telemetry[{"host", Quantity::utilization}] = constant(100);
    facts.telemetry[{"host", Quantity::cpu_pressure}] = constant(90);
    facts.telemetry[{"trials", Quantity::cores}] = constant(0.2);
    facts.loaders_key = "worker.params.num_workers";
    facts.loaders = 1;
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::data) << all(advice.evidence);
    EXPECT_THAT(all(advice.evidence), Mentions("3.8 cores"));
    ASSERT_EQ(advice.changes.size(), 2u);
    EXPECT_EQ(advice.changes[0].keys[0].first, "resources.parallel");
    EXPECT_GT(*advice.changes[0].gain, 2);
    EXPECT_EQ(advice.changes[1].keys[0], std::pair(std::string("worker.params.num_workers"), std::string("4")));
}

TEST(Advice, TooManyThreadsAreFoundThoughOtherProgramsTookHalfTheCores) {
    StudyFacts facts{.native = false, .at_once = 2, .cores = 2};
    facts.telemetry[{"host", Quantity::utilization}] = constant(100);
    facts.telemetry[{"host", Quantity::cpu_pressure}] = constant(90);
    facts.telemetry[{"trials", Quantity::cores}] = constant(0.9);
    facts.threads_key = "worker.environment.OMP_NUM_THREADS";
    facts.threads = 4;
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::cpu) << all(advice.evidence);
    ASSERT_EQ(advice.changes.size(), 1u);
    EXPECT_EQ(advice.changes[0].keys[0], std::pair(facts.threads_key, std::string("1")));
}

TEST(Advice, ASlowDiskIsDataBoundAndMoreTrialsAreNotAdvised) {
    StudyFacts facts{.native = false, .at_once = 2, .cores = 4};
    facts.telemetry[{"host", Quantity::utilization}] = constant(10);
    facts.telemetry[{"host", Quantity::io_pressure}] = constant(60);
    facts.telemetry[{"trials", Quantity::cores}] = constant(0.2);
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::data);
    EXPECT_THAT(all(advice.evidence), HasSubstr("disk"));
    EXPECT_TRUE(advice.changes.empty());
    EXPECT_THAT(all(advice.to_measure), HasSubstr("/dev/shm"));
}

TEST(Advice, TooManyThreadsAreCpuBoundAndAsManyAsThereAreCoresAreAdvised) {
    StudyFacts facts{.native = false, .at_once = 2, .cores = 4};
    facts.telemetry[{"host", Quantity::utilization}] = constant(100);
    facts.telemetry[{"host", Quantity::cpu_pressure}] = constant(80);
    facts.telemetry[{"trials", Quantity::cores}] = constant(3.9);
    facts.threads = 8;
    facts.threads_key = "worker.environment.OMP_NUM_THREADS";
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::cpu) << all(advice.evidence);
    EXPECT_THAT(all(advice.evidence), Mentions("16 cores"));
    ASSERT_EQ(advice.changes.size(), 1u);
    EXPECT_EQ(advice.changes[0].keys[0],
              std::pair(std::string("worker.environment.OMP_NUM_THREADS"), std::string("2")));
    EXPECT_FALSE(advice.changes[0].gain) << "nobody has measured it";
}

TEST(Advice, FewerThreadsAreNotAdvisedForTrialsThatSleepWhileOtherProgramsComputeHoweverManyTheyHave) {
    StudyFacts facts{.native = false, .at_once = 2, .cores = 4};
    facts.telemetry[{"host", Quantity::utilization}] = constant(100);
    facts.telemetry[{"host", Quantity::cpu_pressure}] = constant(80);
    facts.telemetry[{"trials", Quantity::cores}] = constant(0.1);
    facts.threads = 8;
    facts.threads_key = "worker.environment.OMP_NUM_THREADS";
    const Advice advice = advise(facts);
    EXPECT_THAT(all(advice.evidence), Not(HasSubstr("threads")));
    EXPECT_THAT(all(advice.to_measure), Not(HasSubstr("threads")));
}

TEST(Advice, ABusyCpuThatNothingWaitsForIsNoFault) {
    StudyFacts facts{.native = false, .at_once = 4, .cores = 4};
    facts.telemetry[{"host", Quantity::utilization}] = constant(98);
    facts.telemetry[{"host", Quantity::cpu_pressure}] = constant(2);
    facts.telemetry[{"trials", Quantity::cores}] = constant(3.9);
    const Advice advice = advise(facts);
    EXPECT_EQ(advice.bound, Bound::compute);
    EXPECT_TRUE(advice.changes.empty());
}

TEST(Advice, TheWrongBackendIsFoundByTheCalibrations) {
    StudyFacts facts{.on_device = true};
    facts.devices = {device("cpu", 100e9), device("opencl 0", 20e9, 0, 1e-4)};
    facts.options = {trained("opencl", 256), other(trained("cpu", 256), "backend", "resources.backend", "cpu")};
    facts.step = 1.2 * predict_step(facts.devices[1], facts.options[0].work)->seconds();
    const Advice advice = advise(facts);
    ASSERT_EQ(advice.changes.size(), 1u) << all(advice.evidence);
    EXPECT_EQ(advice.changes[0].keys[0], std::pair(std::string("resources.backend"), std::string("cpu")));
    EXPECT_GT(*advice.changes[0].gain, 5);
    EXPECT_EQ(advice.changes[0].basis, "predicted from the calibration");
}

TEST(Advice, Float32WhereBfloat16PaysIsFound) {
    StudyFacts facts;
    facts.devices = {device("cpu", 100e9, 4)};
    facts.options = {trained("cpu", 512),
                     other(trained("cpu", 512, "bfloat16"), "precision", "worker.training.precision", "bfloat16")};
    facts.step = predict_step(facts.devices[0], facts.options[0].work)->seconds();
    Advice advice = advise(facts);
    ASSERT_EQ(advice.changes.size(), 1u) << all(advice.evidence);
    EXPECT_EQ(advice.bound, Bound::compute);
    EXPECT_EQ(advice.changes[0].keys[0].second, "bfloat16");
    EXPECT_GT(*advice.changes[0].gain, 2);

    // A measurement is believed before a prediction.
    facts.options[0].measured = 1;
    facts.options[1].measured = 1.5;
    EXPECT_TRUE(advise(facts).changes.empty());
}

TEST(Advice, SaysWhatToMeasureWhereNothingIsKnown) {
    StudyFacts native;
    native.options = {trained("cpu", 512)};
    native.step = 1;
    EXPECT_EQ(advise(native).bound, Bound::unknown);
    EXPECT_THAT(all(advise(native).to_measure), HasSubstr("hpo bench devices"));
    const StudyFacts script{.native = false};
    EXPECT_THAT(all(advise(script).to_measure), HasSubstr("sampled"));
}

TEST(Advice, OfNearlyEqualBatchesTheSmallestIsAdvised) {
    StudyFacts facts;
    facts.options = {trained("cpu", 8)};
    facts.options[0].measured = facts.step = 10;
    for (const auto& [batch, seconds] : {std::pair(64, 2.0), std::pair(512, 1.9), std::pair(4096, 1.8)}) {
        facts.options.push_back(
            other(trained("cpu", batch), "batch", "worker.training.batch_size", std::to_string(batch)));
        facts.options.back().measured = seconds;
    }
    const Advice advice = advise(facts);
    ASSERT_EQ(advice.changes.size(), 1u);
    EXPECT_EQ(advice.changes[0].keys[0].second, "64");
    EXPECT_EQ(advice.bound, Bound::launches);
}

TEST(Advice, NativeTrialsThatLeaveCoresIdleAreTooFewAtOnce) {
    StudyFacts facts{.at_once = 1, .cores = 4};
    facts.devices = {device("cpu", 100e9)};
    facts.options = {trained("cpu", 512)};
    facts.step = predict_step(facts.devices[0], facts.options[0].work)->seconds();
    facts.telemetry[{"host", Quantity::utilization}] = constant(26);
    const Advice advice = advise(facts);
    ASSERT_EQ(advice.changes.size(), 1u);
    EXPECT_EQ(advice.changes[0].keys[0], std::pair(std::string("resources.parallel"), std::string("auto")));
    EXPECT_DOUBLE_EQ(*advice.changes[0].gain, 4);
}

TEST(Advice, WhatParallelAutoFoundCountsMoreThanAnEstimate) {
    StudyFacts facts{.at_once = 1, .cores = 4};
    facts.devices = {device("cpu", 100e9)};
    facts.options = {trained("cpu", 512)};
    facts.step = predict_step(facts.devices[0], facts.options[0].work)->seconds();
    facts.telemetry[{"host", Quantity::utilization}] = constant(30);
    EXPECT_EQ(advise(facts).changes.at(0).basis, "estimated, one trial a core");
    facts.found_at_once = {2, {{1, 2, std::log(0.8), 3}}};
    const Advice advice = advise(facts);
    ASSERT_EQ(advice.changes.size(), 1u);
    EXPECT_EQ(advice.changes[0].basis, "measured by parallel: auto");
    EXPECT_NEAR(*advice.changes[0].gain, 1.6, 1e-9);
    EXPECT_THAT(all(advice.evidence), Mentions("2 at", "1.60 times"));
    facts.at_once = 2;
    EXPECT_TRUE(advise(facts).changes.empty()) << "four would be estimated, but two were measured to be right";
    facts.found_at_once = {3, {{1, 2, -0.1, 3}}};
    EXPECT_EQ(advise(facts).changes.at(0).basis, "estimated, one trial a core") << "two and three were not compared";
}

TEST(Advice, PrecisionAutoIsNotCountedAsFloat32) {
    StudyFacts facts;
    facts.devices = {device("cpu", 100e9, 4)};
    facts.options = {trained("cpu", 4096, "auto")};
    facts.step = predict_step(facts.devices[0], trained("cpu", 4096, "bfloat16").work)->seconds();
    const Advice advice = advise(facts);
    EXPECT_THAT(all(advice.evidence), Mentions("bfloat16", "precision: auto"));
    EXPECT_THAT(all(advice.evidence), ::testing::Not(HasSubstr("faster")));
}

TEST(Advice, TheLargestBatchIsFoundExactly) {
    for (const std::int64_t limit : {1, 2, 7, 64, 7373, 65'535, 65'536}) {
        int asked = 0;
        const auto [largest, why] = largest_that_fits(1, 65'536, [&](std::int64_t size) {
            ++asked;
            return size > limit ? std::string("too large") : std::string();
        });
        EXPECT_EQ(largest, limit);
        EXPECT_EQ(why, limit == 65'536 ? "" : "too large");
        EXPECT_LE(asked, 33);
    }
    EXPECT_EQ(largest_that_fits(100, 150, [](std::int64_t) { return ""; }).first, 150);
}

}  // namespace
}  // namespace hpo
