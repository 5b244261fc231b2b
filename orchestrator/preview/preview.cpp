#include "orchestrator/preview/preview.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "hpo/batch_size.hpp"
#include "hpo/or_fail.hpp"
#include "hpo/result.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/session_concurrency.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/preview/script_ready.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/processes_cure.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "orchestrator/study/batch_sizes.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

SearchPreview search_of(const Study& study) {
    SearchPreview search;
    const auto priors = or_fail(prior_studies_of(study));
    for (const PriorStudy& prior : priors) search.priors.push_back(describe(prior));
    if (study.warm_start_auto && priors.empty()) search.priors.emplace_back("auto: no earlier study is like this one");
    search.offer = warm_start_offer(study);
    const Proposer proposer = or_fail(Proposer::make(study, priors));
    search.allowed = proposer.allowed_share();
    search.about_allowed = proposer.about_allowed();
    search.sampler = proposer.about();
    for (const PartSpec& spec : study.stopping) {
        const auto rule = or_fail(make_rule(spec, study));
        search.rules.push_back({spec.type, rule->plan(study.native() ? "epoch" : "step")});
    }
    return search;
}

std::int64_t total_bytes(const PackingQuestion::Trial& trial) {
    return trial.footprint.host_bytes + trial.footprint.device_bytes;
}

std::int64_t copies_at_once(PackingQuestion question, const PackingQuestion::Trial& trial) {
    question.trials = {trial};
    return pack(question).at_once;
}

/// Removes fusion keys that only one sample has, since hardly another trial of the study will share them.
void drop_rare_fusion_keys(std::vector<PackingQuestion::Trial>& trials) {
    std::map<std::string, int> count;
    for (const PackingQuestion::Trial& trial : trials) ++count[trial.fusion_key];
    for (PackingQuestion::Trial& trial : trials)
        if (count[trial.fusion_key] == 1) trial.fusion_key.clear();
}

/// The part that all trials have in common; their needs are to be filled in.
PackingQuestion question_of(const Study& study, const WorkerPlan& plan, const LiveMachine& machine) {
    PackingQuestion question;
    question.machine = machine.read();
    question.on_device = machine.on_device();
    question.workers = plan.workers;
    question.parallel = study.resources.parallel;
    if (cores_are_searched(study)) {
        question.parallel = plan.workers;
        question.parallel_by_default = true;
    }
    question.budget_trials = trials_of(study);
    return question;
}

/// Fills in the facts that depend on the kind of model: sizes and updates of networks, rounds of trees.
void count_models(const Study& study, NativePreview& native) {
    const auto in_all = [&](const Sample& sample) { return sample.answer.iterations_per_step * study.budget.epochs; };
    Samples trees, networks;
    for (const Sample& sample : native.samples) (is_trees(sample.params) ? trees : networks).push_back(sample);
    if (!trees.empty()) native.rounds = range_over(trees, in_all);
    if (networks.empty()) return;
    NetworkPreview& its = native.networks.emplace();
    its.samples = static_cast<std::int64_t>(networks.size());
    its.parameters = range_over(networks, [](const Sample& sample) { return sample.answer.parameters; });
    its.epoch_updates = range_over(networks, [](const Sample& sample) {
        const std::int64_t samples = sample.answer.training_samples;
        return std::max<std::int64_t>(1, samples / batch_size_of(sample.params, samples));
    });
    its.trial_updates = range_over(networks, in_all);
    its.few_updates = std::count_if(networks.begin(), networks.end(),
                                    [&](const Sample& sample) { return in_all(sample) < enough_updates_in_all; });
    const Sample& first = networks.front();
    if (!first.params.contains("batch_size"))
        its.default_batch = batch_size_of(first.params, first.answer.training_samples);
}

/// Plans samples in a worker. If `timed`, times the typical sample with the number of replicas that will train side by
/// side.
NativePreview native_trials(const CheckedStudy& checked, const Programs& programs, const LiveMachine& machine,
                            PackingQuestion question, bool timed) {
    const Study& study = checked.study;
    const auto worker = or_fail(OneWorker::start(study, programs, machine.target(machine.on_device() ? 0 : host_only)));
    question.slots = slots_at_first(study, worker->slots());
    question.slots_by_default = question.slots < worker->slots();
    question.parallel = most_at_once(study, question.workers, question.slots);
    question.parallel_by_default = question.parallel && !study.resources.parallel;

    NativePreview native;
    native.samples = plan_samples(checked, *worker, question.machine);
    const Sample typical = typical_sample(native.samples);
    if (machine.host_too()) native.backends = forecast_backends(native.samples, machine);
    plan_on_cpu(study, programs, native.backends, native.samples);
    native.data = or_fail(worker->explain_data(native.samples.front().params, study.seed));
    for (const Sample& sample : native.samples)
        if (sample.can_run()) question.trials.push_back(sample.reserved);
    drop_rare_fusion_keys(question.trials);
    native.packing = pack(question);

    const auto workers = std::max<std::int64_t>(1, native.packing.workers);
    native.side_by_side = std::max<std::int64_t>(1, (native.packing.at_once + workers - 1) / workers);
    if (timed) native.step_seconds = measured_step(study, *worker, typical, native.side_by_side);
    count_models(study, native);
    native.host_bytes =
        range_over(native.samples, [](const Sample& sample) { return sample.answer.footprint.host_bytes; });
    if (question.on_device)
        native.device_bytes =
            range_over(native.samples, [](const Sample& sample) { return sample.answer.footprint.device_bytes; });
    std::vector<PackingQuestion::Trial> by_size = question.trials;
    std::sort(by_size.begin(), by_size.end(),
              [](const auto& a, const auto& b) { return total_bytes(a) < total_bytes(b); });
    native.typical_at_once = copies_at_once(question, by_size[by_size.size() / 2]);
    native.largest_at_once = copies_at_once(question, by_size.back());
    return native;
}

bool prints_to_terminal(const ScriptWorker& script) {
    if (!script.metrics) return false;
    return script.metrics->terminal == TerminalUse::on ||
           (script.metrics->terminal == TerminalUse::automatic && script.preload.empty() &&
            script::profits_from_terminal(script.command));
}

/// Takes the needs of trials from the study's declaration. Throws Fatal if they never fit.
ScriptPreview script_trials(const Study& study, PackingQuestion question) {
    const ScriptWorker& script = *study.script();
    ScriptPreview preview;
    preview.home = script::home_of(script);
    preview.program = program_on_path(script);
    preview.unused = script::unused_parameters(study);
    preview.shadowed = shadowed_files(study);
    if (script.metrics)
        for (const std::string& pattern : script.metrics->patterns)
            if (const std::string warning = script::pattern_warning(pattern); !warning.empty())
                preview.pattern_warnings.push_back(warning);
    preview.terminal = prints_to_terminal(script);
    preview.needs = FootprintModel(study.resources.trial, question.on_device).predict({});
    question.devices = static_cast<std::size_t>(study.resources.trial.devices());
    // A resource that is not declared counts as zero here.
    if (const auto reason = never_fits(question.machine, preview.needs.footprint, question.on_device, question.devices))
        throw Fatal("no trial fits: each " + *reason + cure_for_processes(study));
    if (cores_are_searched(study)) preview.needs.footprint.cores = 0;
    if (!preview.needs.alone) question.trials = {{preview.needs.footprint, {}, {}, false}};
    preview.packing = pack(question);
    return preview;
}

std::optional<ConcurrencyPreview> concurrency_of(const Study& study, const WorkerPlan& plan,
                                                 const SessionMachine& machine) {
    const auto search = concurrency_plan(study, plan, machine);
    if (!search || search->workers.most == 1) return std::nullopt;
    const auto found = search->remembered.find(machine.on_device() ? 0 : host_only);
    const bool remembered = found != search->remembered.end();
    const std::int64_t most = search->workers.most;
    return ConcurrencyPreview{remembered ? std::min(found->second.workers.number, most) : search->workers.start, most,
                              remembered};
}

std::optional<CoresPreview> cores_of(const Study& study, const WorkerPlan& plan, const SessionMachine& machine) {
    const auto cores = cores_of_workers(study, plan);
    if (cores.empty() || machine.on_device()) return std::nullopt;
    return CoresPreview{static_cast<std::int64_t>(cores.front().size()), static_cast<std::int64_t>(cores.size())};
}

}  // namespace

Preview preview(const CheckedStudy& checked, const Programs& programs,
                const std::function<void(const DeviceNotice&)>& tell, bool timed) {
    const Study& study = checked.study;
    if (study.has_worker()) refuse_unready_script(study, checked.as_written ? checked.file : "");
    Preview preview{search_of(study), {}};
    if (!study.has_worker()) return preview;
    const LiveMachine machine = or_fail(open_machine(study, programs, tell));
    const WorkerPlan plan = plan_workers(study, machine.host());
    const PackingQuestion question = question_of(study, plan, machine);
    MachinePreview& here = preview.machine.emplace();
    here.host = machine.host();
    here.on_device = machine.on_device();
    if (!study.script())
        here.trials = native_trials(checked, programs, machine, question, timed);
    else
        here.trials = script_trials(study, question);
    here.memory_free = available_memory();
    here.fewer_than_asked = fewer_than_asked(study, machine.host());
    here.concurrency = concurrency_of(study, plan, machine);
    here.cores = cores_of(study, plan, machine);
    return preview;
}

}  // namespace hpo
