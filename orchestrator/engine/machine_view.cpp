#include "orchestrator/engine/machine_view.hpp"

#include <vector>

namespace hpo {

Machine MachineView::for_trials() const {
    std::vector<WorkerIndex> workers;
    for (std::size_t i = 0; i < pool_.workers().size(); ++i) {
        const Worker& worker = pool_.workers()[i];
        if (worker.spent) continue;  // without a reservation: its memory is in use like others'
        if (!worker.idle()) workers.push_back(static_cast<WorkerIndex>(i));
    }
    std::erase_if(workers, [&](WorkerIndex index) { return !pool_.at(index).greeted; });
    Machine machine = context_.parts.machine(workers, pool_.idle_to_reuse());
    health_.remove_given_up(machine);
    health_.set_cooling_aside(machine, context_.now());
    return machine;
}

Machine MachineView::devices() const {
    Machine machine = context_.parts.machine({}, {});
    health_.remove_given_up(machine);
    return machine;
}

std::optional<int> MachineView::usable_device() const {
    const auto first = [](const Machine& machine) -> std::optional<int> {
        for (std::size_t device = 0; device < machine.accelerators.size(); ++device)
            if (machine.accelerators[device].usable) return static_cast<int>(device);
        return std::nullopt;
    };
    const Machine* fixed = unchanging();
    return fixed ? first(*fixed) : first(for_trials());
}

std::string MachineView::id_of(int device) const {
    return with_device(device, [](const Accelerator& one) { return one.id; });
}

std::string MachineView::host_name_of(int place) const {
    const auto& name = context_.parts.host_name;
    if (!name) return {};
    const int host =
        is_host(place) ? on_host(place) : with_device(place, [](const Accelerator& one) { return one.host; });
    return name(host);
}

bool MachineView::is_unified(int device) const {
    return !is_host(device) && with_device(device, [](const Accelerator& one) { return one.unified; });
}

}  // namespace hpo
