#include "orchestrator/engine/requirements.hpp"

#include <algorithm>
#include <utility>

#include "orchestrator/scheduling/capacity.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"

namespace hpo {

namespace {

constexpr double worth_storing = 1.02;  // times the peak that is stored already

std::int64_t whole(const Params& params, const char* name, std::int64_t otherwise) {
    const auto found = params.find(name);
    return found == params.end() ? otherwise : static_cast<std::int64_t>(number_or(found->second, double(otherwise)));
}

bool is_measured(const Footprint& used) { return used.device_bytes > 0 || used.host_bytes > 0; }

/// Caps a learned bound, which may be too high, so that it makes no trial fail or wait for other programs' memory.
/// Declared memory stands. After a wait in vain the trial gets nine tenths of the memory that other programs leave, as
/// their use varies.
std::int64_t capped(std::int64_t bound, std::int64_t all, std::int64_t left,
                    const std::optional<std::int64_t>& declared, bool waited) {
    const std::int64_t most = waited ? left / 10 * 9 : std::max(left, all / 2);
    return std::min(bound, std::max<std::int64_t>({most, declared.value_or(0), 0}));
}

}  // namespace

RequirementsTable::RequirementsTable(const Study& study, Ledger& ledger, Placement& placement, bool on_device)
    : study_(study),
      ledger_(ledger),
      placement_(placement),
      on_device_(on_device),
      devices_(on_device ? static_cast<std::size_t>(study.resources.trial.devices()) : 0),
      model_(study.resources.trial, on_device),
      asks_(!study.script()),
      shrinks_(!study.script()) {}

bool RequirementsTable::learn_capabilities(const Worker& worker) {
    shrinks_ = shrinks_ || worker.shrinks;
    if (!worker.plans || std::exchange(asks_, true)) return false;
    for (const auto& [trial, needs] : trials_) placement_.forget_needs(trial);
    trials_.clear();
    return true;
}

const TrialRequirements* RequirementsTable::find(std::int64_t trial) const {
    const auto found = trials_.find(trial);
    return found == trials_.end() ? nullptr : &found->second;
}

const TrialNeeds* RequirementsTable::known(std::int64_t trial) const {
    const TrialRequirements* found = find(trial);
    return found && found->known ? found : nullptr;
}

const TrialRequirements& RequirementsTable::of(std::int64_t trial) const {
    static const TrialRequirements nothing;
    const TrialRequirements* found = find(trial);
    return found ? *found : nothing;
}

TrialRequirements& RequirementsTable::change(std::int64_t trial) {
    const auto [found, is_new] = trials_.try_emplace(trial);
    if (is_new) {
        found->second.trial = trial;
        found->second.devices = devices_;
    }
    return found->second;
}

void RequirementsTable::tell(const TrialRequirements& needs) {
    if (needs.known)
        placement_.set_needs(needs);
    else
        placement_.forget_needs(needs.trial);
}

void RequirementsTable::forget(std::int64_t trial) {
    trials_.erase(trial);
    placement_.forget_needs(trial);
}

Params RequirementsTable::configuration(std::int64_t trial) const {
    Params params = ledger_.record().trial(trial).params;
    params.insert(study_.fixed.begin(), study_.fixed.end());
    if (const auto found = trials_.find(trial); found != trials_.end() && found->second.micro_batches > 0)
        params["accumulation"] = found->second.micro_batches;
    return params;
}

void RequirementsTable::answered(const from_worker::PlanAnswer& answer, bool on_host, bool unified) {
    TrialRequirements& needs = change(answer.id);
    from_worker::PlanAnswer& kept = needs.answers[on_host && on_device_] = answer;
    declare_cores(study_, kept.footprint);
    // On a unified device the process's memory holds the device's, which the planner adds.
    if (unified)
        for (Footprint* part : {&kept.footprint, &kept.colocated})
            part->host_bytes = std::max<std::int64_t>(0, part->host_bytes - part->device_bytes);
    needs.work = step_work(answer, configuration(answer.id));
    use_answer(needs);
}

void RequirementsTable::use_answer(TrialRequirements& needs) {
    const auto found = needs.answers.find(needs.on_host);
    needs.known = found != needs.answers.end();
    if (needs.known) {
        needs.footprint = at_least(found->second.footprint, needs.minimum);
        needs.colocated = found->second.colocated;
        needs.fusion_key = found->second.fusion_key;
        needs.alone = needs.must_run_alone;
    }
    tell(needs);
}

void RequirementsTable::ask_again(TrialRequirements& needs) {
    needs.known = false;
    needs.answers.clear();
    needs.not_on_host = needs.not_on_device = false;
    tell(needs);
}

void RequirementsTable::choose(std::int64_t trial, bool on_host, double step, const std::string& why) {
    const TrialRequirements* now = find(trial);
    if (now && now->on_host == on_host && now->step == step && now->why == why) return;
    TrialRequirements& needs = change(trial);
    needs.step = step;
    needs.why = why;
    if (needs.on_host == on_host) return;
    needs.on_host = on_host;
    needs.devices = on_host ? 0 : devices_;
    use_answer(needs);
}

bool RequirementsTable::try_other_side(std::int64_t trial) {
    TrialRequirements& needs = change(trial);
    (needs.on_host ? needs.not_on_host : needs.not_on_device) = true;
    return !(needs.not_on_host && needs.not_on_device);
}

void RequirementsTable::predict(std::int64_t trial, const Machine& machine) {
    TrialRequirements& needs = change(trial);
    const Prediction prediction = model_.predict(configuration(trial));
    const Footprint capacity = capacity_of(machine), left = left_of(machine);
    const DeclaredFootprint& declared = study_.resources.trial;
    Footprint& footprint = needs.footprint = prediction.footprint;
    if (cores_are_searched(study_)) footprint.cores = 0;
    footprint.host_bytes = capped(footprint.host_bytes, capacity.host_bytes, left.host_bytes, declared.host_bytes,
                                  needs.waited && !needs.lacked_on_device);
    if (on_device_)
        footprint.device_bytes = capped(footprint.device_bytes, capacity.device_bytes, left.device_bytes,
                                        declared.device_bytes, needs.waited && needs.lacked_on_device);
    footprint = at_least(footprint, needs.minimum);
    needs.alone = needs.must_run_alone || prediction.alone;
    needs.known = true;
    tell(needs);
}

void RequirementsTable::recall(const Machine& machine) {
    for (const TrialRecord& trial : ledger_.record().trials)
        if (is_measured(trial.peak)) model_.measured(configuration(trial.number), trial.peak);
    for (const std::int64_t number : ledger_.unfinished()) {
        const TrialRecord& trial = ledger_.record().trial(number);
        if (trial.memory_deaths == 0) continue;
        TrialRequirements& needs = change(number);
        needs.own_worker = true;
        needs.micro_batches = trial.allocation->micro_batches;
        needs.minimum = trial.allocation->footprint;
        needs.must_run_alone = trial.allocation->alone;
        needs.ran_out_after = trial.steps();
        // If nothing is left to try, the trial is repeated once unchanged, as this session may have more memory.
        if (trial.requeued == Outcome::out_of_memory)
            (void)learn_from(number, {*trial.allocation, trial.peak, on_device_, others_of(machine)}, machine);
    }
}

Reservation RequirementsTable::record_usage(const Job& job, const Footprint& used) {
    Reservation reservation = job.held.reservation;
    if (job.last_step == 0 || !is_measured(used)) return reservation;
    TrialRequirements& needs = change(job.id.trial);
    Footprint& reserved = reservation.footprint;
    const Footprint with_error = with_measurement_error(used);
    if (asks_) {
        reserved = at_least(reserved, used);  // exact, unless it turns out not to be
    } else {
        if (used.host_bytes > 0) reserved.host_bytes = with_error.host_bytes;
        if (used.device_bytes > 0) reserved.device_bytes = with_error.device_bytes;
        if (job.last_step > needs.ran_out_after) {
            needs.minimum = {0, 0, 0};
            needs.must_run_alone = false;
        }
        reserved = at_least(reserved, needs.minimum);
        reservation.alone = needs.must_run_alone;
    }
    needs.footprint = reserved;
    needs.alone = reservation.alone;
    tell(needs);
    return reservation;
}

void RequirementsTable::keep_peak(const Job& job, const std::function<bool(std::int64_t trial)>& assigned) {
    const Footprint& used = job.held.used;
    const Footprint& stored = ledger_.record().trial(job.id.trial).peak;
    const auto news = [](std::int64_t now, std::int64_t before) {
        return double(now) > worth_storing * double(before);
    };
    if (job.phase == Job::Phase::reserved || !is_measured(used)) return;
    if (!news(used.host_bytes, stored.host_bytes) && !news(used.device_bytes, stored.device_bytes)) return;
    ledger_.measured(job.id.trial, used);
    model_.measured(configuration(job.id.trial), used);
    if (asks_) return;
    for (auto& [trial, needs] : trials_)
        if (!assigned(trial)) {
            needs.known = false;
            tell(needs);
        }
}

Result<std::string> RequirementsTable::learn_from(std::int64_t trial, const OutOfMemory& what, const Machine& machine) {
    const Params params = configuration(trial);
    const TrialRecord& record = ledger_.record().trial(trial);
    MemoryDeath death;
    death.reserved = what.given.footprint;
    death.used = what.used;
    death.alone = what.given.alone;
    if (const TrialRequirements* needs = find(trial)) death.waited = needs->waited;
    death.on_device = what.device_memory;
    death.deaths = record.memory_deaths + (record.state == TrialState::running ? 1 : 0);  // else it is counted already
    death.micro_batches = whole(params, "accumulation", 1);
    death.may_recompute = may_recompute(trial);
    if (shrinks_) death.more_micro_batches = next_accumulation(whole(params, "batch_size", 1), death.micro_batches);
    death.capacity = capacity_of(machine);
    death.others = what.others;
    const bool unified = std::any_of(machine.accelerators.begin(), machine.accelerators.end(),
                                     [](const Accelerator& device) { return device.unified; });
    if (unified) {  // one pool: memory reserved as one kind is not available as the other
        death.capacity.device_bytes -= what.given.footprint.host_bytes;
        death.capacity.host_bytes -= what.given.footprint.device_bytes;
    }
    const Result<NextTry> next = after_out_of_memory(death);
    if (!next) return next.error();
    TrialRequirements& needs = change(trial);
    needs.minimum = next->reservation;
    needs.must_run_alone = next->alone;
    needs.ran_out_after = record.steps();
    needs.lacked_on_device = what.device_memory;
    needs.waited = false;
    ask_again(needs);  // or predicted, with the minimum
    if (next->micro_batches > death.micro_batches) needs.micro_batches = next->micro_batches;
    return next->how;
}

bool RequirementsTable::may_recompute(std::int64_t trial) const {
    const Params params = configuration(trial);
    const auto checkpointing = params.find("checkpointing");
    return checkpointing != params.end() && checkpointing->second == Value{std::string("auto")};
}

bool RequirementsTable::settle_for_less(std::int64_t trial, const Machine& machine) {
    const TrialRequirements* found = find(trial);
    if (!found || (found->minimum == Footprint{0, 0, 0} && !found->waited)) return false;
    const Footprint left = left_of(machine);
    if ((found->lacked_on_device ? left.device_bytes : left.host_bytes) <= 0) return false;
    TrialRequirements& needs = change(trial);
    needs.minimum = {0, 0, 0};
    needs.waited = true;
    ask_again(needs);
    return true;
}

void RequirementsTable::use_own_worker(std::int64_t trial) {
    TrialRequirements& needs = change(trial);
    needs.own_worker = true;
    tell(needs);
}

void RequirementsTable::run_alone(std::int64_t trial) {
    TrialRequirements& needs = change(trial);
    needs.must_run_alone = true;
    ask_again(needs);
}

bool RequirementsTable::shrink(std::int64_t trial, const std::string& why) {
    if (!shrinks_) return false;
    const Params params = configuration(trial);
    const auto more = next_accumulation(whole(params, "batch_size", 1), whole(params, "accumulation", 1));
    if (!more) return false;
    TrialRequirements& needs = change(trial);
    if (needs.shrunk.empty()) needs.shrunk = why;
    needs.micro_batches = *more;
    needs.minimum = {0, 0, 0};
    ask_again(needs);
    return true;
}

}  // namespace hpo
