#include "orchestrator/telemetry/rates.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace hpo {

namespace {

/// The tolerance for CPU times, in seconds. The kernel counts CPU time in ticks of 10 ms and charges a whole tick when
/// it ends. So the difference of two readings may be off by two ticks per CPU.
constexpr double counting_error = 0.02;

/// Boost algorithms may exceed a power limit for milliseconds, but the mean over a second stays below 1.5 times the
/// limit.
constexpr double power_tolerance = 1.5;

/// Returns the share of an interval in percent. An excess within the counting error is clipped to 100 %.
double percent(double part, double whole) {
    return part > whole && part <= whole + counting_error ? 100 : 100 * part / whole;
}

}  // namespace

Measurement measurement(std::string source, Quantity quantity, double value, double most) {
    const QuantityTraits& traits = traits_of(quantity);
    const bool possible = std::isfinite(value) && value >= traits.least && value <= std::min(traits.most, most);
    return {{std::move(source), quantity}, value, possible};
}

TelemetrySample host_sample(const HostCounters& before, const HostCounters& now) {
    const std::string host = "host";
    const double seconds = now.seconds - before.seconds;
    TelemetrySample sample;
    if (!(seconds > 0)) return sample;

    double busy = 0;
    std::size_t cpus = 0;
    for (const auto& [cpu, time] : now.busy_seconds) {
        const auto earlier = before.busy_seconds.find(cpu);
        if (earlier == before.busy_seconds.end() || time < earlier->second) continue;
        busy += time - earlier->second;
        ++cpus;
    }
    if (cpus > 0)
        sample.push_back(measurement(host, Quantity::utilization, percent(busy / static_cast<double>(cpus), seconds)));
    if (now.memory > 0)
        sample.push_back(
            measurement(host, Quantity::memory, static_cast<double>(now.memory_used), static_cast<double>(now.memory)));

    std::optional<double> joules;
    for (const auto& [package, counter] : now.energy) {
        const auto earlier = before.energy.find(package);
        if (earlier == before.energy.end()) continue;
        double used = counter.joules - earlier->second.joules;
        if (used < 0) used += counter.range;
        if (used >= 0) joules = joules.value_or(0) + used;
    }
    if (joules) sample.push_back(measurement(host, Quantity::power, *joules / seconds));
    if (now.temperature) sample.push_back(measurement(host, Quantity::temperature, *now.temperature));
    if (now.clock) sample.push_back(measurement(host, Quantity::clock, *now.clock));

    const auto share = [&](Quantity quantity, const std::optional<double>& from, const std::optional<double>& to) {
        if (from && to && *to >= *from) sample.push_back(measurement(host, quantity, percent(*to - *from, seconds)));
    };
    share(Quantity::throttled, before.throttled_seconds, now.throttled_seconds);
    share(Quantity::cpu_pressure, before.cpu_stall_seconds, now.cpu_stall_seconds);
    share(Quantity::memory_pressure, before.memory_stall_seconds, now.memory_stall_seconds);
    share(Quantity::io_pressure, before.io_stall_seconds, now.io_stall_seconds);
    return sample;
}

TelemetrySample device_sample(const DeviceReading& device) {
    TelemetrySample sample;
    if (device.lost) return sample;
    const auto add = [&](Quantity quantity, const std::optional<double>& value, double most = unlimited) {
        if (value) sample.push_back(measurement("gpu " + std::to_string(device.index), quantity, *value, most));
    };
    const DeviceActivity& activity = device.activity;
    add(Quantity::utilization, activity.utilization);
    add(Quantity::memory_utilization, activity.memory_utilization);
    if (device.used && !device.unified)
        add(Quantity::memory, static_cast<double>(*device.used), static_cast<double>(device.memory));
    add(Quantity::power, activity.power, activity.power_limit ? *activity.power_limit * power_tolerance : unlimited);
    add(Quantity::temperature, activity.temperature);
    add(Quantity::clock, activity.clock);
    if (activity.throttled) add(Quantity::throttled, *activity.throttled ? 100.0 : 0.0);
    add(Quantity::received, activity.received);
    add(Quantity::sent, activity.sent);
    return sample;
}

}  // namespace hpo
