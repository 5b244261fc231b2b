#include "orchestrator/simulation/hardware_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo {

namespace {

using study::Diagnostics;
using study::Fields;
using study::Node;

constexpr double most_seconds = 1e7;
constexpr double most_bytes = 1e15;
constexpr double most_speed = 1e6;

/// Reads a number, or a list of two, by `read`.
template <class Read>
std::optional<Span> read_span(Diagnostics& diagnostics, const Node& node, const std::string& name, Read&& read) {
    if (node.kind != Node::Kind::list) {
        const auto one = read(node);
        if (!one) return {};
        return Span{static_cast<double>(*one), static_cast<double>(*one)};
    }
    if (node.items.size() != 2) {
        diagnostics.error(node.location, "'" + name + "' must be one value, or the least and the largest: [1, 4]");
        return {};
    }
    const auto low = read(node.items[0]), high = read(node.items[1]);
    if (!low || !high) return {};
    if (*low > *high) {
        diagnostics.error(node.location, "the range of '" + name + "' is empty: its first value is larger");
        return {};
    }
    return Span{static_cast<double>(*low), static_cast<double>(*high)};
}

class FileReader {
   public:
    explicit FileReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

    HardwareFile read(const Node& root) {
        Fields fields(diagnostics_, &root, "", "devices: [{name: H200, count: 8}]");
        HardwareFile file;
        bool empty = true;
        if (const Node* host = fields.take("host")) {
            read_host(*host, file.hardware);
            empty = false;
        }
        if (const Node* devices = fields.take("devices")) {
            empty = false;
            if (devices->kind != Node::Kind::list || devices->items.empty())
                diagnostics_.error(devices->location,
                                   "'devices' must be a list such as [{name: H200, count: 8}]; without devices, trials "
                                   "compute on the host's cores");
            else
                for (const Node& item : devices->items) read_group(item, file.hardware);
        }
        if (const Node* trials = fields.take("trials")) file.trials = read_trials(*trials);
        fields.finish();
        if (empty) diagnostics_.error({}, "the file describes no hardware: give 'host', 'devices' or both");
        if (file.hardware.devices() > most_simulated_devices)
            diagnostics_.error({}, "there are " + std::to_string(file.hardware.devices()) + " devices, and " +
                                       std::to_string(most_simulated_devices) + " can be simulated");
        return file;
    }

   private:
    /// Takes one value or a range, each value read by `read` with the name of the key.
    template <class Read>
    std::optional<Span> span(Fields& fields, std::string_view key, Read&& read) {
        const Node* node = fields.take(key);
        if (node == nullptr) return {};
        const std::string name = fields.path_of(key);
        return read_span(diagnostics_, *node, name, [&](const Node& one) { return read(one, name); });
    }
    std::optional<Span> number(Fields& fields, std::string_view key, double low, double high) {
        return span(fields, key, [&](const Node& one, const std::string& name) {
            return study::real(diagnostics_, one, name, low, high);
        });
    }
    std::optional<Span> seconds(Fields& fields, std::string_view key) {
        return span(fields, key, [&](const Node& one, const std::string& name) -> std::optional<double> {
            if (const auto duration = study::duration_of(one.text)) return duration;
            return study::real(diagnostics_, one, name, 0, most_seconds);
        });
    }
    std::optional<Span> bytes(Fields& fields, std::string_view key) {
        return span(fields, key, [&](const Node& one, const std::string& name) -> std::optional<double> {
            const auto size = study::size(diagnostics_, one, name);
            if (!size) return {};
            return static_cast<double>(*size);
        });
    }
    std::optional<double> price(Fields& fields) {
        const auto found = number(fields, "price", 0, 1e9);
        return found ? std::optional(found->high) : std::nullopt;
    }

    void read_host(const Node& node, Hardware& hardware) {
        Fields fields(diagnostics_, &node, "host", "cores: 64");
        if (const auto cores = number(fields, "cores", 0.01, 1e6)) {
            hardware.cores = cores->high;
            hardware.cores_given = true;
            hardware.name = exact_number(cores->high) + (cores->high == 1 ? " CPU core" : " CPU cores");
        }
        if (const Node* memory = fields.take("memory"))
            hardware.memory = study::size(diagnostics_, *memory, "host.memory");
        hardware.speed = number(fields, "speed", 1e-6, most_speed);
        hardware.price = price(fields);
        fields.finish();
    }

    void read_group(const Node& node, Hardware& hardware) {
        Fields fields(diagnostics_, &node, "devices", "name: H200, count: 8");
        DeviceGroup group;
        if (const Node* name = fields.require("name", "what the devices are called, such as H200"))
            group.name = study::text(diagnostics_, *name, "devices.name").value_or("");
        if (group.name.size() > 40) group.name.resize(40);
        group.model = find_device_model(group.name);
        if (const Node* count = fields.take("count"))
            group.count =
                study::whole(diagnostics_, *count, "devices.count", 1, static_cast<double>(most_simulated_devices))
                    .value_or(1);
        if (const Node* memory = fields.take("memory")) {
            group.memory = study::size(diagnostics_, *memory, "devices.memory").value_or(1);
        } else if (group.model != nullptr) {
            group.memory = static_cast<std::int64_t>(group.model->memory);
        } else {
            diagnostics_.error(node.location, "'devices.memory' is missing, and no device '" + printable(group.name) +
                                                  "' is known by its data sheet (known: " + known_device_models() +
                                                  "): add memory: 24GB");
        }
        group.speed = number(fields, "speed", 1e-6, most_speed);
        if (const Node* at_once = fields.take("at_once"))
            group.at_once = study::whole(diagnostics_, *at_once, "devices.at_once", 1, 1024);
        if (const Node* throughput = fields.take("throughput")) read_throughput(*throughput, group);
        group.price = price(fields);
        fields.finish();
        hardware.name +=
            (hardware.name.empty() ? "" : ", ") + std::to_string(group.count) + ' ' + printable(group.name);
        hardware.groups.push_back(std::move(group));
    }

    void read_throughput(const Node& node, DeviceGroup& group) {
        group.throughput.clear();
        if (node.kind == Node::Kind::list && node.items.size() <= 1024)
            for (const Node& item : node.items)
                if (const auto value = study::real(diagnostics_, item, "devices.throughput", 1e-3, 1e4))
                    group.throughput.push_back(*value);
        if (group.throughput.empty())
            diagnostics_.error(node.location,
                               "'devices.throughput' must be the total speed of 1, 2, ... trials at once, relative to "
                               "one: [1, 1.8, 2.4]");
    }

    DrawnTrials read_trials(const Node& node) {
        Fields fields(diagnostics_, &node, "trials", "step: [1s, 4s]");
        DrawnTrials trials;
        const auto take = [](std::optional<Span> found, Span& target) {
            if (found) target = *found;
        };
        take(seconds(fields, "step"), trials.step);
        take(seconds(fields, "start"), trials.start);
        take(seconds(fields, "end"), trials.end);
        take(bytes(fields, "memory"), trials.host_bytes);
        take(bytes(fields, "gpu_memory"), trials.device_bytes);
        if (const auto cores = number(fields, "cores", 0, 1e6)) trials.cores = cores->high;
        if (const Node* curve = fields.take("curve")) {
            Fields values(diagnostics_, curve, "trials.curve", "from: 0.1, to: [0.7, 0.9]");
            take(number(values, "from", -1e12, 1e12), trials.first);
            take(number(values, "to", -1e12, 1e12), trials.last);
            take(number(values, "pace", 1e-3, 1e9), trials.pace);
            if (const auto noise = number(values, "noise", 0, 1e12)) trials.noise = noise->high;
            values.finish();
        }
        fields.finish();
        if (trials.step.high <= 0) diagnostics_.error(node.location, "'trials.step' must be above 0 s");
        return trials;
    }

    Diagnostics& diagnostics_;
};

}  // namespace

Result<HardwareFile> parse_hardware_file(std::string_view text, const std::string& name) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos)
        return Error{printable(name) + ": the file is empty: give 'host', 'devices' or both"};
    Diagnostics diagnostics(name, text);
    const auto root = study::parse_yaml(text, 0, diagnostics);
    if (!root) return Error{diagnostics.text()};
    HardwareFile file = FileReader(diagnostics).read(*root);
    if (!diagnostics.ok()) return Error{diagnostics.text()};
    return file;
}

Result<HardwareFile> read_hardware_file(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    if (stream) text << stream.rdbuf();
    if (!stream) return Error{printable(file.string()) + " cannot be read: " + std::strerror(errno)};
    return parse_hardware_file(text.str(), file.string());
}

}  // namespace hpo
