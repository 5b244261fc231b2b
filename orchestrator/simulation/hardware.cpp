#include "orchestrator/simulation/hardware.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "hpo/printable.hpp"

namespace hpo {

namespace {

constexpr double GiB = 1024.0 * 1024 * 1024;
constexpr double tera = 1e12;

/// Device models by the makers' data sheets.
constexpr std::array device_models{
    DeviceModel{"B200", 180 * GiB, 80 * tera, 2250 * tera, 8.0 * tera},
    DeviceModel{"H200", 141 * GiB, 67 * tera, 989 * tera, 4.8 * tera},
    DeviceModel{"H100", 80 * GiB, 67 * tera, 989 * tera, 3.35 * tera},
    DeviceModel{"A100", 80 * GiB, 19.5 * tera, 312 * tera, 2.04 * tera},
    DeviceModel{"A100-40GB", 40 * GiB, 19.5 * tera, 312 * tera, 1.56 * tera},
    DeviceModel{"L40S", 48 * GiB, 91.6 * tera, 362 * tera, 0.864 * tera},
    DeviceModel{"L4", 24 * GiB, 30.3 * tera, 121 * tera, 0.3 * tera},
    DeviceModel{"A10", 24 * GiB, 31.2 * tera, 125 * tera, 0.6 * tera},
    DeviceModel{"V100", 16 * GiB, 15.7 * tera, 125 * tera, 0.9 * tera},
    DeviceModel{"T4", 16 * GiB, 8.1 * tera, 65 * tera, 0.32 * tera},
    DeviceModel{"RTX5090", 32 * GiB, 105 * tera, 210 * tera, 1.79 * tera},
    DeviceModel{"RTX4090", 24 * GiB, 82.6 * tera, 165 * tera, 1.01 * tera},
    DeviceModel{"RTX3090", 24 * GiB, 35.6 * tera, 71 * tera, 0.936 * tera},
};

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
    return result;
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

}  // namespace

double Span::at(double share) const {
    if (low <= 0) return low + share * (high - low);
    return low * std::pow(high / low, share);
}

const DeviceModel* find_device_model(std::string_view name) {
    const auto found = std::find_if(device_models.begin(), device_models.end(),
                                    [&](const DeviceModel& model) { return lower(model.name) == lower(name); });
    return found == device_models.end() ? nullptr : &*found;
}

std::string known_device_models() {
    std::string text;
    for (const DeviceModel& model : device_models) text += (text.empty() ? "" : ", ") + std::string(model.name);
    return text;
}

std::int64_t Hardware::devices() const {
    std::int64_t count = 0;
    for (const DeviceGroup& group : groups) count += group.count;
    return count;
}

std::optional<double> Hardware::price_per_hour() const {
    std::optional<double> total = price;
    for (const DeviceGroup& group : groups)
        if (group.price) total = total.value_or(0) + *group.price * static_cast<double>(group.count);
    return total;
}

Result<Hardware> parse_hardware(std::string_view text) {
    Hardware hardware;
    const auto wrong = [&](const std::string& why) {
        return Error{(text.empty() ? "--devices" : "--devices " + printable(text) + ":") + ' ' + why +
                     "; give a number and a kind, such as 8xH200 or 16xcpu, or the name of a YAML file"};
    };
    for (std::string_view rest = text; !rest.empty();) {
        const auto comma = rest.find(',');
        const std::string_view part = trimmed(rest.substr(0, comma));
        rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
        std::int64_t count = 0;
        const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), count);
        const std::string_view kind = part.substr(static_cast<std::size_t>(end - part.data()));
        if (failed != std::errc() || kind.size() < 2 || (kind[0] != 'x' && kind[0] != 'X'))
            return wrong("'" + printable(part) + "' is neither a number and a kind nor a file");
        if (count < 1 || count > most_simulated_devices)
            return wrong("there can be 1 to " + std::to_string(most_simulated_devices) + " of them, not " +
                         std::to_string(count));
        const std::string_view name = kind.substr(1);
        hardware.name += (hardware.name.empty() ? "" : ", ") + std::to_string(count) + ' ';
        if (lower(name) == "cpu") {
            hardware.cores = static_cast<double>(count) + (hardware.cores_given ? hardware.cores : 0);
            hardware.cores_given = true;
            hardware.name += count == 1 ? "CPU core" : "CPU cores";
            continue;
        }
        const DeviceModel* model = find_device_model(name);
        if (model == nullptr)
            return wrong("no device '" + printable(name) + "' is known (known: cpu, " + known_device_models() +
                         "; others go into a YAML file with their memory and speed)");
        hardware.groups.push_back({.name = std::string(model->name),
                                   .count = count,
                                   .memory = static_cast<std::int64_t>(model->memory),
                                   .model = model});
        hardware.name += model->name;
    }
    if (hardware.groups.empty() && !hardware.cores_given) return wrong("names no device");
    if (hardware.devices() > most_simulated_devices)
        return wrong("there can be " + std::to_string(most_simulated_devices) + " devices at most");
    return hardware;
}

}  // namespace hpo
