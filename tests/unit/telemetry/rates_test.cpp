#include "orchestrator/telemetry/rates.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace hpo {
namespace {

const Measurement* of(const TelemetrySample& sample, Quantity quantity) {
    for (const Measurement& measured : sample)
        if (measured.channel.quantity == quantity) return &measured;
    return nullptr;
}

double value_of(const TelemetrySample& sample, Quantity quantity) {
    const Measurement* found = of(sample, quantity);
    return found ? found->value : std::nan("");
}

TEST(HostSample, UtilizationIsTheMeanOverCpus) {
    const HostCounters before{.seconds = 10, .busy_seconds = {{0, 1}, {1, 5}}};
    const HostCounters now{.seconds = 12, .busy_seconds = {{0, 3}, {1, 6}}};
    EXPECT_DOUBLE_EQ(value_of(host_sample(before, now), Quantity::utilization), 75);
}

TEST(HostSample, UtilizationAboveTheWholeByAFewTicksIsTheWhole) {
    const HostCounters before{.seconds = 10, .busy_seconds = {{0, 1}}};
    HostCounters now{.seconds = 10.1, .busy_seconds = {{0, 1.115}}};
    EXPECT_DOUBLE_EQ(value_of(host_sample(before, now), Quantity::utilization), 100);
    now.busy_seconds[0] = 1.2;
    EXPECT_FALSE(of(host_sample(before, now), Quantity::utilization)->possible);
}

TEST(HostSample, ACounterThatWentBackwardsIsLeftOut) {
    const HostCounters before{.seconds = 10, .busy_seconds = {{0, 5}, {1, 5}}, .io_stall_seconds = 3};
    const HostCounters now{.seconds = 11, .busy_seconds = {{0, 4}, {1, 5.5}}, .io_stall_seconds = 2};
    const TelemetrySample sample = host_sample(before, now);
    EXPECT_DOUBLE_EQ(value_of(sample, Quantity::utilization), 50);
    EXPECT_EQ(of(sample, Quantity::io_pressure), nullptr);
}

TEST(HostSample, EnergyThatStartedAgainFromZeroIsCorrectedByItsRange) {
    const HostCounters before{.seconds = 0, .energy = {{"a", {990, 1000}}, {"b", {10, 1000}}}};
    const HostCounters now{.seconds = 2, .energy = {{"a", {30, 1000}}, {"b", {110, 1000}}}};
    EXPECT_DOUBLE_EQ(value_of(host_sample(before, now), Quantity::power), 70);
    const HostCounters unknown_range{.seconds = 2, .energy = {{"a", {30, 0}}}};
    EXPECT_EQ(of(host_sample(before, unknown_range), Quantity::power), nullptr);
}

TEST(HostSample, WhereNoTimePassedThereAreNoRates) {
    const HostCounters counters{.seconds = 3, .busy_seconds = {{0, 1}}};
    EXPECT_TRUE(host_sample(counters, counters).empty());
}

TEST(HostSample, WhatTheHostHidesIsAbsentAndNotZero) {
    const TelemetrySample sample = host_sample({.seconds = 0}, {.seconds = 1});
    EXPECT_TRUE(sample.empty());
}

TEST(DeviceSample, PowerFarAboveTheDevicesLimitIsImpossible) {
    DeviceReading device;
    device.index = 1;
    device.activity = {.utilization = 40, .power = 590, .power_limit = 140, .throttled = true};
    const TelemetrySample sample = device_sample(device);
    EXPECT_EQ(of(sample, Quantity::power)->channel.source, "gpu 1");
    EXPECT_FALSE(of(sample, Quantity::power)->possible);
    EXPECT_TRUE(of(sample, Quantity::utilization)->possible);
    EXPECT_EQ(value_of(sample, Quantity::throttled), 100);
    EXPECT_EQ(of(sample, Quantity::temperature), nullptr);
    device.activity.power = 150;  // a short overshoot
    EXPECT_TRUE(of(device_sample(device), Quantity::power)->possible);
}

TEST(DeviceSample, MemoryAboveWhatIsInstalledIsImpossible) {
    DeviceReading device;
    device.memory = 100;
    device.used = 101;
    EXPECT_FALSE(of(device_sample(device), Quantity::memory)->possible);
}

TEST(DeviceSample, ALostDeviceGivesNothing) {
    DeviceReading device;
    device.lost = true;
    device.activity.utilization = 5;
    EXPECT_TRUE(device_sample(device).empty());
}

TEST(Measurement, ValuesThatAreNotNumbersAreImpossible) {
    EXPECT_FALSE(measurement("x", Quantity::temperature, std::nan("")).possible);
    EXPECT_FALSE(measurement("x", Quantity::speed, INFINITY).possible);
    EXPECT_FALSE(measurement("x", Quantity::utilization, 101).possible);
    EXPECT_TRUE(measurement("x", Quantity::utilization, 100).possible);
}

}  // namespace
}  // namespace hpo
