#include "orchestrator/preview/samples.hpp"

#include <algorithm>
#include <set>

#include "hpo/random.hpp"
#include "hpo/result.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/sampling/study_cube.hpp"
#include "orchestrator/scheduling/concurrency.hpp"
#include "orchestrator/scheduling/out_of_memory.hpp"
#include "orchestrator/scheduling/processes_cure.hpp"
#include "orchestrator/study/batch_sizes.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

constexpr std::int64_t max_samples = 32;
constexpr std::int64_t probe_steps = 3;  ///< of the timed training; only the last one counts
constexpr std::int64_t probe_iterations = 20;

std::int64_t integer_param(const Params& params, const char* name) {
    const auto found = params.find(name);
    const double fallback = default_number(name);
    return static_cast<std::int64_t>(found == params.end() ? fallback : number_or(found->second, fallback));
}

from_worker::PlanAnswer plan_or_refuse(const CheckedStudy& checked, OneWorker& worker, const Sample& sample) {
    auto answer = worker.plan(sample.params, checked.study.budget.epochs, checked.study.seed);
    if (!answer) checked.refuse("trial " + std::to_string(sample.trial) + " could not run: ", answer.error().message);
    declare_cores(checked.study, answer->footprint);
    return std::move(*answer);
}

/// Throws Refusal if the data has fewer samples than the largest batch of the space. The samples need not contain that
/// batch.
void check_largest_batch(const CheckedStudy& checked, OneWorker& worker, const Sample& sample, const CubeMap& map) {
    for (const Dimension& dimension : checked.study.space) {
        if (dimension.name != "batch_size") continue;
        double largest = dimension.high;
        for (const Value& choice : dimension.choices) largest = std::max(largest, number_or(choice, 0));
        Params params = sample.params;
        params["batch_size"] = static_cast<std::int64_t>(largest);
        if (!map.allows(params)) continue;
        const auto answer = worker.plan(params, checked.study.budget.epochs, checked.study.seed);
        if (!answer && answer.error().message.find("batch_size: ") != std::string::npos)
            checked.refuse("the largest could not run: ", answer.error().message,
                           dimension.choices.empty() ? ".high" : ".choices");
    }
}

PackingQuestion::Trial reserved_by(const from_worker::PlanAnswer& answer) {
    return {answer.footprint, answer.fusion_key, answer.colocated, false};
}

/// Splits the batch into more micro-batches until the trial fits the empty machine. Leaves sample.micro_batches at 0 if
/// the worker rejects a split before that.
void split_until_fits(const Study& study, OneWorker& worker, const Machine& machine, Sample& sample) {
    const std::int64_t batch_size = batch_size_of(sample.params, sample.answer.training_samples);
    auto parts = next_accumulation(batch_size, integer_param(sample.params, "accumulation"));
    for (; parts; parts = next_accumulation(batch_size, *parts)) {
        sample.params["accumulation"] = *parts;
        const auto answer = worker.plan(sample.params, study.budget.epochs, study.seed);
        if (!answer) return;
        sample.reserved = reserved_by(*answer);
        if (never_fits(machine, sample.reserved.footprint, !machine.accelerators.empty())) continue;
        sample.micro_batches = *parts;
        return;
    }
}

[[noreturn]] void refuse_all(const Study& study, const Samples& samples) {
    const auto smallest = std::min_element(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
        return a.reserved.footprint.host_bytes < b.reserved.footprint.host_bytes;
    });
    const from_worker::PlanAnswer& answer = smallest->answer;
    const bool much_data = answer.data_bytes > answer.footprint.host_bytes / 2;
    throw Fatal("no trial fits, not even in the smallest micro-batches: as configured, the smallest (trial " +
                std::to_string(smallest->trial) + ") " + smallest->too_large + cure_for_processes(study) +
                (study.resources.memory ? "; resources.memory sets the limit" : "") +
                (much_data ? "; the data take " + bytes_text(static_cast<double>(answer.data_bytes)) +
                                 " of it, and with worker.data.placement: files they stay in their files"
                           : ""));
}

/// Returns the number of trials for which the space has configurations and seeds, if it is at most `most`, else `most`.
std::int64_t trials_in_space(const Study& study, std::int64_t most) {
    constexpr std::uint64_t listed = 20'000;
    if (study.space.empty()) return 1;
    const auto cube = cube_of(study);
    if (!cube) return most;
    const auto all = (*cube)->combinations(listed);
    if (!all || *all > listed) return most;
    std::set<Params> distinct;  // with conditions, several combinations are one configuration
    const auto trials = [&] { return static_cast<std::int64_t>(distinct.size()) * study.repeats; };
    for (std::uint64_t number = 0; number < *all && trials() < most; ++number)
        if (auto params = (*cube)->combination(number); params && (*cube)->allows(*params))
            distinct.insert(*std::move(params));
    return std::min(trials(), most);
}

}  // namespace

void CheckedStudy::refuse(const std::string& prefix, const std::string& message, const char* side) const {
    const std::string key = message.substr(0, message.find(": "));
    const std::string name = key.substr(key.rfind('.') + 1);
    const bool is_searched = std::any_of(study.space.begin(), study.space.end(),
                                         [&](const Dimension& dimension) { return dimension.name == name; });
    throw Refusal(error_at(as_written ? study.source : "", file, is_searched ? "space." + name + side : "worker." + key,
                           prefix + message));
}

std::int64_t trials_of(const Study& study) { return trials_in_space(study, study.budget.trials); }

void refuse_small_batches(const CheckedStudy& checked, std::int64_t training_samples) {
    const std::string refused = refused_batch_size(checked.study, training_samples);
    if (refused.empty()) return;
    const Space& space = checked.study.space;
    const bool listed = std::any_of(space.begin(), space.end(), [](const Dimension& dimension) {
        return dimension.name == "batch_size" && dimension.kind == Kind::categorical;
    });
    checked.refuse("", "training.batch_size: " + refused, listed ? ".choices" : ".low");
}

void refuse_batches_by_data(const CheckedStudy& checked, const Programs& programs) {
    const Study& study = checked.study;
    if (!batch_sizes_depend_on_data(study)) return;
    const auto machine = open_machine(study, programs, [](const DeviceNotice&) {});
    if (!machine) return;
    auto worker = OneWorker::start(study, programs, machine->target(machine->on_device() ? 0 : host_only));
    if (!worker) return;
    if (const auto answer = (*worker)->plan(study.fixed, study.budget.epochs, study.seed))
        refuse_small_batches(checked, answer->training_samples);
}

Samples plan_samples(const CheckedStudy& checked, OneWorker& worker, const Machine& machine) {
    const Study& study = checked.study;
    const auto priors = prior_studies_of(study);
    if (!priors) throw Fatal(priors.error().message);
    auto proposer = Proposer::make(study, *priors);
    if (!proposer) throw Fatal(proposer.error().message);
    Samples samples;
    const std::int64_t count = std::min(max_samples, trials_of(study));
    for (std::int64_t trial = 1; trial <= count; ++trial) {
        const auto proposal = proposer->propose(trial);
        if (!proposal) break;
        Sample sample;
        sample.trial = trial;
        sample.params = proposal->params;
        sample.params.insert(study.fixed.begin(), study.fixed.end());
        if (trial == 1) check_largest_batch(checked, worker, sample, proposer->map());
        sample.answer = plan_or_refuse(checked, worker, sample);
        if (trial == 1) refuse_small_batches(checked, sample.answer.training_samples);
        sample.reserved = reserved_by(sample.answer);
        if (const auto reason = never_fits(machine, sample.reserved.footprint, !machine.accelerators.empty())) {
            sample.too_large = *reason;
            split_until_fits(study, worker, machine, sample);
        }
        samples.push_back(std::move(sample));
    }
    if (std::none_of(samples.begin(), samples.end(), [](const Sample& sample) { return sample.can_run(); }))
        refuse_all(study, samples);
    return samples;
}

const Sample& typical_sample(const Samples& samples) {
    std::vector<const Sample*> by_cost;
    for (const Sample& sample : samples)
        if (sample.can_run()) by_cost.push_back(&sample);
    std::stable_sort(by_cost.begin(), by_cost.end(),
                     [](auto* a, auto* b) { return a->answer.flops_per_step < b->answer.flops_per_step; });
    return *by_cost[by_cost.size() / 2];
}

std::optional<double> measured_step(const Study& study, OneWorker& worker, const Sample& sample,
                                    std::int64_t replicas) {
    const std::int64_t iterations = std::max<std::int64_t>(1, sample.answer.iterations_per_step);
    to_worker::Run run;
    run.params = sample.params;
    run.params["eval_every"] = std::min(iterations, probe_iterations);
    run.steps = probe_steps;
    run.data_seed = study.seed;
    run.objective = study.objective;
    std::vector<to_worker::Run> runs(static_cast<std::size_t>(replicas), run);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].id = {static_cast<std::int64_t>(i) + 1, 1};
        runs[i].seed = trial_seed(study.seed, i + 1);
    }
    std::optional<double> speed;
    const auto finished = worker.run(runs, [&](const Report& report) {
        speed = report.iterations_per_second;
        return to_worker::Action::go_on;
    });
    if (!finished) throw Fatal(finished.error().message);
    if (finished->outcome == Outcome::failed) throw Fatal("a trial would fail: " + finished->message);
    if (!speed || !(*speed > 0)) return std::nullopt;
    return static_cast<double>(iterations) / *speed;
}

}  // namespace hpo
