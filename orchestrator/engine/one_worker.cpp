#include "orchestrator/engine/one_worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <vector>

#include "hpo/interrupted.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/execution/interrupts.hpp"
#include "orchestrator/execution/local.hpp"

namespace hpo {

struct OneWorker::Impl {
    boost::asio::io_context loop{1};
    int signal = 0;
    Interrupts signals{loop, [this](int number) { signal = number; }};
    std::int64_t slots = 1;
    std::string identity;
    bool threads = false;  ///< true if the worker can compute with several threads
    std::function<void(const execution::Event&)> listener;
    std::unique_ptr<SessionExecutor> executor;

    /// Runs the loop until `handle(event, answer)` fills the answer. Fails if the worker ends first.
    template <class Answer, class Handle>
    Result<Answer> wait(Handle&& handle) {
        std::optional<Result<Answer>> answer;
        listener = [&](const execution::Event& event) {
            if (const auto* exited = std::get_if<execution::Exited>(&event))
                answer = Error{(exited->signal ? "the worker died of " + signal_name(exited->signal)
                                               : "the worker exited with status " + std::to_string(exited->code)) +
                               (exited->log_tail.empty() ? "" : "; the end of its output:\n" + exited->log_tail)};
            else if (const auto* failed = std::get_if<execution::LaunchFailed>(&event))
                answer = Error{failed->message};
            else
                handle(event, answer);
        };
        while (!answer && signal == 0) loop.run_one();
        if (signal != 0) {
            executor.reset();
            throw Fatal("interrupted", exit_status_of(signal));
        }
        return std::move(*answer);
    }

    Result<from_worker::PlanAnswer> plan(const to_worker::Plan& question) {
        executor->send(0, question);
        return wait<from_worker::PlanAnswer>([](const execution::Event& event, auto& answer) {
            const auto* received = std::get_if<execution::Received>(&event);
            if (!received) return;
            if (const auto* plan = std::get_if<from_worker::PlanAnswer>(&received->message))
                answer = plan->error.empty() ? Result<from_worker::PlanAnswer>(*plan) : Error{plan->error};
        });
    }
};

OneWorker::OneWorker() : impl_(std::make_unique<Impl>()) {}
OneWorker::~OneWorker() = default;

Result<std::unique_ptr<OneWorker>> OneWorker::start(const Study& study, const Programs& programs,
                                                    const Target& target) {
    std::unique_ptr<OneWorker> one(new OneWorker);
    Impl& impl = *one->impl_;
    static int started = 0;  // the end of one worker must not end another
    auto executor = LocalExecutor::make(impl.loop,
                                        {.tag = "hpo-one-" + std::to_string(getpid()) + "-" + std::to_string(++started),
                                         .program = programs.hpo,
                                         .limits = raise_soft_limits()},
                                        [&impl](WorkerIndex, const execution::Event& event) { impl.listener(event); });
    if (!executor) return executor.error();
    impl.executor = std::move(*executor);
    impl.executor->launch(0, worker_launch(study, programs, {}, 0, target));
    const auto hello = impl.wait<from_worker::Hello>([](const execution::Event& event, auto& answer) {
        if (const auto* ready = std::get_if<execution::Ready>(&event)) answer = ready->hello;
    });
    if (!hello) return hello.error();
    impl.slots = std::max<std::int64_t>(1, hello->slots);
    impl.identity = hello->identity;
    impl.threads = std::ranges::count(hello->capabilities, "cores") > 0;
    return one;
}

const std::string& OneWorker::identity() const { return impl_->identity; }

std::int64_t OneWorker::slots() const { return impl_->slots; }

void OneWorker::use_cores(const std::vector<int>& cores) {
    if (impl_->threads) impl_->executor->send(0, to_worker::Cores{{cores.begin(), cores.end()}});
}

Result<from_worker::PlanAnswer> OneWorker::plan(const Params& params, std::int64_t epochs, std::uint64_t data_seed) {
    return impl_->plan({1, params, epochs, data_seed});
}

Result<std::vector<std::string>> OneWorker::explain_data(const Params& params, std::uint64_t data_seed) {
    const auto answer = impl_->plan({1, params, 1, data_seed, true});
    if (!answer) return answer.error();
    return answer->data;
}

Result<from_worker::Finished> OneWorker::run(std::span<const to_worker::Run> runs,
                                             const std::function<to_worker::Action(const Report&)>& decide) {
    std::vector<AttemptId> open;
    for (const to_worker::Run& run : runs) {
        open.push_back(run.id);
        impl_->executor->send(0, run);
    }
    return impl_->wait<from_worker::Finished>([&](const execution::Event& event, auto& answer) {
        const auto* received = std::get_if<execution::Received>(&event);
        if (!received) return;
        if (const auto* reported = std::get_if<from_worker::Reported>(&received->message);
            reported && std::count(open.begin(), open.end(), reported->id) > 0)
            impl_->executor->send(0,
                                  to_worker::Decision{reported->id, reported->report.step, decide(reported->report)});
        if (const auto* finished = std::get_if<from_worker::Finished>(&received->message);
            finished && std::erase(open, finished->id) > 0 && open.empty())
            answer = *finished;
    });
}

}  // namespace hpo
