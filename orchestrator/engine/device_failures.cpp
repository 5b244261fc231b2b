#include "orchestrator/engine/device_failures.hpp"

namespace hpo {

void DeviceFailures::set_lost_aside() {
    if (!context_.parts.on_device) return;
    const Machine machine = machine_.devices();
    const auto name = [&](int device) {
        return "device " + machine.accelerators.at(static_cast<std::size_t>(device)).id;
    };
    const DeviceHealth::Changes changes = health_.read(machine);
    for (const int device : changes.back) context_.say(Notice::Level::info, 0, name(device) + " is back");
    for (const int device : changes.lost) {
        launches_.forgive();
        const std::string reason = name(device) + " was lost";
        context_.say(Notice::Level::warning, 0, reason + ": set aside, its trials are queued again");
        pool_.end_on_device(device, reason);
    }
    const auto& awaits_hosts = context_.parts.awaits_hosts;
    if (changes.any_usable || context_.parts.host_too || (awaits_hosts && awaits_hosts())) return;
    const std::string& why = health_.why_given_up();
    context_.conclude(SessionEnd::failed,
                      why.empty() ? "no device is left: every one that the study may use was lost"
                                  : "no device is left, " + why + "; hpo run --backend cpu resumes without one");
}

void DeviceFailures::give_up(int device, const std::string& why) {
    const std::string reason = "device " + machine_.id_of(device) + ' ' + why;
    health_.give_up(device, reason);
    context_.say(Notice::Level::warning, 0, reason + "\n  it is not used any more in this run");
    pool_.end_on_device(device, reason);
    set_lost_aside();
}

bool DeviceFailures::failed_under(std::span<const int> devices, std::span<const std::int64_t> trials,
                                  const std::string& reason) {
    bool gone = false;
    for (const int device : devices) {
        if (!health_.given_up(device))
            if (const auto why = health_.failed(device, trials, reason, context_.now())) give_up(device, *why);
        gone = gone || health_.given_up(device);
    }
    return gone;
}

void DeviceFailures::start_failed(int device, const std::string& message) {
    context_.say(Notice::Level::error, 0, message);
    const auto why = health_.start_failed(device, message, context_.now());
    if (why && !context_.closing()) give_up(device, *why);
}

}  // namespace hpo
