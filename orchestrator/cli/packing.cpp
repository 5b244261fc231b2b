#include "orchestrator/cli/packing.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/scheduling/concurrency.hpp"

namespace hpo {

namespace {

constexpr std::int64_t most_shown = 1024;                ///< trials at once; more is asked of nobody
constexpr std::int64_t endless = std::int64_t{1} << 60;  ///< bytes

std::int64_t available_of(std::int64_t capacity, std::int64_t reserve, std::int64_t others) {
    return std::max<std::int64_t>(0, capacity - reserve - others);
}

std::vector<Packing::Pool> empty_pools(const Machine& machine) {
    std::vector<Packing::Pool> pools{{"", machine.memory, machine.memory_reserve, machine.memory_others,
                                      available_of(machine.memory, machine.memory_reserve, machine.memory_others)}};
    for (const Accelerator& device : machine.accelerators)
        pools.push_back({device.id, device.memory, device.reserve, device.others,
                         device.usable ? available_of(device.memory, device.reserve, device.others) : 0});
    return pools;
}

/// Trials start as the engine starts them: each may open a worker, which others of its fusion key then join.
class Filling {
   public:
    explicit Filling(const PackingQuestion& question) : question_(question), machine_(question.machine) {
        packing_.pools = empty_pools(machine_);
        const auto count = question.trials.empty() ? 0 : std::min(question.most, most_shown);
        for (std::int64_t number = 1; number <= count; ++number)
            waiting_.push_back({number, trial(number).footprint, question.on_device, false, {}, {}, question.devices});
        if (question.slots == 1) known_ = waiting_.size();
        while (start_some()) {
        }
    }

    Packing take_packing() { return std::move(packing_); }

   private:
    struct Worker {
        int device;
        std::string fusion_key;
        std::int64_t free;  ///< slots
    };

    [[nodiscard]] const PackingQuestion::Trial& trial(std::int64_t number) const {
        return question_.trials[static_cast<std::size_t>(number - 1) % question_.trials.size()];
    }

    /// As many as the planner launches before one changes where others may start. False: no further one will.
    bool start_some() {
        const Admission admission = admit(machine_, running_, std::span(waiting_).first(known_), question_.parallel);
        if (admission.kept_out && packing_.kept_out.empty()) packing_.kept_out = admission.kept_out->text;
        if (admission.launch.empty()) return look_further();
        for (const Admission::Launch& launch : admission.launch) {
            const PackingQuestion::Trial& started = trial(launch.trial);
            const Footprint& reserved = launch.joins ? started.colocated : started.footprint;
            running_.push_back({launch.trial, reserved, launch.device, false, launch.more});
            std::erase_if(waiting_, [&](const Waiting& other) { return other.trial == launch.trial; });
            --known_;
            take(reserved, launch.device, launch.more);
            ++packing_.at_once;
            if (!launch.joins) ++packing_.workers;
            if (question_.slots == 1 || started.fusion_key.empty()) continue;
            if (launch.joins)
                --worker_to_join(started.fusion_key, launch.device).free;
            else
                workers_.push_back({launch.device, started.fusion_key, question_.slots - 1});
            offer(started.fusion_key);
            return true;
        }
        return question_.slots > 1;
    }

    /// For one of a shape that is taken.
    bool look_further() {
        std::int64_t free = 0;
        for (const Worker& worker : workers_) free += worker.free;
        const auto length = queue_length(static_cast<std::size_t>(question_.workers), static_cast<std::size_t>(free));
        if (known_ == waiting_.size() || known_ >= length) return false;
        ++known_;
        return true;
    }

    Worker& worker_to_join(const std::string& fusion_key, int device) {
        return *std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) {
            return worker.fusion_key == fusion_key && worker.free > 0 && worker.device == device;
        });
    }

    /// Those that wait are told who takes them.
    void offer(const std::string& fusion_key) {
        std::vector<int> devices;
        for (const Worker& worker : workers_)
            if (worker.fusion_key == fusion_key && worker.free > 0) devices.push_back(worker.device);
        for (Waiting& other : waiting_) {
            const PackingQuestion::Trial& its = trial(other.trial);
            if (its.fusion_key != fusion_key) continue;
            other.colocated = its.colocated;
            other.joinable_on = devices;
        }
    }

    void take(const Footprint& footprint, int device, const std::vector<int>& more) {
        const auto book = [](Packing::Pool& pool, std::optional<std::int64_t>& free, std::int64_t bytes) {
            ++pool.trials;
            pool.reserved += bytes;
            if (free) *free -= bytes;
        };
        std::int64_t on_host = footprint.host_bytes + (device == host_only ? footprint.device_bytes : 0);
        for (std::size_t index = 0; index < machine_.accelerators.size(); ++index) {
            if (!computes_on(static_cast<int>(index), device, more)) continue;
            Accelerator& where = machine_.accelerators[index];
            book(packing_.pools.at(index + 1), where.free, footprint.device_bytes);
            if (where.unified) on_host += footprint.device_bytes;
        }
        book(packing_.pools.front(), machine_.memory_free, on_host);
    }

    const PackingQuestion& question_;
    Machine machine_;  ///< with less and less free memory
    std::vector<Waiting> waiting_;
    std::size_t known_ = 0;  ///< of them; with several slots the engine asks for one when no other can start
    std::vector<Reservation> running_;
    std::vector<Worker> workers_;  ///< of trials with a shape
    Packing packing_;
};

Packing fill(const PackingQuestion& question) { return Filling(question).take_packing(); }

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

void lift_slots(PackingQuestion& question) {
    if (question.slots > 1) question.slots = most_shown;
}

struct Limit {
    const char* name;
    void (*lift)(PackingQuestion&);
};
constexpr Limit limits[] = {{"resources.parallel", lift_parallel},
                            {"cores", lift_cores},
                            {"device memory", lift_devices},
                            {"host memory", lift_host},
                            {"resources.slots", lift_slots}};

/// The limits that, without all others, would let no more start; several may. Where only a mixture of them holds trials
/// back, those whose absence lets more start. What hpo chose by itself is named where nothing else is to blame.
std::string limit_of(const PackingQuestion& question, std::int64_t at_once) {
    if (question.trials.empty()) return {};
    if (at_once >= question.most) return "the trials of the budget";
    std::vector<std::string> alone, mixed;
    for (const Limit& limit : limits) {
        PackingQuestion without = question, only = question;
        limit.lift(without);
        for (const Limit& other : limits)
            if (&other != &limit) other.lift(only);
        if (fill(only).at_once <= at_once) alone.emplace_back(limit.name);
        if (fill(without).at_once > at_once) mixed.emplace_back(limit.name);
    }
    std::vector<std::string>& names = alone.empty() ? mixed : alone;
    if (question.parallel_by_default && !names.empty() && names.front() == limits[0].name) {
        if (names.size() > 1)
            names.erase(names.begin());
        else
            names.front() += " (auto: a quarter of the trials, or one a core)";
    }
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
    return text;
}

}  // namespace

Packing pack(const PackingQuestion& question) {
    Packing packing = fill(question);
    packing.limit = limit_of(question, packing.at_once);
    return packing;
}

std::optional<std::string> never_fits(const Machine& machine, const Footprint& footprint, bool on_device,
                                      std::size_t devices) {
    const std::vector<Waiting> one{{1, footprint, on_device, false, {}, {}, devices}};
    const Admission admission = admit(machine, {}, one, {});
    return admission.never.empty() ? std::nullopt : std::optional(admission.never.front().text);
}

}  // namespace hpo
