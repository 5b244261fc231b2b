#include "worker/training/trial.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/training/process_memory.hpp"
#include "worker/training/rank_orders.hpp"
#include "worker/training/trial_messages.hpp"

namespace hpo {

using from_worker::Finished;
using to_worker::Action;

namespace {
/// Some processors give a NaN a sign; this drops it.
std::string loss_text(double loss) { return std::isnan(loss) ? "nan" : to_text(loss); }
}  // namespace

Trial::Trial(to_worker::Run run, Configuration configuration, GroupPlan plan, WorkerContext& context, TrialHost& host)
    : run_(std::move(run)),
      configuration_(std::move(configuration)),
      plan_(std::move(plan)),
      context_(context),
      host_(host),
      buffers_(acquire_buffers(context, plan_)),
      files_(run_.folder, binding_text(run_, configuration_, context.data->fingerprint)),
      replica_progress_(static_cast<std::size_t>(plan_.folds)) {
    if (plan_.folds > 1 && !run_.save.empty()) throw InvalidTrial(one_model_only(plan_.folds));
    resume();
}

bool Trial::at_end() const {
    for (int fold = 0; fold < plan_.folds; ++fold)
        if (!trainer_->at_end(replica_ + fold)) return false;
    return true;
}

std::span<float> Trial::part(std::vector<float>& block, int fold) const {
    const std::size_t size = block.size() / static_cast<std::size_t>(plan_.folds);
    return std::span(block).subspan(static_cast<std::size_t>(fold) * size, size);
}

void Trial::read_weights() {
    for (int fold = 0; fold < plan_.folds; ++fold) trainer_->read_weights(replica_ + fold, part(buffers_.best, fold));
}

void Trial::write_weights() {
    for (int fold = 0; fold < plan_.folds; ++fold) trainer_->write_weights(replica_ + fold, part(buffers_.best, fold));
}

bool Trial::keeps_best() const {
    return run_.objective.at == Objective::At::best && (files_.enabled() || run_.test || !run_.save.empty());
}

Finished Trial::ended(Outcome outcome, std::string message) {
    finish_files();
    if (progress_.best_step > 0) values_[run_.objective.metric] = progress_.best_value;
    return {run_.id, outcome, std::move(message), values_, checkpoint_};
}

Trial::~Trial() {
    if (writing_.valid()) writing_.wait();
}

void Trial::finish_files() {
    if (!writing_.valid()) return;
    const Result<bool> written = [&]() -> Result<bool> {
        try {
            return writing_.get();
        } catch (const std::exception& error) {
            return Error{error.what()};
        }
    }();
    if (!written)
        host_.log("not saved: " + written.error().message);
    else if (*written)
        checkpoint_ = files_.last();
    best_is_new_ = best_is_new_ && !written;
}

void Trial::resume() {
    if (!run_.resume || !files_.enabled()) return;
    auto read = files_.read_last(progress_, buffers_.state);
    if (read) read = check_goes_on(run_, progress_.step);
    const auto best =
        read && keeps_best() && progress_.best_step > 0 ? files_.read_best(buffers_.best, progress_) : Result<void>{};
    if (!read || !best) {
        host_.log("starts from the beginning: " + (read ? best : read).error().message);
        progress_ = {};
        return;
    }
    for (ReplicaProgress& one : replica_progress_) one.iteration = progress_.iteration;
    replica_progress_.front().window = progress_.window;
    has_state_ = true;
    checkpoint_ = files_.last();
    host_.log("resumes after step " + std::to_string(progress_.step));
}

void Trial::enter_trainer(Trainer& trainer, int replica) {
    const std::uint64_t seed = configuration_.seed.value_or(run_.seed);
    for (int fold = 0; fold < plan_.folds; ++fold) {
        const ReplicaSpec spec{configuration_.training, seed_of_fold(seed, fold), plan_.model.get(), fold};
        if (has_state_)
            trainer.resume(replica + fold, spec, run_.steps, part(buffers_.state, fold),
                           replica_progress_[static_cast<std::size_t>(fold)]);
        else
            trainer.begin(replica + fold, spec, run_.steps);
        trainer.set_rate_scale(replica + fold, progress_.plateau.scale);
    }
    trainer_ = &trainer;
    replica_ = replica;
    if (std::exchange(started_, true)) return;
    host_.log(configuration_line(run_, configuration_, plan_, trainer.plan().arena.bytes, *context_.data,
                                 context_.device.name()));
    if (const std::string text = checkpointing_text(trainer.plan()); !text.empty()) host_.log(text);
    if (const std::string remark = context_.device.remark(); !remark.empty()) host_.log("warning: " + remark);
    host_.started(progress_.step, fingerprint_text(context_.data->fingerprint));
}

void Trial::leave_trainer() {
    finish_files();
    for (int fold = 0; fold < plan_.folds; ++fold) {
        trainer_->read_state(replica_ + fold, part(buffers_.state, fold));
        replica_progress_[static_cast<std::size_t>(fold)] = trainer_->progress_of(replica_ + fold);
    }
    has_state_ = true;
    trainer_ = nullptr;
    replica_ = -1;
}

void Trial::report_step(bool evaluated) {
    finish_files();
    const Report report = measured(evaluated);
    adapt_rate(report);
    keep_if_best(report);
    // The orchestrator stores this report as the trial's end, so that its weights must be written first.
    if (progress_.step == run_.steps) {
        save(false);
        finish_files();
    }
    host_.log(step_line(report, run_.steps, plan_.task));
    host_.report(report);
}

std::optional<Finished> Trial::follow_decision() {
    const auto action = host_.decision();
    // No trial resumes from a checkpoint of the last step.
    save(action && divergence_.empty() && *action != Action::stop && progress_.step < run_.steps);
    if (!action) throw StopRequested{};
    if (!divergence_.empty()) return ended(Outcome::diverged, divergence_);
    if (*action == Action::pause) return ended(Outcome::paused);
    if (*action == Action::go_on && progress_.step < run_.steps) return std::nullopt;
    finish_files();
    test_and_save();
    return ended(*action == Action::stop ? Outcome::stopped : Outcome::complete);
}

/// The mean over the folds; the first one that diverged, if one did.
ReplicaStep Trial::mean_step() const {
    ReplicaStep mean = trainer_->step_of(replica_);
    if (mean.diverged_at >= 0) return mean;
    for (int fold = 1; fold < plan_.folds; ++fold) {
        const ReplicaStep& one = trainer_->step_of(replica_ + fold);
        if (one.diverged_at >= 0) return one;
        mean.loss += one.loss;
        mean.norms.mean += one.norms.mean;
        mean.norms.largest = std::max(mean.norms.largest, one.norms.largest);
    }
    mean.loss /= plan_.folds;
    mean.norms.mean /= plan_.folds;
    return mean;
}

/// The mean over the folds, and its standard error.
Metrics Trial::mean_metrics(Part part) const {
    std::vector<Metrics> folds;
    for (int fold = 0; fold < plan_.folds; ++fold)
        folds.push_back(task_metrics(plan_.task, trainer_->evaluation_of(replica_ + fold), *context_.data, part, fold));
    return folds.size() == 1 ? folds.front() : mean_of_folds(folds);
}

void Trial::tell_loading() {
    if (trainer_->feed().loading_text() == told_loading_) return;
    told_loading_ = trainer_->feed().loading_text();
    if (told_loading_.empty()) return;
    host_.log(told_loading_);
    warns_of_loading_ = trainer_->feed().loading_limits();
}

/// Returns the most memory that the trial's processes took; nothing where the system does not tell.
std::optional<std::int64_t> Trial::peak_of_ranks() const {
    auto peak = peak_bytes();
    if (peak && context_.ranks) *peak += context_.ranks->peak_of_others();
    return peak;
}

Report Trial::measured(bool evaluated) {
    const ReplicaStep replica = mean_step();
    const double exchange = trainer_->take_exchange_seconds();
    double seconds = 0;  // of a fold that diverged, they are fewer
    for (int fold = 0; fold < plan_.folds; ++fold)
        seconds = std::max(seconds, trainer_->step_seconds_of(replica_ + fold));
    Report report = progress_.add_step(trainer_->iteration_of(replica_) - progress_.iteration, seconds,
                                       static_cast<double>(configuration_.training.batch_size * plan_.folds));
    progress_.window = trainer_->progress_of(replica_).window;
    report.metrics["loss"] = replica.loss;
    if (replica.diverged_at >= 0) {
        divergence_ = "the loss is " + loss_text(replica.loss) + " in step " + std::to_string(report.step) +
                      ", from iteration " + std::to_string(replica.diverged_at + 1) + " on";
    } else if (evaluated) {
        const Metrics means = mean_metrics(Part::train);
        report.metrics.insert(means.begin(), means.end());
        if (const double loss = report.metrics.at("val_loss"); !std::isfinite(loss))
            divergence_ = "the validation loss is " + loss_text(loss) + " after step " + std::to_string(report.step);
    }
    const std::int64_t micro_batch = trainer_->plan().micro_batch_of(configuration_.training.batch_size);
    if (micro_batch < configured_micro_batch(configuration_.training)) report.micro_batch = micro_batch;
    report.gradient_norm = replica.norms.mean;
    report.learning_rate = replica.learning_rate;
    if (plan_.ranks > 1 && seconds > 0) report.communication = std::min(1.0, exchange / seconds);
    if (const auto line = progress_.window.line()) {
        report.loss_deviation = line->deviation;
        report.loss_trend = line->slope;
    }
    // The memory of a process that several trials share cannot be attributed to one of them.
    if (trainer_->replicas() == plan_.folds) report.peak_bytes = peak_of_ranks();
    report.warning = divergence_.empty() ? health_warning(progress_.window, replica.norms) : divergence_;
    if (report.warning.empty() && std::exchange(warns_of_loading_, false)) report.warning = told_loading_;
    return report;
}

/// Adapts the learning rate by the schedule `plateau`.
void Trial::adapt_rate(const Report& report) {
    const auto loss = report.metrics.find("val_loss");
    if (configuration_.training.schedule != ScheduleKind::plateau || loss == report.metrics.end()) return;
    progress_.plateau.tell(loss->second, configuration_.training);
    for (int fold = 0; fold < plan_.folds; ++fold) trainer_->set_rate_scale(replica_ + fold, progress_.plateau.scale);
}

void Trial::keep_if_best(const Report& report) {
    if (!progress_.keep_if_best(report, run_.objective) || !keeps_best()) return;
    read_weights();
    best_is_new_ = true;
}

/// Writes best.ckpt before last.ckpt, which names its step. If it cannot be written, the files of the previous step
/// stay.
void Trial::save(bool last) {
    if (!files_.enabled() || (!last && !best_is_new_)) return;
    for (int fold = 0; last && fold < plan_.folds; ++fold)
        trainer_->read_state(replica_ + fold, part(buffers_.state, fold));
    writing_ = context_.background.start([this, last, best = best_is_new_, progress = progress_]() -> Result<bool> {
        if (best)
            if (auto written = files_.write_best(buffers_.best, progress.best_step); !written) return written.error();
        if (last)
            if (auto written = files_.write_last(progress, buffers_.state); !written) return written.error();
        return last;
    });
}

void Trial::test_and_save() {
    if (!run_.test && run_.save.empty()) return;
    // The weights of the last step go through the same buffer, so that there is one way to save.
    const bool kept = keeps_best() && progress_.best_step > 0;
    if (kept)
        write_weights();
    else
        read_weights();
    if (run_.test) {
        for (int fold = 0; fold < plan_.folds; ++fold)
            if (!trainer_->evaluate_test(replica_ + fold, [this] { return host_.should_continue("evaluating"); }))
                throw StopRequested{};
        const Metrics tested = mean_metrics(Part::test);
        host_.log(test_line(tested, kept ? progress_.best_step : progress_.step));
        values_.insert(tested.begin(), tested.end());
        if (plan_.folds == 1) {
            const Metrics baseline = baseline_metrics(plan_.task, *context_.data, 0);
            values_.insert(baseline.begin(), baseline.end());
        }
    }
    if (!run_.save.empty()) {
        if (!host_.should_continue("saving")) throw StopRequested{};
        const auto written = save_model(run_.save, configuration_, *context_.data,
                                        tensors_of(*plan_.model, context_.data->folds.front(), buffers_.best),
                                        kept ? progress_.best_step : progress_.step);
        if (!written) throw InvalidTrial("cannot save the model: " + written.error().message);
        host_.log("saved " + run_.save);
    }
}

}  // namespace hpo
