#include "worker/training/trial_group.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "worker/data/mapped_file.hpp"
#include "worker/data/memory.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/fusion.hpp"
#include "worker/training/objective.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/rank_orders.hpp"
#include "worker/training/trial_messages.hpp"

namespace hpo {

using from_worker::Finished;

namespace {

/// The part of a fusion key that keeps a trial with a kept precision apart from those whose `auto` resolves to another.
std::string kept_suffix(Precision kept, const Configuration& resolved) {
    const bool same = !resolved.training.measured_precision && resolved.training.precision == kept;
    return same ? "" : "; resumes in " + to_text(kept);
}

}  // namespace

TrialGroup::TrialGroup(WorkerContext& context, Ended on_end) : context_(context), on_end_(std::move(on_end)) {}

bool TrialGroup::accepts(const to_worker::Run& run) const {
    if (trials_.empty()) return true;
    auto configuration = read_configuration(run.params);
    if (!configuration || !set_batch_size(*configuration, context_.data->sizes) ||
        (size() + 1) * trials_.front()->folds() > max_replicas)
        return false;
    const Configuration laid_out = layout_configuration(context_, *configuration);
    std::string key = fusion_key(laid_out, run.data_seed);
    if (!fusion_key_.starts_with(key)) return false;
    if (const auto kept = kept_precision(run, *configuration))
        key += kept_suffix(*kept, resolve_auto(context_, laid_out));
    return key == fusion_key_;
}

void TrialGroup::finish(TrialHost& host, const AttemptId& id, Outcome outcome, const std::string& message) {
    for (const Member& trial : trials_)
        if (trial->id() == id) trial->finish_files();
    if (!message.empty()) host.log(std::string(to_text(outcome)) + ": " + message);
    on_end_(Finished{id, outcome, message, {}, {}});
}

/// Does `work` for a trial. Returns false if it failed; then the trial has ended, and `on_end_` was told.
template <class F>
bool TrialGroup::guarded(const AttemptId& id, TrialHost& host, F&& work) {
    try {
        work();
        return true;
    } catch (const StopRequested&) {
        finish(host, id, Outcome::stopped, "");
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::bad_alloc& error) {
        if (trials_.empty()) {
            trainer_.reset();
            context_.clear();
        }
        abandon_ranks();
        finish(host, id, Outcome::out_of_memory, error.what());
    } catch (const std::exception& error) {
        abandon_ranks();
        finish(host, id, Outcome::failed, error.what());
    }
    return false;
}

/// Ends the other ranks, which may wait for this one in vain. The next trial starts them again.
void TrialGroup::abandon_ranks() {
    if (context_.ranks == nullptr) return;
    trainer_.reset();
    context_.ranks->stop();
}

void TrialGroup::add(const to_worker::Run& run, TrialHost& host) {
    guarded(run.id, host, [&] {
        if (run.steps < 1)
            throw InvalidTrial("the budget is " + std::to_string(run.steps) + " steps; it must be at least 1");
        const Configuration asked = configuration_of(context_, run.params);
        if (trials_.empty()) begin_group(run, asked, host);
        check_objective(run.objective.metric, context_.data->shape);
        Configuration configuration = resolved_for_group(asked);
        GroupPlan plan_alone = value_or_throw(plan_group(configuration, context_.data->shape, context_.data->sizes, 1));
        const GroupPlan plan = plan_for(1);
        if (!trials_.empty() || !arena_fits(context_, plan)) {
            if (trials_.empty()) {
                trainer_.reset();
                context_.arena.reset();
                if (context_.ranks) context_.ranks->clear();
            }
            check_host_memory(context_, plan);
        }
        if (trials_.empty()) {
            drop_unfitting_spares(context_, plan_alone);
            reset_peak();
        }
        trials_.push_back(
            std::make_unique<Trial>(run, std::move(configuration), std::move(plan_alone), context_, host));
    });
}

/// Prepares an empty group for trials with this fusion key: loads the data, and keeps the trainer only if it has the
/// same key.
void TrialGroup::begin_group(const to_worker::Run& run, const Configuration& configuration, TrialHost& host) {
    const Configuration laid_out = layout_configuration(context_, configuration);
    std::string key = fusion_key(laid_out, run.data_seed);
    if (key != fusion_key_) {
        trainer_.reset();
        pressure_.reset();
    }
    if (context_.ranks && context_.ranks->start()) trainer_.reset();
    const std::string last_key = std::exchange(fusion_key_, {});
    configuration_ = resolve_auto(context_, laid_out);
    if (context_.ranks) context_.ranks->load(run, configuration_->data);
    const DeviceData& data = ensure_data(context_, configuration_->data, run.data_seed, [&] {
        if (!host.should_continue("loading")) throw StopRequested{};
    });
    const auto kept = kept_precision(run, configuration);
    if (kept) {
        key += kept_suffix(*kept, *configuration_);
        configuration_ = with_precision(*std::move(configuration_), *kept);
    }
    if (key != last_key) trainer_.reset();
    if (configuration_->training.measured_precision) {
        trainer_.reset();
        context_.arena.reset();
        std::string line;
        const ShouldContinue should_continue = [&] {
            return host.should_continue("measuring") ? true : throw StopRequested{};
        };
        configuration_ = value_or_throw(
            context_.precisions.measure(*configuration_, context_.device, data, context_.clock, should_continue, line));
        host.log(line);
    }
    const TrainingConfig& training = configuration_->training;
    if (!pressure_ && training.memory_target > 0)
        pressure_.emplace(configured_micro_batch(training), training.memory_target);
    fusion_key_ = std::move(key);
}

/// Returns the precision of the checkpoint from which a run with `precision: auto` resumes, if the device computes in
/// it. The trial keeps it, even if `auto` resolves to another one here. The checkpoint's binding tells it: its text
/// names the precision.
std::optional<Precision> TrialGroup::kept_precision(const to_worker::Run& run, const Configuration& asked) const {
    if (!asked.training.measured_precision || !run.resume || run.folder.empty()) return std::nullopt;
    const auto binding = read_binding(std::filesystem::path(run.folder) / "last.ckpt");
    if (!binding) return std::nullopt;
    const Configuration resolved = resolved_for_group(asked);
    for (const Precision one : auto_precisions)
        if (checkpoint_binding(binding_text(run, with_precision(resolved, one), context_.data->fingerprint)) ==
            *binding)
            return context_.device.computes_in(one) ? std::optional(one) : std::nullopt;
    return std::nullopt;
}

/// Returns a trial's configuration with the settings resolved for the whole group.
Configuration TrialGroup::resolved_for_group(Configuration asked) const {
    asked.data = configuration_->data;
    asked.training.precision = configuration_->training.precision;
    asked.training.measured_precision = false;
    asked.all["precision"] = configuration_->all.at("precision");
    if (!asked.data.task) asked.all["task"] = std::string(info_of(context_.data->shape.task).name);
    return asked;
}

GroupPlan TrialGroup::plan_for(int replicas) const {
    Configuration configuration = *configuration_;
    if (pressure_ && pressure_->samples() < pressure_->most())
        configuration.training.micro_batch = pressure_->samples();
    return value_or_throw(plan_replicas(context_, configuration, context_.data->shape, context_.data->sizes, replicas));
}

void TrialGroup::step() {
    try {
        step_of_all();
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::bad_alloc& error) {
        end_all(Outcome::out_of_memory, error.what());
    } catch (const UnreadableFile& error) {
        end_all(Outcome::failed, error.what());
    } catch (const InvalidTrial& error) {  // of another rank
        end_all(Outcome::failed, error.what());
    }
}

/// Ends all trials: a computation that they share has failed.
void TrialGroup::end_all(Outcome outcome, const std::string& message) {
    const std::vector<AttemptId> already_ended = std::exchange(ended_in_step_, {});
    for (const Member& trial : trials_) trial->finish_files();
    const std::vector<Member> members = std::exchange(trials_, {});
    abandon_ranks();
    trainer_.reset();
    context_.clear();
    for (const Member& trial : members)
        if (std::find(already_ended.begin(), already_ended.end(), trial->id()) == already_ended.end())
            finish(trial->host(), trial->id(), outcome, message);
}

void TrialGroup::step_of_all() {
    assign_replicas();
    if (trials_.empty()) return;
    const auto at_end = [this](const Member& trial) { return !has_ended(trial->id()) && trial->at_end(); };
    const ShouldContinue should_continue = continue_check("training");
    const bool trained = context_.ranks
                             ? context_.ranks->train_step(*trainer_, should_continue, trials_.front()->rate_scale())
                             : trainer_->train_step(should_continue);
    const bool evaluated = trained && trainer_->evaluate_validation(continue_check("evaluating"));

    for (const Member& trial : trials_)
        if (at_end(trial)) trial->tell_loading();
    for (const Member& trial : trials_)
        if (at_end(trial) && !guarded(trial->id(), trial->host(), [&] { trial->report_step(evaluated); }))
            ended_in_step_.push_back(trial->id());
    for (const Member& trial : trials_) {
        if (!at_end(trial)) continue;
        std::optional<Finished> finished;
        const bool well = guarded(trial->id(), trial->host(), [&] { finished = trial->follow_decision(); });
        if (well && finished) on_end_(*finished);
        if (!well || finished) ended_in_step_.push_back(trial->id());
    }
    // Memory is read once a step of the oldest trial: others may complete theirs every few iterations.
    const bool due = has_ended(trials_.front()->id()) || trials_.front()->at_end();
    remove_ended();
    if (due) adapt_micro_batch();
}

/// Between two steps, makes the micro-batches smaller when memory runs short, and larger when there is enough again;
/// the batches stay the same. The trials leave the trainer, and the next step lays out another arena.
void TrialGroup::adapt_micro_batch() {
    if (!pressure_ || trials_.empty()) return;
    const auto left = memory_left(context_.device);
    if (!left) return;
    const std::int64_t before = pressure_->samples();
    const std::size_t bytes_now = trainer_->plan().arena.bytes;
    const std::int64_t samples = pressure_->read(left->use);
    if (samples == before) return;
    const GroupPlan plan = plan_for(size());
    if (samples > before && plan.arena.bytes > bytes_now + left->free / 2) return pressure_->refuse_growth();
    if (plan.pace.micro_batch == trainer_->plan().pace.micro_batch) return;
    for (const Member& trial : trials_) {
        const std::int64_t now = plan.micro_batch_of(trial->batch());
        const std::int64_t was = trainer_->plan().micro_batch_of(trial->batch());
        char line[200];
        std::snprintf(line, sizeof line,
                      "memory: %.0f %% in use by all programs; micro-batches of %lld samples instead of %lld, the "
                      "batch of %lld stays",
                      100 * pressure_->average(), static_cast<long long>(now), static_cast<long long>(was),
                      static_cast<long long>(trial->batch()));
        if (now != was) trial->host().log(line);
        if (plan.checkpointing != trainer_->plan().checkpointing) trial->host().log(checkpointing_text(plan));
        if (trial->replica() >= 0) trial->leave_trainer();
    }
    trainer_.reset();
    context_.arena.reset();
}

/// Asks the host of each trial that still trains whether it may continue. Stopped trials end at once; their replicas
/// are removed when the step ends.
ShouldContinue TrialGroup::continue_check(const char* phase) {
    return [this, phase] {
        bool any = false;
        for (const Member& trial : trials_) {
            if (has_ended(trial->id())) continue;
            if (trial->host().should_continue(phase)) {
                any = true;
                continue;
            }
            ended_in_step_.push_back(trial->id());
            for (int fold = 0; fold < trial->folds(); ++fold) trainer_->deactivate(trial->replica() + fold);
            finish(trial->host(), trial->id(), Outcome::stopped, "");
        }
        return any;
    };
}

bool TrialGroup::has_ended(const AttemptId& id) const {
    return std::find(ended_in_step_.begin(), ended_in_step_.end(), id) != ended_in_step_.end();
}

void TrialGroup::remove_ended() {
    for (const AttemptId& id : std::exchange(ended_in_step_, {})) {
        const auto member =
            std::find_if(trials_.begin(), trials_.end(), [&](const Member& trial) { return trial->id() == id; });
        const int replica = (*member)->replica(), folds = (*member)->folds();
        context_.spare.push_back((*member)->release_buffers());
        trials_.erase(member);
        if (trials_.empty()) break;  // the next trial takes its replica
        for (const Member& trial : trials_)
            if (trial->replica() == trainer_->replicas() - folds) trial->move_to(replica);
        for (int fold = folds - 1; fold >= 0; --fold) trainer_->remove(replica + fold);
    }
    // The buffers of one trial are kept for the next one.
    if (context_.spare.size() > 1) context_.spare.resize(1);
}

/// Makes sure that every trial has a replica and that the arena is no larger than they need.
void TrialGroup::assign_replicas() {
    const auto trials_of = [](const GroupPlan& plan) { return plan.replicas / plan.folds; };
    if (!trainer_ || (trials_of(trainer_->plan()) != size() && !move_within_device())) return lay_out();
    enter_trainer();
}

/// Gives each trial without a replica the next ones. With several ranks there is one trial, which enters all of them.
void TrialGroup::enter_trainer() {
    int replica = 0;
    for (const Member& trial : trials_) {
        if (trial->replica() < 0) {
            trial->enter_trainer(*trainer_, replica);
            if (context_.ranks) context_.ranks->enter(trial->run(), *configuration_, *trainer_, trial->rate_scale());
        }
        replica += trial->folds();
    }
}

/// Makes a trainer for the present number of trials, and copies those in training from arena to arena. This briefly
/// takes memory beyond the reservation, so that it is done only if much is free. Returns false if nothing was done.
bool TrialGroup::move_within_device() {
    const bool any =
        std::any_of(trials_.begin(), trials_.end(), [](const Member& trial) { return trial->replica() >= 0; });
    if (!any) return false;
    GroupPlan plan = plan_for(size());
    const auto left = memory_left(context_.device);
    if (!left || plan.arena.bytes > left->free / 2) return false;
    auto arena = context_.device.allocate(plan.arena.bytes);
    if (!arena) return false;
    try {
        auto wider = std::make_unique<Trainer>(context_.device, **arena, std::move(plan), *context_.data,
                                               std::span<const ReplicaSpec>{}, 0, context_.clock);
        wider->adopt(*trainer_);
        trainer_ = std::move(wider);
    } catch (const std::bad_alloc&) {
        return false;
    }
    context_.arena = *std::move(arena);
    for (const Member& trial : trials_)
        if (trial->replica() >= 0) trial->move_to(*trainer_);
    return true;
}

/// Makes a trainer for the present number of trials, whose state goes through the host's memory. While its memory
/// cannot be allocated, the youngest trial ends.
void TrialGroup::lay_out() {
    for (const Member& trial : trials_)
        if (trial->replica() >= 0) trial->leave_trainer();
    trainer_.reset();
    while (!trials_.empty()) {
        Trial& youngest = *trials_.back();
        if (guarded(youngest.id(), youngest.host(), [&] { make_trainer(); })) break;
        trainer_.reset();
        trials_.pop_back();
    }
    if (trials_.empty()) return context_.clear();
    enter_trainer();
}

void TrialGroup::make_trainer() {
    GroupPlan plan = plan_for(size());
    Buffer& arena = ensure_arena(context_, plan);
    trainer_ = std::make_unique<Trainer>(context_.device, arena, std::move(plan), *context_.data,
                                         std::span<const ReplicaSpec>{}, 0, context_.clock,
                                         context_.ranks ? &context_.ranks->communicator() : nullptr);
}

Finished run_trial(const to_worker::Run& run, WorkerContext& context, TrialHost& host) {
    Finished finished;
    TrialGroup group(context, [&](const Finished& how) { finished = how; });
    group.add(run, host);
    while (!group.empty()) group.step();
    return finished;
}

}  // namespace hpo
