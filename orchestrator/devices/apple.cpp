#include "orchestrator/devices/apple.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/devices/property_list.hpp"

namespace hpo {
namespace {

using Json = nlohmann::json;

std::optional<double> number_at(const Json& properties, const char* key) {
    const auto found = properties.find(key);
    return found != properties.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::string text_at(const Json& properties, const char* key) {
    const auto found = properties.find(key);
    return found != properties.end() && found->is_string() ? found->get<std::string>() : std::string();
}

DeviceReading accelerator_of(const Json& properties, std::int64_t ceiling) {
    DeviceReading device;
    device.kind = DeviceKind::metal;
    device.name = text_at(properties, "model");
    if (device.name.empty()) device.name = "Apple GPU";
    if (const auto cores = number_at(properties, "gpu-core-count"))
        device.name += " (" + std::to_string(static_cast<std::int64_t>(*cores)) + " cores)";
    device.id = "MTL-" + text_at(properties, "IOClass");
    device.memory = ceiling;
    device.unified = true;
    const auto statistics = properties.find("PerformanceStatistics");
    if (statistics == properties.end() || !statistics->is_object()) return device;
    device.activity.utilization = number_at(*statistics, "Device Utilization %");
    if (const auto used = number_at(*statistics, "In use system memory"))
        device.used = static_cast<std::int64_t>(*used);
    return device;
}

}  // namespace

Host host_of(const AppleAnswers& answers) {
    Host host;
    std::int64_t cpus = answers.cpus.value_or(0);
    if (cpus < 1)
        for (const CoreKind& level : answers.levels) cpus += level.cores;
    cpus = std::max<std::int64_t>(1, cpus);
    for (int cpu = 0; cpu < cpus; ++cpu) host.cpus.push_back(cpu);
    host.cores = static_cast<double>(cpus);
    if (answers.levels.size() > 1) host.kinds = answers.levels;
    host.memory = answers.memory.value_or(0);
    host.cpu_name = answers.cpu_name.empty() ? "unknown CPU" : answers.cpu_name;
    return host;
}

std::int64_t gpu_ceiling(std::int64_t memory, std::optional<std::int64_t> limit_in_mib) {
    constexpr std::int64_t mib = std::int64_t{1} << 20, large = std::int64_t{36} << 30;
    if (limit_in_mib && *limit_in_mib > 0) return std::min(memory, *limit_in_mib * mib);
    return memory < large ? memory / 3 * 2 : memory / 4 * 3;
}

std::optional<std::vector<DeviceReading>> accelerators_of(std::string_view properties, std::int64_t ceiling) {
    const auto list = parse_property_list(properties);
    if (!list || !list->is_array()) return std::nullopt;
    std::vector<DeviceReading> devices;
    for (const Json& one : *list) {
        if (!one.is_object() || !text_at(one, "IOClass").starts_with("AGX")) continue;  // GPUs of other makers
        DeviceReading device = accelerator_of(one, ceiling);
        device.index = static_cast<std::int64_t>(devices.size());
        if (device.index > 0) device.id += '-' + std::to_string(device.index + 1);
        devices.push_back(std::move(device));
    }
    return devices;
}

double mach_seconds(std::uint64_t units, std::uint32_t numerator, std::uint32_t denominator) {
    return denominator == 0 ? 0 : static_cast<double>(units) * numerator / denominator / 1e9;
}

}  // namespace hpo
