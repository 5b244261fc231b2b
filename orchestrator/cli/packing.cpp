#include "orchestrator/cli/packing.hpp"

#include <algorithm>
#include <limits>

namespace hpo {

namespace {

constexpr std::int64_t most_shown = 1024;                ///< trials at once; more is asked of nobody
constexpr std::int64_t endless = std::int64_t{1} << 60;  ///< bytes

Admission start(const PackingQuestion& question) {
    std::vector<Waiting> waiting;
    const auto count = question.trials.empty() ? 0 : std::min(question.most, most_shown);
    for (std::int64_t i = 0; i < count; ++i)
        waiting.push_back(
            {i + 1, question.trials[static_cast<std::size_t>(i) % question.trials.size()], question.on_device, false});
    return admit(question.machine, {}, waiting, question.parallel);
}

void lift_cores(PackingQuestion& question) { question.machine.cores = 1e9; }
void lift_host(PackingQuestion& question) {
    Machine& machine = question.machine;
    machine.memory = endless;
    machine.memory_reserve = machine.memory_others = 0;
    machine.memory_free.reset();
}
void lift_devices(PackingQuestion& question) {
    for (Accelerator& device : question.machine.accelerators) {
        device.memory = endless;
        device.reserve = device.others = 0;
        device.free.reset();
    }
}
void lift_parallel(PackingQuestion& question) {
    question.parallel.reset();
    for (Accelerator& device : question.machine.accelerators) device.parallel.reset();
}

struct Limit {
    const char* name;
    void (*lift)(PackingQuestion&);
};
constexpr Limit limits[] = {{"resources.parallel", lift_parallel},
                            {"cores", lift_cores},
                            {"device memory", lift_devices},
                            {"host memory", lift_host}};

/// The limits that, without all others, would let no more start; several may. Where only a mixture of them holds trials
/// back, those whose absence lets more start.
std::string limit_of(const PackingQuestion& question, std::int64_t at_once) {
    if (question.trials.empty()) return {};
    if (at_once >= question.most) return "the trials of the budget";
    const auto starts = [](const PackingQuestion& asked) {
        return static_cast<std::int64_t>(start(asked).launch.size());
    };
    std::string alone, mixed;
    for (const Limit& limit : limits) {
        PackingQuestion without = question, only = question;
        limit.lift(without);
        for (const Limit& other : limits)
            if (&other != &limit) other.lift(only);
        const auto add = [&](std::string& names) { names += (names.empty() ? "" : " and ") + std::string(limit.name); };
        if (starts(only) <= at_once) add(alone);
        if (starts(without) > at_once) add(mixed);
    }
    return alone.empty() ? mixed : alone;
}

std::int64_t room_of(std::int64_t capacity, std::int64_t reserve, std::int64_t others) {
    return std::max<std::int64_t>(0, capacity - reserve - others);
}

}  // namespace

Packing pack(const PackingQuestion& question) {
    const Machine& machine = question.machine;
    Packing packing;
    packing.pools.push_back({"", machine.memory, machine.memory_reserve, machine.memory_others,
                             room_of(machine.memory, machine.memory_reserve, machine.memory_others)});
    for (const Accelerator& device : machine.accelerators)
        packing.pools.push_back({device.id, device.memory, device.reserve, device.others,
                                 device.usable ? room_of(device.memory, device.reserve, device.others) : 0});
    const Admission admission = start(question);
    for (const Admission::Launch& launch : admission.launch) {
        const auto& footprint = question.trials[static_cast<std::size_t>(launch.trial - 1) % question.trials.size()];
        Packing::Pool& host = packing.pools.front();
        host.booked += footprint.host_bytes;
        ++host.trials;
        if (launch.device == host_only) {
            host.booked += footprint.device_bytes;
            continue;
        }
        Packing::Pool& device = packing.pools.at(static_cast<std::size_t>(launch.device) + 1);
        device.booked += footprint.device_bytes;
        ++device.trials;
        if (machine.accelerators[static_cast<std::size_t>(launch.device)].unified)
            host.booked += footprint.device_bytes;
    }
    packing.at_once = static_cast<std::int64_t>(admission.launch.size());
    packing.limit = limit_of(question, packing.at_once);
    if (admission.kept_out) packing.kept_out = admission.kept_out->text;
    return packing;
}

std::optional<std::string> never_fits(const Machine& machine, const Footprint& footprint, bool on_device) {
    const std::vector<Waiting> one{{1, footprint, on_device, false}};
    const Admission admission = admit(machine, {}, one, {});
    return admission.never.empty() ? std::nullopt : std::optional(admission.never.front().text);
}

}  // namespace hpo
