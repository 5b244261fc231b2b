#include "orchestrator/telemetry/sampler.hpp"

#include <utility>

#include "orchestrator/telemetry/rates.hpp"

namespace hpo {

TelemetrySampler::TelemetrySampler(Host host, Seconds now)
    : host_(std::move(host)), before_(read_host_counters(host_.cpus, now.count())) {}

TelemetrySample TelemetrySampler::take(Seconds now, const DeviceReadings& devices, std::int64_t process,
                                       const std::string& source) {
    HostCounters counters = read_host_counters(host_.cpus, now.count());
    TelemetrySample sample = host_sample(before_, counters);
    if (process > 0) add_program(sample, process, source, counters.seconds - before_.seconds);
    before_ = std::move(counters);
    if (devices.stale) return sample;
    for (const DeviceReading& device : devices.devices)
        for (Measurement& measured : device_sample(device)) sample.push_back(std::move(measured));
    return sample;
}

void TelemetrySampler::add_program(TelemetrySample& sample, std::int64_t process, const std::string& source,
                                   double seconds) {
    const std::optional<TreeReading> tree = trees_.latest(std::span(&process, 1)).front();
    if (!tree || tree->processes.empty()) return;
    const double used = cpu_seconds(tree->processes);
    // The CPU time of a process that its parent did not wait for is lost, so the sum may decrease.
    if (cpu_before_ && used >= *cpu_before_ && seconds > 0)
        sample.push_back(measurement(source, Quantity::cores, (used - *cpu_before_) / seconds));
    cpu_before_ = used;
    if (tree->bytes)
        sample.push_back(measurement(source, Quantity::memory, static_cast<double>(*tree->bytes),
                                     static_cast<double>(host_.memory)));
}

std::map<std::string, double> power_limits(const DeviceReadings& devices) {
    std::map<std::string, double> limits;
    for (const DeviceReading& device : devices.devices)
        if (device.activity.power_limit) limits["gpu " + std::to_string(device.index)] = *device.activity.power_limit;
    return limits;
}

}  // namespace hpo
