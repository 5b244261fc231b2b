#include <algorithm>

#include "orchestrator/study/sections.hpp"

#include "hpo/text.hpp"

namespace hpo::study {

namespace {

using std::string;
using std::string_view;

constexpr double max_at_once = 1024;
constexpr double max_slots = 256;  // replicas of the native worker

bool is_auto(const Node& node) { return node.kind == Node::Kind::scalar && node.text == "auto"; }
bool is_list(const Node& node) { return node.kind == Node::Kind::list; }

/// Reads a device as `hpo devices` names it: a UUID or a number, both as text.
std::optional<string> device(Diagnostics& diagnostics, const Node& node) {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.' || c == ':' || c == '/';
    };
    const bool number = !node.text.empty() &&
                        std::all_of(node.text.begin(), node.text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (node.kind == Node::Kind::scalar && number) {
        Node plain = node;
        plain.plain = true;
        const auto index = whole(diagnostics, plain, "resources.devices", 0, max_at_once - 1);
        return index ? std::optional(std::to_string(*index)) : std::nullopt;
    }
    if (node.kind == Node::Kind::scalar && !node.text.empty() && node.text.size() <= 64 && node.text[0] != '-' &&
        std::all_of(node.text.begin(), node.text.end(), is_allowed))
        return node.text;
    diagnostics.error(node.location,
                      "'resources.devices' names each device by its UUID or its number in 'hpo devices'" +
                          (node.kind == Node::Kind::scalar ? ", found " + printable(node.text) : ""));
    return {};
}

void read_devices(Diagnostics& diagnostics, const Node& node, std::vector<string>& devices) {
    if (is_auto(node)) return;
    if (!is_list(node) || node.items.empty())
        return diagnostics.error(node.location,
                                 "'resources.devices' must be auto or a list, such as [0, 1] or [GPU-8f6c] (to use "
                                 "none: backend: cpu)");
    for (const Node& item : node.items) {
        auto name = device(diagnostics, item);
        if (!name) continue;
        if (std::find(devices.begin(), devices.end(), *name) != devices.end())
            diagnostics.error(item.location, "the device " + *name + " is listed twice");
        else
            devices.push_back(std::move(*name));
    }
}

/// Returns why ssh would not take a host of this name; empty: it would.
string unlike_ssh(string_view host) {
    for (const string_view prefix : {"ssh:", "local:"})
        if (host.starts_with(prefix)) return " is written without " + string(prefix) + " (which --on has)";
    const bool valid = !host.empty() && host.front() != '-' && std::all_of(host.begin(), host.end(), [](char c) {
        return static_cast<unsigned char>(c) > ' ' && c != 0x7F && c != ',';
    });
    return valid ? "" : " is no name of a host";
}

void read_hosts(Diagnostics& diagnostics, const Node& node, std::vector<string>& hosts) {
    if (!is_list(node))
        return diagnostics.error(
            node.location, "'resources.hosts' must be a list of hosts as ssh takes them, such as [gpu1, me@gpu2]");
    for (const Node& item : node.items) {
        const bool is_text = item.kind == Node::Kind::scalar;
        if (const string wrong = is_text ? unlike_ssh(item.text) : " is a name or an address"; !wrong.empty())
            diagnostics.error(item.location,
                              "'resources.hosts': a host" + (is_text ? ' ' + printable(item.text) : string()) + wrong);
        else if (std::find(hosts.begin(), hosts.end(), item.text) != hosts.end())
            diagnostics.error(item.location, "the host " + printable(item.text) + " is listed twice");
        else
            hosts.push_back(item.text);
    }
}

/// Checks that a list with one number per device is as long as the list `devices`.
void check_length(Diagnostics& diagnostics, const Node& list, string_view key, const Node* devices) {
    const std::size_t count = list.items.size();
    const string subject = "'resources." + string(key) + "' lists " +
                           counted(static_cast<std::int64_t>(count), "number") + ", one per device";
    if (devices == nullptr || !is_list(*devices)) {
        diagnostics.error(list.location,
                          subject + ": list the devices too, in the same order, such as devices: [0, 1]");
    } else if (devices->items.size() != count) {
        diagnostics.error(list.location, subject + ", but 'resources.devices' lists " +
                                             std::to_string(devices->items.size()) + ": give both the same length");
        diagnostics.note(devices->location, "the devices are here");
    }
}

/// Reports keys that are for scripts only.
void check_native_trial(Diagnostics& diagnostics, const Node& trial, std::int64_t processes) {
    for (const auto& entry : trial.entries)
        if (entry.key == "memory" || entry.key == "gpu_memory" || entry.key == "gpus")
            diagnostics.error(entry.location,
                              "'resources.trial." + entry.key +
                                  "' is for scripts: the native worker computes to the byte what each trial needs; "
                                  "remove it");
    const Node* cores = find(trial, "cores");
    if (cores != nullptr && processes == 1)
        diagnostics.error(
            cores->location,
            "'resources.trial.cores' of the native worker is for 'resources.trial.processes': one process "
            "takes the cores that are free; remove it");
}

/// Sets the backend of native trials that several processes train together.
void set_ranks_backend(Diagnostics& diagnostics, const Node& node, Resources& resources) {
    if (resources.backend != "auto" && resources.backend != "cpu")
        diagnostics.error(node.location,
                          "'resources.trial.processes' of the native worker train on the CPU, and "
                          "'resources.backend' is " +
                              resources.backend + ": use cpu, or leave one of the two out");
    if (resources.slots)
        diagnostics.error(node.location,
                          "'resources.trial.processes' and 'resources.slots' exclude each other: a trial of several "
                          "processes shares them with no other; remove one of them");
    resources.backend = "cpu";
}

/// Reports `slots`, which is for the native worker only.
void refuse_slots(Diagnostics& diagnostics, const Node& slots) {
    diagnostics.error(slots.location,
                      "'resources.slots' is for the native worker, which trains trials with one fusion key "
                      "side by side in one process: remove it ('resources.parallel' says how many run at once)");
}

void read_backend(Diagnostics& diagnostics, const Node& node, bool native, string& backend) {
    if (!native && node.kind == Node::Kind::scalar && node.text == "opencl")
        return diagnostics.error(node.location,
                                 "'resources.backend' opencl is for the native worker: a script's trials run on CUDA's "
                                 "GPUs (cuda) or without a GPU (cpu)");
    std::vector<string_view> backends{"auto", "cpu", "cuda"};
    if (native) backends.push_back("opencl");
    if (const auto index = word(diagnostics, node, "resources.backend", backends)) backend = backends[*index];
}

void read_trial(Diagnostics& diagnostics, const Node& node, DeclaredFootprint& trial) {
    Fields fields(diagnostics, &node, "resources.trial", "memory: 1GiB, gpu_memory: 2GiB, cores: 2");
    if (const Node* n = fields.take("memory")) trial.host_bytes = size(diagnostics, *n, "resources.trial.memory");
    if (const Node* n = fields.take("gpu_memory"))
        trial.device_bytes = size(diagnostics, *n, "resources.trial.gpu_memory");
    if (const Node* n = fields.take("cores"))
        trial.cores = real(diagnostics, *n, "resources.trial.cores", 0.01, max_at_once);
    if (const Node* n = fields.take("gpus")) trial.gpus = whole(diagnostics, *n, "resources.trial.gpus", 1, 64);
    if (const Node* n = fields.take("processes"))
        trial.processes = whole(diagnostics, *n, "resources.trial.processes", 1, 64).value_or(1);
    fields.finish();
}

}  // namespace

Resources read_resources(Diagnostics& diagnostics, const Node* node, bool native) {
    Resources resources;
    Fields fields(diagnostics, node, "resources");
    const Node* devices = fields.take("devices");
    if (devices != nullptr) read_devices(diagnostics, *devices, resources.devices);
    if (const Node* n = fields.take("parallel"); n != nullptr && !is_auto(*n)) {
        if (!is_list(*n)) {
            resources.parallel = whole(diagnostics, *n, "resources.parallel", 1, max_at_once);
        } else {
            check_length(diagnostics, *n, "parallel", devices);
            for (const Node& item : n->items)
                if (const auto count = whole(diagnostics, item, "resources.parallel", 1, max_at_once))
                    resources.parallel_each.push_back(*count);
        }
    }
    if (const Node* n = fields.take("backend")) read_backend(diagnostics, *n, native, resources.backend);
    if (const Node* n = fields.take("hosts")) read_hosts(diagnostics, *n, resources.hosts);
    if (const Node* n = fields.take("slurm")) resources.slurm = read_slurm(diagnostics, *n);
    if (const Node* n = fields.take("memory"); n != nullptr && !is_auto(*n))
        resources.memory = size(diagnostics, *n, "resources.memory");
    if (const Node* n = fields.take("gpu_memory"); n != nullptr && !is_auto(*n)) {
        if (is_list(*n)) check_length(diagnostics, *n, "gpu_memory", devices);
        for (const Node& item : is_list(*n) ? n->items : std::vector{*n})
            if (const auto bytes = size(diagnostics, item, "resources.gpu_memory"))
                resources.gpu_memory.push_back(*bytes);
    }
    const auto set = [](auto& into, const auto& value) {
        if (value) into = *value;
    };
    if (const Node* n = fields.take("slots"); n != nullptr && !is_auto(*n)) {
        if (native)
            resources.slots = whole(diagnostics, *n, "resources.slots", 1, max_slots);
        else
            refuse_slots(diagnostics, *n);
    }
    if (const Node* n = fields.take("gpu_reserve"))
        set(resources.gpu_reserve, fraction(diagnostics, *n, "resources.gpu_reserve", 0, 0.9));
    if (const Node* n = fields.take("trial")) {
        read_trial(diagnostics, *n, resources.trial);
        if (native) check_native_trial(diagnostics, *n, resources.trial.processes);
        if (native && resources.trial.processes > 1) set_ranks_backend(diagnostics, *n, resources);
    }
    if (const Node* n = fields.take("progress_timeout"))
        set(resources.progress_timeout, duration(diagnostics, *n, "resources.progress_timeout", 1, max_seconds));
    if (const Node* n = fields.take("grace"))
        set(resources.grace, duration(diagnostics, *n, "resources.grace", 0, 3600));
    if (const Node* n = fields.take("retries"))
        set(resources.retries, whole(diagnostics, *n, "resources.retries", 0, 100));
    fields.finish();
    return resources;
}

}  // namespace hpo::study
