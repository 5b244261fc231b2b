#include "worker/training/trial.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "worker/data/memory.hpp"
#include "worker/training/checkpoint.hpp"
#include "worker/training/process_memory.hpp"
#include "worker/training/trainer.hpp"
#include "worker/training/trial_files.hpp"
#include "worker/training/trial_words.hpp"

namespace hpo {
namespace {

using from_worker::Finished;
using to_worker::Action;

/// An arena or a buffer that is larger than needed by up to so much is kept for the next trial, whose pages are then
/// there already; a still larger one is given back.
constexpr std::size_t arena_slack = std::size_t{64} << 20;
constexpr std::size_t buffer_slack = std::size_t{16} << 20;

bool fits(std::size_t there, std::size_t bytes, std::size_t slack) { return there >= bytes && there - bytes <= slack; }

struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct ToldToStop {};

template <class T>
T need(Result<T> result) {
    if (!result) throw Refused(result.error().message);
    return *std::move(result);
}

DeviceData& need_data(Workshop& workshop, const DataConfig& config, std::uint64_t data_seed, TrialHost& host) {
    if (!workshop.data || workshop.data->config != config || workshop.data->data_seed != data_seed) {
        workshop.data.reset();
        workshop.arena.reset();  // laid out for what is gone; the two together may be more than either trial needs
        workshop.data = need(load_to_device(workshop.device, config, data_seed, [&] {
            if (!host.go_on("loading")) throw ToldToStop{};
        }));
    }
    return *workshop.data;
}

void need_floats(std::vector<float>& floats, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    if (!fits(floats.capacity() * sizeof(float), size * sizeof(float), buffer_slack)) std::vector<float>().swap(floats);
    floats.resize(size);
}

bool in_host_memory(const Device& device) {
    const DeviceMemory memory = device.memory();
    return !memory.of_its_own || memory.shared_with_host;
}

/// Arena and host memory for the plan. What is there and does not fit goes before anything new is taken.
void need_memory(Workshop& workshop, const GroupPlan& plan) {
    // A device's own memory is booked to the byte.
    const std::size_t slack = workshop.device.memory().of_its_own ? 0 : arena_slack;
    const bool warm = workshop.arena && fits(workshop.arena->bytes(), plan.arena_bytes, slack);
    if (!warm) workshop.arena.reset();
    const std::int64_t arena_here = in_host_memory(workshop.device) ? static_cast<std::int64_t>(plan.arena_bytes) : 0;
    const auto needed = arena_here + plan.host_bytes;
    const auto available = available_bytes();
    if (!warm && available && needed > *available)
        throw OutOfMemory("the trial needs " + megabytes(needed) + "; the machine has " + megabytes(*available) +
                          " left");
    need_floats(workshop.state, plan.state_elements);
    need_floats(workshop.best, plan.weights.columns);
    reset_peak();
    if (warm) return;
    auto arena = workshop.device.allocate(plan.arena_bytes);
    if (!arena) throw OutOfMemory("the trial's arena: " + arena.error().message);
    workshop.arena = *std::move(arena);
}

Trainer make_trainer(const to_worker::Run& run, const Configuration& configuration, Workshop& workshop,
                     TrialHost& host) {
    const DeviceData& data = need_data(workshop, configuration.data, run.data_seed, host);
    GroupPlan plan = need(plan_group(configuration, data.shape, data.sizes, 1));
    const LaneSpec lane{configuration.training, configuration.seed.value_or(run.seed)};
    need_memory(workshop, plan);
    return {workshop.device, *workshop.arena, std::move(plan), data, {&lane, 1}, run.steps, workshop.clock};
}

class Trial {
   public:
    Trial(const to_worker::Run& run, Workshop& workshop, TrialHost& host)
        : run_(run),
          workshop_(workshop),
          host_(host),
          configuration_(need(read_configuration(run.params))),
          trainer_(make_trainer(run, configuration_, workshop, host)),
          files_(run.folder, binding_words(run, configuration_, workshop.data->fingerprint)) {
        if (run.steps < 1) throw Refused("a budget of " + std::to_string(run.steps) + " steps");
        if (!is_metric(run.objective.metric))
            throw Refused("objective.metric: " + run.objective.metric +
                          " is not one of loss, val_loss and val_accuracy");
    }

    Finished go();

   private:
    [[nodiscard]] bool keeps_best() const {
        return run_.objective.at == Objective::At::best && (files_.there() || run_.test || !run_.save.empty());
    }
    [[nodiscard]] GoOn asking(const char* phase) {
        return [this, phase] { return host_.go_on(phase); };
    }
    [[nodiscard]] Finished ended(Outcome outcome, std::string message = {}) {
        if (progress_.best_step > 0) values_[run_.objective.metric] = progress_.best_value;
        return {run_.id, outcome, std::move(message), values_, checkpoint_};
    }

    void resume();
    Report train_and_evaluate();
    void keep_if_best(const Report& report);
    void save_last();
    void test_and_save();
    void check(const Result<void>& written) {
        if (!written) host_.say("not saved: " + written.error().message);
    }

    const to_worker::Run& run_;
    Workshop& workshop_;
    TrialHost& host_;
    Configuration configuration_;
    Trainer trainer_;
    TrialFiles files_;
    TrialProgress progress_;
    std::string diverged_;  ///< how; empty: not
    Metrics values_;
    std::string checkpoint_;
};

Finished Trial::go() {
    resume();
    host_.say(configuration_line(run_, configuration_, trainer_.plan(), *workshop_.data, workshop_.device.name()));
    host_.started(progress_.step);
    Outcome outcome = Outcome::complete;
    while (progress_.step < run_.steps && outcome == Outcome::complete) {
        const Report report = train_and_evaluate();
        keep_if_best(report);
        host_.say(step_line(report, run_.steps));
        const auto action = host_.report(report);
        if (!action) throw ToldToStop{};
        if (!diverged_.empty()) return ended(Outcome::diverged, diverged_);
        if (*action == Action::stop) {
            outcome = Outcome::stopped;
        } else {
            save_last();
            if (*action == Action::pause) return ended(Outcome::paused);
        }
    }
    test_and_save();
    return ended(outcome);
}

void Trial::resume() {
    if (!run_.resume || !files_.there()) return;
    const auto read = files_.read_last(progress_, workshop_.state);
    const auto best =
        read && keeps_best() && progress_.best_step > 0 ? files_.read_best(workshop_.best, progress_) : Result<void>{};
    if (!read || !best) {
        host_.say("begins at the beginning: " + (read ? best : read).error().message);
        progress_ = {};
        return;
    }
    trainer_.restore(0, workshop_.state, progress_.window, progress_.iteration);
    checkpoint_ = files_.last();
    host_.say("goes on after step " + std::to_string(progress_.step));
}

Report Trial::train_and_evaluate() {
    if (!trainer_.train_step(asking("training"))) throw ToldToStop{};
    const LaneStep& lane = trainer_.step_of(0);
    const auto iterations = trainer_.iteration() - progress_.iteration;
    ++progress_.step;
    progress_.iteration = trainer_.iteration();
    progress_.seconds += trainer_.step_seconds();
    progress_.window = trainer_.window_of(0);

    Report report;
    report.step = progress_.step;
    report.metrics["loss"] = lane.loss;
    if (lane.diverged_at >= 0) {
        diverged_ = "the loss is " + to_text(lane.loss) + " in step " + std::to_string(report.step) +
                    ", from iteration " + std::to_string(lane.diverged_at + 1) + " on";
    } else {
        if (!trainer_.evaluate_validation(asking("evaluating"))) throw ToldToStop{};
        const Evaluation& evaluation = trainer_.evaluation_of(0);
        report.metrics["val_loss"] = evaluation.loss;
        report.metrics["val_accuracy"] = evaluation.accuracy;
        if (!std::isfinite(evaluation.loss))
            diverged_ =
                "the validation loss is " + to_text(evaluation.loss) + " after step " + std::to_string(report.step);
    }
    report.iteration = progress_.iteration;
    report.seconds = progress_.seconds;
    const auto batch = static_cast<double>(trainer_.plan().shared.batch_size);
    if (trainer_.step_seconds() > 0) {
        report.iterations_per_second = static_cast<double>(iterations) / trainer_.step_seconds();
        report.iterations_per_second_overall = static_cast<double>(progress_.iteration) / progress_.seconds;
        report.samples_per_second = *report.iterations_per_second * batch;
        report.samples_per_second_overall = *report.iterations_per_second_overall * batch;
    }
    report.gradient_norm = lane.norms.mean;
    report.learning_rate = lane.learning_rate;
    if (const auto line = progress_.window.line()) {
        report.loss_deviation = line->deviation;
        report.loss_trend = line->slope;
    }
    report.peak_bytes = peak_bytes();
    report.warning = diverged_.empty() ? health_warning(progress_.window, lane.norms) : diverged_;
    return report;
}

void Trial::keep_if_best(const Report& report) {
    const auto found = report.metrics.find(run_.objective.metric);
    if (found == report.metrics.end() || !std::isfinite(found->second)) return;
    const bool at_best = run_.objective.at == Objective::At::best;
    if (at_best && progress_.best_step > 0 && !better(run_.objective.direction, found->second, progress_.best_value))
        return;
    progress_.best_step = report.step;
    progress_.best_value = found->second;
    if (!keeps_best()) return;
    trainer_.read_weights(0, workshop_.best);
    if (files_.there()) check(files_.write_best(workshop_.best, report.step));
}

void Trial::save_last() {
    if (!files_.there()) return;
    trainer_.read_state(0, workshop_.state);
    const auto written = files_.write_last(progress_, workshop_.state);
    check(written);
    if (written) checkpoint_ = files_.last();
}

void Trial::test_and_save() {
    if (!run_.test && run_.save.empty()) return;
    // The weights of the last step go through the same buffer, so that there is one way to save.
    const bool kept = keeps_best() && progress_.best_step > 0;
    if (kept)
        trainer_.write_weights(0, workshop_.best);
    else
        trainer_.read_weights(0, workshop_.best);
    if (run_.test) {
        if (!trainer_.evaluate_test(asking("evaluating"))) throw ToldToStop{};
        values_["test_accuracy"] = trainer_.evaluation_of(0).accuracy;
        values_["test_loss"] = trainer_.evaluation_of(0).loss;
        host_.say(
            test_line(values_["test_accuracy"], values_["test_loss"], kept ? progress_.best_step : progress_.step));
    }
    if (!run_.save.empty()) {
        if (!host_.go_on("saving")) throw ToldToStop{};
        const auto written = save_model(run_.save, configuration_, *trainer_.plan().model, *workshop_.data,
                                        workshop_.best, kept ? progress_.best_step : progress_.step);
        if (!written) throw Refused("cannot save the model: " + written.error().message);
        host_.say("saved " + run_.save);
    }
}

}  // namespace

from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, const Workshop& workshop) {
    from_worker::PlanAnswer answer;
    answer.id = question.id;
    try {
        const Configuration configuration = need(read_configuration(question.params));
        const bool loaded = workshop.data && workshop.data->config == configuration.data;
        const DataShape shape = loaded ? workshop.data->shape : need(describe_data(configuration.data));
        const SplitSizes sizes = need(split_sizes(configuration.data, shape.train));
        const GroupPlan plan = need(plan_group(configuration, shape, sizes, 1));
        answer.arena_bytes = static_cast<std::int64_t>(plan.arena_bytes);
        answer.data_bytes = data_bytes(shape, sizes);
        answer.footprint.host_bytes = workshop.process_bytes + plan.host_bytes;
        if (in_host_memory(workshop.device)) answer.footprint.host_bytes += answer.arena_bytes + answer.data_bytes;
        if (const DeviceMemory memory = workshop.device.memory(); memory.of_its_own)
            answer.footprint.device_bytes =
                answer.arena_bytes + answer.data_bytes +
                static_cast<std::int64_t>(memory.context_bytes + workshop.device.stream_bytes(plan.lanes));
        answer.footprint.cores = 1;
        answer.parameters = plan.model->block().count();
        answer.iterations_per_step = plan.iterations_per_step;
        answer.flops_per_step = plan.flops_per_step;
    } catch (const std::exception& error) {
        answer.error = error.what();
    }
    return answer;
}

Finished run_trial(const to_worker::Run& run, Workshop& workshop, TrialHost& host) {
    const auto ended = [&](Outcome outcome, const char* message) {
        if (*message != '\0') host.say(std::string(to_text(outcome)) + ": " + message);
        return Finished{run.id, outcome, message, {}, {}};
    };
    try {
        return Trial(run, workshop, host).go();
    } catch (const ToldToStop&) {
        return ended(Outcome::stopped, "");
    } catch (const DeviceLost&) {
        throw;
    } catch (const std::bad_alloc& error) {
        workshop.arena.reset();
        workshop.data.reset();
        workshop.state = std::vector<float>();
        workshop.best = std::vector<float>();
        return ended(Outcome::out_of_memory, error.what());
    } catch (const std::exception& error) {
        return ended(Outcome::failed, error.what());
    }
}

}  // namespace hpo
