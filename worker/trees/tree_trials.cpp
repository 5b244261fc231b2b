#include "worker/trees/tree_trials.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "os/process.hpp"
#include "worker/data/memory.hpp"
#include "worker/training/objective.hpp"
#include "worker/training/process_memory.hpp"

namespace hpo {

namespace {

/// The time between two looks at the host's messages while a round grows.
constexpr std::chrono::milliseconds look_every{20};

void move_to_cores(const std::vector<int>& cores) {
    if (!cores.empty()) os::bind_to_cores(cores);  // if this is refused, any core computes
}

}  // namespace

TreeTrials::TreeTrials(WorkerContext& context, Ended ended) : context_(context), on_end_(std::move(ended)) {}

int TreeTrials::threads() const { return std::max(1, static_cast<int>(context_.cores.size())); }

TreeTrials::~TreeTrials() { drop_trial(); }

/// Starts a job on the thread that has the trial's cores, as they are now. If the system has no thread left, the trial
/// keeps its present one.
std::future<void> TreeTrials::start(const std::function<void()>& job) {
    if (thread_ && cores_ == context_.cores) return thread_->start(job);
    auto thread = std::make_unique<Background>(1);
    const auto caller = std::this_thread::get_id();
    auto moved = thread->start([this, caller] {
        if (std::this_thread::get_id() == caller) return false;
        move_to_cores(context_.cores);
        if (trial_) trial_->set_threads(threads());
        return true;
    });
    if (moved.get()) {
        thread_ = std::move(thread);
        cores_ = context_.cores;
    } else if (!thread_) {
        throw OutOfMemory("the system has no thread left to grow trees on");
    }
    return thread_->start(job);
}

/// Destroys the trial on the thread that has grown it.
void TreeTrials::drop_trial() {
    if (trial_) thread_->start([this] { trial_.reset(); }).get();
}

void TreeTrials::run(TrialHost& host, std::string_view phase, const std::function<void()>& job) {
    auto done = start(job);
    try {
        bool goes_on = host.should_continue(phase);
        while (done.wait_for(look_every) != std::future_status::ready) goes_on = host.should_continue(phase) && goes_on;
        done.get();
        if (!goes_on) throw StopRequested{};
    } catch (...) {
        if (done.valid()) done.wait();  // the caller is about to unwind objects that the job uses
        throw;
    }
}

/// Does `work` for a trial. Returns false if it failed; then the trial has ended, and `on_end_` was told.
template <class F>
bool TreeTrials::guarded(const AttemptId& id, TrialHost& host, F&& work) {
    const auto end = [&](Outcome outcome, const std::string& message) {
        drop_trial();
        if (!message.empty()) host.log(std::string(to_text(outcome)) + ": " + message);
        on_end_({id, outcome, message, {}, {}});
        return false;
    };
    try {
        work();
        return true;
    } catch (const StopRequested&) {
        return end(Outcome::stopped, "");
    } catch (const std::bad_alloc& error) {
        const bool ended = end(Outcome::out_of_memory, error.what());
        data_ = {};
        return ended;
    } catch (const std::exception& error) {
        return end(Outcome::failed, error.what());
    }
}

void TreeTrials::add(const to_worker::Run& run, TrialHost& host) {
    guarded(run.id, host, [&] {
        if (run.steps < 1)
            throw InvalidTrial("the budget is " + std::to_string(run.steps) + " steps; it must be at least 1");
        Configuration configuration = value_or_throw(read_configuration(run.params));
        const DataShape shape = value_or_throw(describe_data(tree_data_config(configuration.data)));
        value_or_throw(check_tree_data(configuration.data, shape));
        value_or_throw(check_class_weights(configuration.training.class_weights, shape));
        check_objective(run.objective.metric, shape);
        if (!configuration.data.task) configuration.all["task"] = std::string(info_of(shape.task).name);
        if (!data_.is_of(configuration, run.data_seed)) {
            data_ = {};
            context_.clear();
            data_ = load_tree_data(context_.device, configuration, run.data_seed, threads(), [&] {
                if (!host.should_continue("loading")) throw StopRequested{};
            });
        }
        reset_peak();
        const auto runner = [this, &host](std::string_view phase, const std::function<void()>& job) {
            this->run(host, phase, job);
        };
        this->run(host, "loading",
                  [&] { trial_.emplace(run, std::move(configuration), context_, data_, host, runner, threads()); });
    });
}

void TreeTrials::step() {
    TrialHost& host = trial_->host();
    const AttemptId id = trial_->id();
    std::optional<from_worker::Finished> finished;
    guarded(id, host, [&] { finished = trial_->step(); });
    if (!finished) return;
    drop_trial();
    on_end_(*finished);
}

}  // namespace hpo
