#include "worker/trees/tree_trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "worker/models/settings.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/replica.hpp"
#include "worker/training/trial_messages.hpp"
#include "worker/trees/tree_ensemble.hpp"
#include "worker/trees/tree_evaluation.hpp"

namespace hpo {

using from_worker::Finished;
using to_worker::Action;

namespace {

constexpr std::int64_t largest_seed = (std::int64_t{1} << 31) - 1;  // the largest seed that XGBoost takes

bool two_classes(const DataShape& shape) { return shape.task == Task::classification && shape.outputs == 2; }

/// The ensemble's own outputs: one for each of several classes, else one.
std::int64_t groups_of(const DataShape& shape) {
    return shape.task == Task::classification && shape.outputs > 2 ? shape.outputs : 1;
}

/// The first output of an ensemble. With two classes the second one has the margin, and the first one 0.
std::int64_t first_output(const DataShape& shape, std::int64_t ensemble) { return two_classes(shape) ? 1 : ensemble; }

std::vector<float> column_of(const std::vector<float>& rows, std::int64_t columns, std::int64_t column) {
    std::vector<float> its;
    for (auto at = static_cast<std::size_t>(column); at < rows.size(); at += static_cast<std::size_t>(columns))
        its.push_back(rows[at]);
    return its;
}

}  // namespace

TreeTrial::TreeTrial(to_worker::Run run, Configuration configuration, const WorkerContext& context, TreeData& data,
                     TrialHost& host, Runner runner, int threads)
    : run_(std::move(run)),
      configuration_(std::move(configuration)),
      context_(context),
      data_(data),
      host_(host),
      runner_(std::move(runner)),
      threads_(threads),
      rounds_(value_or_throw(integer_setting(configuration_.all, "rounds"))),
      binding_(checkpoint_binding(binding_text(run_, configuration_, data.facts->fingerprint))) {
    if (data_.folds.size() > 1 && !run_.save.empty()) throw InvalidTrial(one_model_only(data_.facts->sizes.folds));
    std::error_code ignored;  // writing will say it
    if (!run_.folder.empty()) std::filesystem::create_directories(run_.folder, ignored);
    make_boosters();
    resume();
}

std::vector<Booster::Setting> TreeTrial::settings(int fold, std::int64_t ensemble) const {
    const std::uint64_t seed =
        seed_of_fold(configuration_.seed.value_or(run_.seed), fold) + static_cast<std::uint64_t>(ensemble);
    std::vector<Booster::Setting> made{
        {"verbosity", "0"},
        {"tree_method", "hist"},
        {"nthread", std::to_string(threads_)},
        {"seed", std::to_string(seed % largest_seed)},
        {"seed_per_iteration", "true"},
    };
    for (const char* name : {"eta", "min_child_weight", "subsample", "colsample_bytree", "reg_lambda", "reg_alpha",
                             "gamma", "max_depth", "max_bin"})
        made.emplace_back(name, to_text(configuration_.all.at(name)));
    if (shape().task == Task::regression) {
        made.insert(made.end(), {{"objective", "reg:squarederror"}, {"base_score", "0"}});
    } else if (groups_of(shape()) > 1) {
        made.insert(made.end(), {{"objective", "multi:softprob"}, {"num_class", std::to_string(shape().outputs)}});
    } else {
        made.insert(made.end(), {{"objective", "binary:logistic"}, {"base_score", "0.5"}});
    }
    if (shape().task == Task::multi_label && data_.class_weights.any()) {
        const FoldFacts& facts = data_.facts->folds[static_cast<std::size_t>(fold)];
        const auto weights = class_weights_of(data_.class_weights, shape().task, facts.class_counts, facts.train);
        made.emplace_back("scale_pos_weight", std::to_string(weights[static_cast<std::size_t>(ensemble)]));
    }
    return made;
}

void TreeTrial::make_boosters() {
    boosters_.clear();
    for (std::size_t fold = 0; fold < data_.folds.size(); ++fold) {
        const TreeFold& its = data_.folds[fold];
        std::vector<const TreeMatrix*> evaluated;
        if (its.validation.matrix) evaluated.push_back(&*its.validation.matrix);
        std::vector<Booster>& of_fold = boosters_.emplace_back();
        for (std::int64_t ensemble = 0; ensemble < ensembles_of(shape()); ++ensemble)
            of_fold.emplace_back(settings(static_cast<int>(fold), ensemble), *its.train.matrix, evaluated);
    }
}

void TreeTrial::set_threads(int threads) {
    threads_ = threads;
    for (std::vector<Booster>& of_fold : boosters_)
        for (Booster& booster : of_fold) booster.set_threads(threads);
}

/// The payload of a checkpoint: TrialProgress, then for each ensemble of each fold u64 bytes and its state.
void TreeTrial::resume() {
    if (!run_.resume || run_.folder.empty()) return;
    checkpoint_ = run_.folder + "/last.ckpt";
    std::vector<std::byte> payload;
    std::size_t at = 0;
    const auto take = [&](std::size_t bytes) {
        if (payload.size() - at < bytes) throw std::runtime_error(checkpoint_ + ": damaged: too short");
        at += bytes;
        return std::span(payload).subspan(at - bytes, bytes);
    };
    try {
        if (const auto read = read_checkpoint(checkpoint_, binding_, payload); !read)
            throw std::runtime_error(read.error().message);
        std::memcpy(&progress_, take(sizeof progress_).data(), sizeof progress_);
        // Without stored steps, as in hpo train, a checkpoint of the last step is tested and saved.
        const bool has_ended = !run_.done && progress_.step == run_.steps;
        if (const auto stored = check_goes_on(run_, progress_.step); !stored && !has_ended)
            throw std::runtime_error(stored.error().message);
        for (std::vector<Booster>& of_fold : boosters_)
            for (Booster& booster : of_fold) {
                std::uint64_t bytes = 0;
                std::memcpy(&bytes, take(sizeof bytes).data(), sizeof bytes);
                booster.restore(take(bytes));
            }
        host_.log("resumes after step " + std::to_string(progress_.step));
    } catch (const std::runtime_error& problem) {
        host_.log(std::string("starts from the beginning: ") + problem.what());
        progress_ = {};
        checkpoint_.clear();
        make_boosters();
    }
}

void TreeTrial::save() {
    if (run_.folder.empty()) return;
    std::vector<std::vector<std::byte>> states;
    std::vector<std::uint64_t> sizes;
    for (const std::vector<Booster>& of_fold : boosters_)
        for (const Booster& booster : of_fold) sizes.push_back(states.emplace_back(booster.state()).size());
    std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(&progress_, 1))};
    for (std::size_t i = 0; i < states.size(); ++i) {
        parts.push_back(std::as_bytes(std::span(&sizes[i], 1)));
        parts.emplace_back(states[i]);
    }
    const std::string file = run_.folder + "/last.ckpt";
    if (const auto written = write_checkpoint(file, binding_, progress_.step, parts))
        checkpoint_ = file;
    else
        host_.log("not saved: " + written.error().message);
}

void TreeTrial::tell() {
    if (std::exchange(started_, true)) return;
    host_.log(parameters_line(run_, configuration_) + "; " + samples_text(*data_.facts) + "; " +
              std::to_string(run_.steps) + " steps of " + std::to_string(rounds_) + " rounds; " +
              context_.device.name());
    host_.started(progress_.step, fingerprint_text(data_.facts->fingerprint));
}

void TreeTrial::grow() {
    // A resumed trial draws as one that was not interrupted.
    if (configuration_.all.at("colsample_bytree") != Value(1.0) || configuration_.all.at("subsample") != Value(1.0))
        runner_("training", [this] {
            for (std::vector<Booster>& of_fold : boosters_)
                for (Booster& booster : of_fold) booster.draw_anew();
        });
    for (std::int64_t round = 0; round < rounds_; ++round)
        runner_("training", [&] {
            for (std::size_t fold = 0; fold < boosters_.size(); ++fold) {
                TreeSamples& train = data_.folds[fold].train;
                const auto ensembles = static_cast<std::int64_t>(boosters_[fold].size());
                for (std::int64_t ensemble = 0; ensemble < ensembles; ++ensemble) {
                    train.matrix->set_targets(ensembles == 1 ? train.targets
                                                             : column_of(train.targets, ensembles, ensemble));
                    boosters_[fold][static_cast<std::size_t>(ensemble)].grow(progress_.iteration + round);
                }
            }
        });
}

std::vector<float> TreeTrial::outputs(int fold, const TreeSamples& samples, std::int64_t rounds) const {
    const std::vector<Booster>& boosters = boosters_[static_cast<std::size_t>(fold)];
    std::vector<float> margins;
    for (const Booster& booster : boosters) booster.predict(*samples.matrix, rounds, margins);
    const auto rows = static_cast<std::size_t>(samples.rows());
    if (boosters.size() == 1 && !two_classes(shape())) return margins;
    const auto width = static_cast<std::size_t>(shape().outputs);
    std::vector<float> all(rows * width, 0.0F);
    for (std::size_t ensemble = 0; ensemble < boosters.size(); ++ensemble) {
        const auto output = static_cast<std::size_t>(first_output(shape(), static_cast<std::int64_t>(ensemble)));
        for (std::size_t row = 0; row < rows; ++row) all[row * width + output] = margins[ensemble * rows + row];
    }
    return all;
}

Metrics TreeTrial::evaluate(Part part, std::int64_t rounds) const {
    std::vector<Metrics> folds;
    for (int fold = 0; fold < static_cast<int>(data_.folds.size()); ++fold) {
        const TreeFold& its = data_.folds[static_cast<std::size_t>(fold)];
        const TreeSamples& samples = part == Part::train ? its.validation : its.test;
        Evaluation evaluation;
        if (samples.matrix)
            evaluation = evaluate_margins(outputs(fold, samples, rounds), samples.targets, shape(),
                                          configuration_.training.class_metrics);
        folds.push_back(task_metrics(shape().task, evaluation, *data_.facts, part, fold));
    }
    return folds.size() == 1 ? folds.front() : mean_of_folds(folds);
}

std::optional<Finished> TreeTrial::step() {
    tell();
    if (progress_.step == run_.steps) {
        test_and_save();
        return ended(Outcome::complete);
    }
    if (!host_.should_continue("training")) throw StopRequested{};
    const Seconds begin = context_.clock.now();
    grow();
    const double seconds = (context_.clock.now() - begin).count();
    double loss = 0;
    Metrics validation;
    runner_("evaluating", [&] {
        for (int fold = 0; fold < static_cast<int>(data_.folds.size()); ++fold) {
            const TreeSamples& train = data_.folds[static_cast<std::size_t>(fold)].train;
            loss += evaluate_margins(outputs(fold, train, 0), train.targets, shape(), false).loss /
                    static_cast<double>(data_.folds.size());
        }
        validation = evaluate(Part::train, 0);
    });
    const Report report = measured(seconds, loss, std::move(validation));
    progress_.keep_if_best(report, run_.objective);
    host_.log(step_line(report, run_.steps, shape().task));
    const bool at_end = progress_.step == run_.steps;
    host_.report(report);

    const auto action = host_.decision();
    // No checkpoint is kept for the last step: its report ends the trial, and without one the trial repeats the step.
    if (action && divergence_.empty() && *action != Action::stop && (!at_end || !run_.save.empty()))
        runner_("saving", [this] { save(); });
    if (!action) throw StopRequested{};
    if (!divergence_.empty()) return ended(Outcome::diverged, divergence_);
    if (*action == Action::pause) return ended(Outcome::paused);
    if (*action == Action::go_on && !at_end) return std::nullopt;
    test_and_save();
    return ended(*action == Action::stop ? Outcome::stopped : Outcome::complete);
}

Report TreeTrial::measured(double seconds, double training_loss, Metrics validation) {
    std::int64_t samples = 0;  // of a round
    for (const TreeFold& fold : data_.folds) samples += fold.train.rows();
    Report report = progress_.add_step(rounds_, seconds, static_cast<double>(samples));
    report.metrics = std::move(validation);
    report.metrics["loss"] = training_loss;
    if (const double loss = report.metrics.at("val_loss"); !std::isfinite(loss) || !std::isfinite(training_loss))
        divergence_ = "the loss is not finite after step " + std::to_string(report.step);
    report.peak_bytes = peak_bytes();
    report.warning = divergence_;
    return report;
}

Finished TreeTrial::ended(Outcome outcome, std::string message) {
    if (progress_.best_step > 0) values_[run_.objective.metric] = progress_.best_value;
    return {run_.id, outcome, std::move(message), values_, checkpoint_};
}

void TreeTrial::test_and_save() {
    const bool kept = run_.objective.at == Objective::At::best && progress_.best_step > 0;
    const std::int64_t step = kept ? progress_.best_step : progress_.step;
    if (run_.test) {
        Metrics tested;
        runner_("evaluating", [&] { tested = evaluate(Part::test, step * rounds_); });
        host_.log(test_line(tested, step));
        values_.insert(tested.begin(), tested.end());
        if (data_.folds.size() == 1) {
            const Metrics baseline = baseline_metrics(shape().task, *data_.facts, 0);
            values_.insert(baseline.begin(), baseline.end());
        }
    }
    if (run_.save.empty()) return;
    Result<void> written;
    runner_("saving", [&] { written = write_model(step * rounds_, step); });
    if (!written) throw InvalidTrial("cannot save the model: " + written.error().message);
    host_.log("saved " + run_.save);
}

Result<void> TreeTrial::write_model(std::int64_t rounds, std::int64_t step) const {
    TreeEnsemble ensemble{shape().features(), std::vector<float>(static_cast<std::size_t>(shape().outputs), 0.0F), {}};
    for (std::size_t i = 0; i < boosters_.front().size(); ++i) {
        const auto output = static_cast<std::int32_t>(first_output(shape(), static_cast<std::int64_t>(i)));
        const auto read = append_xgboost(ensemble, boosters_.front()[i].json(), rounds, output);
        if (!read) return read.error();
    }
    std::vector<std::vector<float>> storage;
    const std::vector<NamedTensor> tensors = ensemble.tensors(storage);
    return save_model(run_.save, configuration_, *data_.facts, tensors, step);
}

}  // namespace hpo
