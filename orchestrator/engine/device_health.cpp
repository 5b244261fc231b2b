#include "orchestrator/engine/device_health.hpp"

#include "orchestrator/engine/text.hpp"

namespace hpo {

DeviceHealth::Changes DeviceHealth::read(const Machine& machine) {
    Changes changes;
    for (std::size_t index = 0; index < machine.accelerators.size(); ++index) {
        const auto device = static_cast<int>(index);
        if (given_up(device)) continue;
        const Machine::Host& host = machine.hosts.at(static_cast<std::size_t>(machine.accelerators[index].host));
        if (!host.usable) {
            changes.any_usable = changes.any_usable || !host.gone;
        } else if (machine.accelerators[index].usable) {
            changes.any_usable = true;
            if (lost_.erase(device)) changes.back.push_back(device);
        } else if (lost_.insert(device).second) {
            changes.lost.push_back(device);
        }
    }
    return changes;
}

std::optional<std::string> DeviceHealth::failed(int device, std::span<const std::int64_t> trials,
                                                const std::string& reason, Seconds now) {
    Faults& faults = faults_[device];
    ++faults.in_a_row;
    faults.trials.insert(trials.begin(), trials.end());
    if (faults.in_a_row < failures_allowed || faults.trials.size() < 2) {
        cool_downs_[device] = now + Seconds(noticed_after);  // makes the next launch prefer another device
        return std::nullopt;
    }
    return "failed " + std::to_string(faults.in_a_row) + " times in a row, under " +
           counted(static_cast<std::int64_t>(faults.trials.size()), "trial") + ": " + reason;
}

std::optional<std::string> DeviceHealth::start_failed(int device, const std::string& message, Seconds now) {
    const bool same_failure = cools_down(device, now);
    cool_downs_[device] = now + Seconds(noticed_after);
    if (same_failure || given_up(device)) return std::nullopt;
    const int times = ++faults_[device].starts;
    if (times < failures_allowed) return std::nullopt;
    return "is of no use: " + counted(times, "launch", "launches") + " of a worker failed in a row: " + message;
}

void DeviceHealth::give_up(int device, const std::string& why) {
    given_up_.insert(device);
    why_given_up_ = why;
}

void DeviceHealth::remove_given_up(Machine& machine) const {
    for (const int device : given_up_) {
        Accelerator& gone = machine.accelerators.at(static_cast<std::size_t>(device));
        gone.usable = false;
        gone.memory = 0;
    }
}

void DeviceHealth::set_cooling_aside(Machine& machine, Seconds now) const {
    for (const auto& [device, until] : cool_downs_)
        if (now < until) machine.accelerators.at(static_cast<std::size_t>(device)).usable = false;
}

bool DeviceHealth::cools_down(int device, Seconds now) const {
    const auto found = cool_downs_.find(device);
    return found != cool_downs_.end() && now < found->second;
}

}  // namespace hpo
