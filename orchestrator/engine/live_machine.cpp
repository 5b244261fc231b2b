#include "orchestrator/engine/live_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "hpo/user_cache.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/devices/selection.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/thread_time.hpp"
#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

/// Memory left free for the system and the user's other programs: a tenth, at most 2 GiB.
std::int64_t reserve_of(std::int64_t memory) { return std::min<std::int64_t>(memory / 10, std::int64_t{2} << 30); }

std::optional<std::string> visible_devices() {
    const char* names = std::getenv("CUDA_VISIBLE_DEVICES");
    return names ? std::optional<std::string>(names) : std::nullopt;
}

std::int64_t not_negative(std::int64_t bytes) { return std::max<std::int64_t>(0, bytes); }

const DeviceReading* find(const DeviceReadings& readings, const std::string& id) {
    const auto found = std::find_if(readings.devices.begin(), readings.devices.end(),
                                    [&](const DeviceReading& device) { return device.id == id; });
    return found == readings.devices.end() ? nullptr : &*found;
}

/// The study's value for one device: a list has one for each, a single one is for all.
std::optional<std::int64_t> value_for(const std::vector<std::int64_t>& list, std::size_t index) {
    if (list.empty()) return std::nullopt;
    return list.size() == 1 ? list.front() : list.at(std::min(index, list.size() - 1));
}

/// The study's resources. Trees grow on the host alone, so that `auto` leaves the GPUs to others.
Resources resources_of(const Study& study) {
    Resources resources = study.resources;
    if (study.native() && is_trees(study.fixed) && resources.backend == "auto" && resources.devices.empty())
        resources.backend = "cpu";
    return resources;
}

}  // namespace

LiveMachine::LiveMachine(const Study& study, DeviceMonitor monitor)
    : resources_(resources_of(study)), native_(!study.script()), host_(read_host()), monitor_(std::move(monitor)) {}

Result<LiveMachine> LiveMachine::make(const Study& study, const std::filesystem::path& hpo,
                                      const std::function<void(const DeviceNotice&)>& tell) {
    const Resources resources = resources_of(study);
    const bool native = !study.script();
    const bool opencl_may_serve = resources.backend == "auto" && (has_gpu_file() || std::getenv("HPO_OPENCL_LIBRARY"));
    const bool with_opencl =
        native && (resources.backend == "opencl" || opencl_may_serve || !resources.devices.empty());
    LiveMachine machine(study, DeviceMonitor({.program = hpo, .opencl = with_opencl}));
    const std::int64_t gpus = native ? 1 : resources.trial.devices();
    const bool asked_for = resources.trial.gpus.value_or(1) > 1;
    const auto too_few = [&](const std::string& have) {
        const std::string count = std::to_string(gpus);
        return Error{asked_for ? "resources.trial.gpus: a trial needs " + count + " devices at once, " + have +
                                     " (see hpo devices)"
                               : "resources.trial.processes: each of " + count + " processes has a device, " + have +
                                     " (see hpo devices); trial: {gpus: 1} lets them share one, and backend: cpu "
                                     "gives them none"};
    };
    if (resources.backend == "cpu") {
        if (asked_for) return too_few("and resources.backend: cpu gives it none");
        return machine;
    }

    machine.monitor_.start(SteadyClock().now(), [&](const std::string& message) {
        if (tell) tell({false, message});
    });
    const DeviceReadings& readings = machine.monitor_.latest();
    Result<std::vector<DeviceReading>> selected = std::vector<DeviceReading>();
    if (!resources.devices.empty() || resources.backend != "opencl")
        selected = select_devices(readings, resources.devices, visible_devices());
    if (!selected) return selected.error();
    if (resources.devices.empty() && with_opencl && selected->empty()) {
        const auto take = [&](bool cpu) {
            for (const DeviceReading& device : readings.devices)
                if (device.opencl >= 0 && device.cpu == cpu && !device.lost) selected->push_back(device);
        };
        take(false);
        if (selected->empty() && resources.backend == "opencl") take(true);
    }
    if (!native && resources.devices.empty() && resources.backend == "auto" && selected->empty())
        for (const DeviceReading& device : readings.devices)
            if (device.kind == DeviceKind::metal && !device.lost) selected->push_back(device);
    const bool without = selected->empty() && !asked_for && resources.backend == "auto" && resources.devices.empty();
    if (gpus > 1 && !without && selected->size() < static_cast<std::size_t>(gpus))
        return too_few("this study may use " + std::to_string(selected->size()) +
                       (readings.problem.empty() ? "" : ": " + readings.problem));
    if (selected->empty() && resources.backend != "auto")
        return Error{"resources.backend: " + resources.backend + ": there is no " +
                     (resources.backend == "cuda" ? "GPU" : "OpenCL device") + " that this study may use" +
                     (readings.problem.empty() ? std::string(" (see hpo devices)") : ": " + readings.problem)};
    const auto one_each = [&](std::size_t numbers, const char* key) -> std::string {
        if (numbers == 0 || numbers == selected->size()) return {};
        return std::string("resources.") + key + " lists " + std::to_string(numbers) + " devices, this study uses " +
               std::to_string(selected->size()) + " (see hpo devices)";
    };
    std::string wrong = one_each(resources.parallel_each.size(), "parallel");
    if (wrong.empty() && resources.gpu_memory.size() > 1) wrong = one_each(resources.gpu_memory.size(), "gpu_memory");
    if (!wrong.empty()) return Error{wrong};

    for (const DeviceReading& device : *selected) {
        const bool by_opencl =
            device.opencl >= 0 && (resources.backend == "opencl" || device.kind == DeviceKind::opencl);
        if (device.kind == DeviceKind::metal) {
            if (native || resources.backend != "auto")
                return Error{"resources.devices: " + device.id + " (" + device.name +
                             ") is a GPU of Apple, which only scripts use, with backend: auto" +
                             (native ? "; hpo's own models train on the CPU there (backend: cpu)" : "")};
            machine.devices_.push_back(device.id);
            machine.targets_.push_back({"metal", "", {}, device.memory});
            continue;
        }
        if (!native && by_opencl)
            return Error{"resources.devices: " + device.id + " (" + device.name + ") is no GPU that CUDA knows"};
        if (resources.backend == "cuda" && device.kind != DeviceKind::cuda)
            return Error{"resources.devices: " + device.id + " (" + device.name +
                         ") is not CUDA's; use backend: opencl"};
        machine.devices_.push_back(device.id);
        machine.targets_.push_back(by_opencl ? Target{"opencl", "", device.opencl, 0}
                                             : Target{"cuda", device.id, {}, 0});
    }
    return machine;
}

Target LiveMachine::target(std::span<const int> devices) const {
    if (is_host(devices.front())) return {};
    Target target = targets_.at(static_cast<std::size_t>(devices.front()));
    if (target.backend == "metal") return target;  // a process sees all GPUs, of which there is one
    for (const int device : devices.subspan(1)) target.cuda += "," + targets_.at(static_cast<std::size_t>(device)).cuda;
    return target;
}

std::map<int, DeviceCalibration> LiveMachine::calibrations() const {
    std::map<int, DeviceCalibration> all;
    if (!native_) return all;
    const auto kept = [&](const std::string& device, const std::string& id) {
        return kept_calibration(user_cache(), host_name(), host_.cpu_name, device, id);
    };
    if (auto cpu = kept("cpu", host_.cpu_name)) all.emplace(host_only, *std::move(cpu));
    for (std::size_t index = 0; index < devices_.size(); ++index) {
        const DeviceReading* reading = find(monitor_.latest(), devices_[index]);
        if (reading == nullptr) continue;
        const std::string name = targets_[index].backend + " " + std::to_string(reading->index);
        if (auto gpu = kept(name, reading->id)) all.emplace(static_cast<int>(index), *std::move(gpu));
    }
    return all;
}

namespace {

/// Returns true if trials can be predicted on the CPU and on a GPU, and names the missing calibration otherwise.
/// `identity` is that of a worker on the first GPU.
bool both_measured(const LiveMachine& machine, const std::string& identity,
                   const std::function<void(const DeviceNotice&)>& tell) {
    const auto measured = machine.calibrations();
    const bool cpu = measured.contains(host_only), gpu = measured.contains(0);
    if (cpu && gpu && measured.at(0).identity == identity) return true;
    const std::string what = gpu && measured.at(0).identity != identity
                                 ? "the GPU, its driver, its libraries or hpo have changed since it was measured"
                             : cpu || gpu ? std::string("only the ") + (cpu ? "CPU" : "GPU") + " has been measured"
                                          : "neither the CPU nor the GPU has been measured";
    tell({false, "all trials compute on the GPU, since " + what +
                     ": after hpo bench devices, each trial gets the one on which it is predicted to end first"});
    return false;
}

}  // namespace

Result<LiveMachine> open_machine(const Study& study, const Programs& programs,
                                 const std::function<void(const DeviceNotice&)>& tell) {
    auto machine = LiveMachine::make(study, programs.hpo, tell);
    const bool may_fall_back = !study.script() && study.resources.backend == "auto" && study.resources.devices.empty();
    if (!machine || !machine->on_device() || !may_fall_back) return machine;
    const auto worker = OneWorker::start(study, programs, machine->target(0));
    if (worker) {
        if (study.resources.parallel_each.empty() && both_measured(*machine, (*worker)->identity(), tell))
            machine->use_host_too();
        return machine;
    }
    tell({true, "the GPU is not used, trials run on the CPU (resources.backend: cpu says so for good): " +
                    worker.error().message});
    return LiveMachine::on_cpu(study, programs.hpo);
}

/// Shares of memory, and the parents of processes, are read beside the loop; a single process costs no more than a line
/// of /proc, and is read now: a warm worker grows and shrinks with each trial.
std::vector<TreeReading> LiveMachine::read_trees(std::span<const std::int64_t> roots) const {
    const std::vector<std::optional<TreeReading>> latest = watch_->latest(roots);
    std::vector<TreeReading> readings;
    for (std::size_t i = 0; i < roots.size(); ++i) {
        TreeReading reading = latest[i].value_or(TreeReading{{roots[i]}, std::nullopt});
        if (reading.processes.size() <= 1 || !reading.bytes) reading.bytes = resident_memory(roots[i]);
        readings.push_back(std::move(reading));
    }
    return readings;
}

/// Memory of a device that other sessions have reserved and do not use yet: it counts as used. Their use is that of the
/// reading, which may be older than their publication.
std::int64_t LiveMachine::promised(const std::string& device, const DeviceReading* reading) const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < other_sessions_.size(); ++i)
        for (const DeviceReservation& reservation : other_sessions_[i].devices) {
            if (reservation.device != device) continue;
            const bool seen = reading && reading->processes && !their_trees_[i].empty();
            bytes +=
                not_negative(reservation.reserved - (seen ? *used_by(*reading, their_trees_[i]) : reservation.used));
        }
    return bytes;
}

std::vector<DeviceNotice> LiveMachine::poll(Seconds now) {
    // The study computes on the CPU if the first reading found no accelerator; no further readings are taken then.
    if (on_device()) monitor_.poll(now);
    memory_groups_ = memory_groups();
    return monitor_.take_notices();
}

void LiveMachine::take_other_sessions(std::vector<SessionReservations> sessions) {
    other_sessions_ = std::move(sessions);
    std::vector<std::int64_t> pids;
    for (const SessionReservations& session : other_sessions_) pids.push_back(session.pid);
    their_trees_.clear();
    for (auto& tree : watch_->latest(pids))
        their_trees_.push_back(tree ? std::move(tree->processes) : std::vector<std::int64_t>());
}

/// 0: it is not known.
std::vector<std::int64_t> LiveMachine::pids_of(std::span<const WorkerIndex> workers) const {
    std::vector<std::int64_t> pids;
    for (const WorkerIndex worker : workers) {
        const auto found = processes_.find(worker);
        pids.push_back(found == processes_.end() ? 0 : found->second.pid);
    }
    return pids;
}

/// Steps may take milliseconds, and to read the times of a few threads takes some 50 us.
std::optional<ThreadTime> LiveMachine::thread_time(WorkerIndex worker, Seconds now) {
    constexpr Seconds often_enough{0.05};
    const auto found = processes_.find(worker);
    if (found == processes_.end() || found->second.pid == 0) return std::nullopt;
    Process& process = found->second;
    if (!process.read || now - *process.read >= often_enough) {
        process.read = now;
        process.time = thread_time_of_tree(process.pid);
    }
    return process.time;
}

Machine LiveMachine::read(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> idle,
                          std::span<const Reservation> reserved) const {
    std::vector<std::int64_t> roots = pids_of(workers);
    std::erase(roots, 0);
    const std::int64_t reusable = idle ? pids_of({&*idle, 1}).front() : 0;
    if (reusable != 0) roots.push_back(reusable);
    const std::vector<TreeReading> found = read_trees(roots);
    std::int64_t ours = 0;
    for (const TreeReading& tree : found) ours += *tree.bytes;
    const std::int64_t available = available_memory("/", memory_groups_);
    const std::int64_t free = available + (reusable != 0 ? *found.back().bytes : 0);

    Machine machine;
    Machine::Host& host = machine.hosts.front();
    host.cores = host_.cores;
    host.memory = host_.memory;
    host.reserve = reserve_of(host_.memory);
    const std::int64_t promised_away = promised("host");
    host.others = not_negative(host_.memory - available - ours) + promised_away;
    host.free = not_negative(free - promised_away);
    if (resources_.memory) {
        // The study's own limit: others are in its way only as far as they leave less than that.
        const std::int64_t limit = std::min(*resources_.memory, host_.memory);
        host.others = not_negative(host.others - (host_.memory - limit));
        host.memory = limit;
        host.reserve = 0;
    }
    std::vector<std::int64_t> pids;
    for (const TreeReading& tree : found) pids.insert(pids.end(), tree.processes.begin(), tree.processes.end());
    for (std::size_t index = 0; index < devices_.size(); ++index)
        machine.accelerators.push_back(accelerator(
            index, pids,
            reusable != 0 ? std::span<const std::int64_t>(found.back().processes) : std::span<const std::int64_t>(),
            reserved));
    return machine;
}

Accelerator LiveMachine::accelerator(std::size_t index, std::span<const std::int64_t> ours,
                                     std::span<const std::int64_t> reusable,
                                     std::span<const Reservation> reserved) const {
    Accelerator device;
    device.id = devices_[index];
    device.usable = false;
    if (!resources_.parallel_each.empty()) device.parallel = resources_.parallel_each[index];
    const DeviceReading* reading = find(monitor_.latest(), device.id);
    if (!reading) return device;
    device.usable = !reading->lost;
    device.unified = reading->unified;
    std::int64_t our_bytes = 0;
    for (const Reservation& reservation : reserved)
        if (computes_on(static_cast<int>(index), reservation.device, reservation.more))
            our_bytes += reservation.footprint.device_bytes;
    device.memory = reading->memory;
    device.reserve = static_cast<std::int64_t>(resources_.gpu_reserve * static_cast<double>(reading->memory));
    const std::int64_t promised_away = promised(device.id, reading);
    device.others = used_by_others(*reading, ours, our_bytes) + promised_away;
    if (reading->used)
        device.free =
            not_negative(reading->memory - *reading->used - promised_away + used_by(*reading, reusable).value_or(0));
    if (const auto limit = value_for(resources_.gpu_memory, index)) {
        const std::int64_t left_out = not_negative(reading->memory - *limit);
        device.memory = std::min(*limit, reading->memory);
        device.reserve = 0;
        device.others = not_negative(device.others - left_out);
    }
    return device;
}

std::vector<Footprint> LiveMachine::usage(std::span<const WorkerIndex> workers) const {
    const std::vector<std::int64_t> pids = pids_of(workers);
    const std::vector<std::optional<TreeReading>> seen = watch_->latest(pids);
    std::vector<Footprint> used;
    for (std::size_t i = 0; const TreeReading& tree : read_trees(pids)) {
        Footprint footprint{0, seen[i++] ? *tree.bytes : 0, 0};  // unknown: the root alone is not the tree
        for (const std::string& id : devices_)
            if (const DeviceReading* reading = find(monitor_.latest(), id))
                footprint.device_bytes =
                    std::max(footprint.device_bytes, used_by(*reading, tree.processes).value_or(0));
        used.push_back(footprint);
    }
    return used;
}

std::vector<DeviceReservation> LiveMachine::to_publish(const Machine& now,
                                                       std::span<const HeldResources> held_resources) const {
    std::vector<DeviceReservation> all(1 + now.accelerators.size());
    DeviceReservation& host = all.front();
    host.device = "host";
    host.capacity = host_.memory;
    host.reserve = now.hosts.front().reserve;
    host.others = now.hosts.front().others;
    host.limit = resources_.memory;
    for (std::size_t index = 0; index < now.accelerators.size(); ++index) {
        const Accelerator& accelerator = now.accelerators[index];
        DeviceReservation& device = all[index + 1];
        device.device = accelerator.id;
        device.capacity = accelerator.memory;
        device.reserve = accelerator.reserve;
        device.others = accelerator.others;
        device.limit = value_for(resources_.gpu_memory, index);
    }
    for (const HeldResources& held : held_resources) {
        const Footprint& reserved = held.reservation.footprint;
        const bool on_device = !is_host(held.reservation.device);
        host.reserved += reserved.host_bytes + (on_device ? 0 : reserved.device_bytes);
        host.used += held.used.host_bytes;
        host.cores += reserved.cores;
        ++host.trials;
        for (std::size_t index = 0; index < now.accelerators.size(); ++index) {
            if (!computes_on(static_cast<int>(index), held.reservation.device, held.reservation.more)) continue;
            DeviceReservation& device = all[index + 1];
            device.reserved += reserved.device_bytes;
            device.used += held.used.device_bytes;
            ++device.trials;
        }
    }
    return all;
}

}  // namespace hpo
