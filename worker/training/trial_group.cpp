#include "worker/training/trial_group.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "worker/data/memory.hpp"
#include "worker/training/bucket.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/trial_words.hpp"

namespace hpo {

using from_worker::Finished;

TrialGroup::TrialGroup(Workshop& workshop, Ended ended) : workshop_(workshop), ended_(std::move(ended)) {}

bool TrialGroup::takes(const to_worker::Run& run) const {
    if (trials_.empty()) return true;
    const auto configuration = read_configuration(run.params);
    return configuration && shape_of(laid_out_for(workshop_, *configuration), run.data_seed) == shape_;
}

void TrialGroup::finish(TrialHost& host, const AttemptId& id, Outcome outcome, const std::string& message) {
    if (!message.empty()) host.say(std::string(to_text(outcome)) + ": " + message);
    ended_(Finished{id, outcome, message, {}, {}});
}

/// False: it ended, and `ended_` heard how.
template <class F>
bool TrialGroup::or_ended(const AttemptId& id, TrialHost& host, F&& work) {
    try {
        work();
        return true;
    } catch (const ToldToStop&) {
        finish(host, id, Outcome::stopped, "");
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::bad_alloc& error) {
        if (trials_.empty()) {
            trainer_.reset();
            workshop_.clear();
        }
        finish(host, id, Outcome::out_of_memory, error.what());
    } catch (const std::exception& error) {
        finish(host, id, Outcome::failed, error.what());
    }
    return false;
}

void TrialGroup::join(const to_worker::Run& run, TrialHost& host) {
    or_ended(run.id, host, [&] {
        if (run.steps < 1) throw Refused("a budget of " + std::to_string(run.steps) + " steps");
        if (!is_metric(run.objective.metric))
            throw Refused("objective.metric: " + run.objective.metric +
                          " is not one of loss, val_loss and val_accuracy");
        const Configuration asked = need(read_configuration(run.params));
        if (trials_.empty()) begin_shape(run, asked, host);
        Configuration configuration = own_part(asked);
        GroupPlan own = need(plan_group(configuration, workshop_.data->shape, workshop_.data->sizes, 1));
        const GroupPlan plan = plan_for(1);
        if (!trials_.empty() || !arena_fits(workshop_, plan)) {
            if (trials_.empty()) {
                trainer_.reset();
                workshop_.arena.reset();
            }
            need_room(workshop_, plan);
        }
        if (trials_.empty()) {
            drop_spare_that_does_not_fit(workshop_, own);
            reset_peak();
        }
        trials_.push_back(std::make_unique<Trial>(run, std::move(configuration), std::move(own), workshop_, host));
    });
}

/// The data, and a trainer only if it is of this shape.
void TrialGroup::begin_shape(const to_worker::Run& run, const Configuration& configuration, TrialHost& host) {
    const Configuration laid_out = laid_out_for(workshop_, configuration);
    std::string shape = shape_of(laid_out, run.data_seed);
    if (shape != shape_) {
        trainer_.reset();
        pressure_.reset();
    }
    shape_.clear();
    configuration_ = settled(workshop_, laid_out);
    const DeviceData& data = need_data(workshop_, configuration_->data, run.data_seed, [&] {
        if (!host.go_on("loading")) throw ToldToStop{};
    });
    if (configuration_->training.measured_precision) {
        trainer_.reset();
        workshop_.arena.reset();
        std::string said;
        const GoOn go_on = [&] { return host.go_on("measuring") ? true : throw ToldToStop{}; };
        configuration_ =
            need(workshop_.precisions.measure(*configuration_, workshop_.device, data, workshop_.clock, go_on, said));
        host.say(said);
    }
    const TrainingConfig& training = configuration_->training;
    if (!pressure_ && training.memory_target > 0)
        pressure_.emplace(configured_micro_batch(training), training.memory_target);
    shape_ = std::move(shape);
}

/// A trial's own configuration with what was decided for all.
Configuration TrialGroup::own_part(Configuration asked) const {
    asked.data = configuration_->data;
    asked.training.precision = configuration_->training.precision;
    asked.training.measured_precision = false;
    asked.all["precision"] = configuration_->all.at("precision");
    return asked;
}

GroupPlan TrialGroup::plan_for(int lanes) const {
    Configuration configuration = *configuration_;
    if (pressure_ && pressure_->samples() < pressure_->most())
        configuration.training.micro_batch = pressure_->samples();
    return need(plan_lanes(workshop_, configuration, workshop_.data->shape, workshop_.data->sizes, lanes));
}

void TrialGroup::step() {
    try {
        step_of_all();
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::bad_alloc& error) {
        end_all(Outcome::out_of_memory, error.what());
    }
}

/// What was computed for all at once went wrong for all.
void TrialGroup::end_all(Outcome outcome, const std::string& message) {
    const std::vector<AttemptId> ended_before = std::exchange(over_, {});
    const std::vector<Member> members = std::exchange(trials_, {});
    trainer_.reset();
    workshop_.clear();
    for (const Member& trial : members)
        if (std::find(ended_before.begin(), ended_before.end(), trial->id()) == ended_before.end())
            finish(trial->host(), trial->id(), outcome, message);
}

void TrialGroup::step_of_all() {
    settle();
    if (trials_.empty()) return;
    const auto at_end = [this](const Member& trial) { return !over(trial->id()) && trainer_->at_end(trial->lane()); };
    const bool evaluated =
        trainer_->train_step(asking("training")) && trainer_->evaluate_validation(asking("evaluating"));

    for (const Member& trial : trials_)
        if (at_end(trial) && !or_ended(trial->id(), trial->host(), [&] { trial->report_step(evaluated); }))
            over_.push_back(trial->id());
    for (const Member& trial : trials_) {
        if (!at_end(trial)) continue;
        std::optional<Finished> finished;
        const bool well = or_ended(trial->id(), trial->host(), [&] { finished = trial->follow_decision(); });
        if (well && finished) ended_(*finished);
        if (!well || finished) over_.push_back(trial->id());
    }
    // Readings are as far apart as the steps of one are: others may end theirs every few iterations.
    const bool due = over(trials_.front()->id()) || trainer_->at_end(trials_.front()->lane());
    forget_those_over();
    if (due) relieve();
}

/// Between two steps: smaller micro-batches of the same batches as memory runs short, larger ones when it is there
/// again. The next step lays the arena out anew; what the trials are goes out of the old one.
void TrialGroup::relieve() {
    if (!pressure_ || trials_.empty()) return;
    const auto left = memory_left(workshop_.device);
    if (!left) return;
    const std::int64_t before = pressure_->samples();
    const std::size_t bytes_now = trainer_->plan().arena_bytes;
    const std::int64_t samples = pressure_->read(left->use);
    if (samples == before) return;
    const GroupPlan plan = plan_for(size());
    if (samples > before && plan.arena_bytes > bytes_now + left->free / 2) return pressure_->refuse_growth();
    for (const Member& trial : trials_) {
        const std::int64_t now = plan.micro_batch_of(trial->batch());
        const std::int64_t was = trainer_->plan().micro_batch_of(trial->batch());
        char words[200];
        std::snprintf(words, sizeof words,
                      "memory: %.0f %% in use by all programs; micro-batches of %lld samples instead of %lld, the "
                      "batch of %lld stays",
                      100 * pressure_->average(), static_cast<long long>(now), static_cast<long long>(was),
                      static_cast<long long>(trial->batch()));
        if (now != was) trial->host().say(words);
        if (trial->lane() >= 0) trial->leave_trainer();
    }
    trainer_.reset();
    workshop_.arena.reset();
}

/// Asks every trial that still trains; those that are told to stop end at once, and their lanes with the step.
GoOn TrialGroup::asking(const char* phase) {
    return [this, phase] {
        bool any = false;
        for (const Member& trial : trials_) {
            if (over(trial->id())) continue;
            if (trial->host().go_on(phase)) {
                any = true;
                continue;
            }
            over_.push_back(trial->id());
            trainer_->drop(trial->lane());
            finish(trial->host(), trial->id(), Outcome::stopped, "");
        }
        return any;
    };
}

bool TrialGroup::over(const AttemptId& id) const { return std::find(over_.begin(), over_.end(), id) != over_.end(); }

void TrialGroup::forget_those_over() {
    for (const AttemptId& id : std::exchange(over_, {})) {
        const auto member =
            std::find_if(trials_.begin(), trials_.end(), [&](const Member& trial) { return trial->id() == id; });
        const int lane = (*member)->lane();
        workshop_.spare.push_back((*member)->take_buffers());
        trials_.erase(member);
        if (trials_.empty()) break;  // its lane is the next one's
        for (const Member& trial : trials_)
            if (trial->lane() == trainer_->lanes() - 1) trial->move_to(lane);
        trainer_->leave(lane);
    }
    // The memory of one is kept for the next.
    if (workshop_.spare.size() > 1) workshop_.spare.resize(1);
}

/// Every trial has a lane, and the arena is no larger than they need.
void TrialGroup::settle() {
    if (!trainer_ || trainer_->plan().lanes != size()) return lay_out();
    int lane = 0;
    for (const Member& trial : trials_) {
        if (trial->lane() < 0) trial->take_lane(*trainer_, lane);
        ++lane;
    }
}

/// Another number of trials in another arena. Where its memory is not to be had, the youngest goes.
void TrialGroup::lay_out() {
    for (const Member& trial : trials_)
        if (trial->lane() >= 0) trial->leave_trainer();
    trainer_.reset();
    while (!trials_.empty()) {
        Trial& youngest = *trials_.back();
        if (or_ended(youngest.id(), youngest.host(), [&] { make_trainer(); })) break;
        trainer_.reset();
        trials_.pop_back();
    }
    if (trials_.empty()) workshop_.clear();
    int lane = 0;
    for (const Member& trial : trials_) trial->take_lane(*trainer_, lane++);
}

void TrialGroup::make_trainer() {
    GroupPlan plan = plan_for(size());
    Buffer& arena = need_arena(workshop_, plan);
    trainer_.emplace(workshop_.device, arena, std::move(plan), *workshop_.data, std::span<const LaneSpec>{}, 0,
                     workshop_.clock);
}

Finished run_trial(const to_worker::Run& run, Workshop& workshop, TrialHost& host) {
    Finished finished;
    TrialGroup group(workshop, [&](const Finished& how) { finished = how; });
    group.join(run, host);
    while (!group.empty()) group.step();
    return finished;
}

}  // namespace hpo
