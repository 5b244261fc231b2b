// Real executors, supervisors and workers for tests, on an event loop that runs until a condition holds.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "orchestrator/execution/local.hpp"
#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/processes.hpp"
#include "tests/contract/execution/host_agent.hpp"
#include "tests/support/paths.hpp"

namespace hpo::testing_execution {

inline const std::string fake_worker = testing::build_folder() + "/tests/support/fake-worker";
constexpr std::chrono::seconds patience{20};

/// The freed memory that AddressSanitizer keeps, to be added to bounds on memory.
#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t quarantine_bytes = 300 << 20;
#else
constexpr std::int64_t quarantine_bytes = 0;
#endif

/// Returns a new tag for each use, so that tests can run at the same time.
inline std::string new_tag() {
    static int count = 0;
    return "test." + std::to_string(::getpid()) + "." + std::to_string(++count);
}

/// Returns the processes with the tag, except zombies, which have no environment.
inline std::vector<pid_t> tagged(const std::string& tag) {
    std::vector<pid_t> found;
    for (const pid_t pid : all_processes()) {
        std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
        std::stringstream text;
        text << file.rdbuf();
        if (text.str().find("HPO_TAG=" + tag) != std::string::npos) found.push_back(pid);
    }
    return found;
}

inline std::string content(const std::filesystem::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

/// Returns the supervisors among them.
inline std::vector<pid_t> supervisors(const std::string& tag) {
    std::vector<pid_t> found = tagged(tag);
    std::erase_if(found,
                  [](pid_t pid) { return content("/proc/" + std::to_string(pid) + "/comm") != "hpo-supervisor\n"; });
    return found;
}

/// Polls a condition that no event reports, such as the end of another process.
inline bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds within = patience) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        ::usleep(1000);
    }
    return true;
}

class ExecutorHarness {
   public:
    explicit ExecutorHarness(LocalOptions options = {}) {
        if (options.tag.empty()) options.tag = new_tag();
        tag = options.tag;
        const auto listen = [this](WorkerIndex index, const execution::Event& event) {
            log.emplace_back(index, event);
            if (listener) listener(index, event);
        };
        if (tests_hosts()) {
            OnAHost made = make_on_a_host(loop, tag, listen);
            machine = std::move(made.machine);
            executor = std::move(made.executor);
            return;
        }
        auto made = LocalExecutor::make(loop, options, listen);
        if (!made) throw std::runtime_error(made.error().message);
        executor = *std::move(made);
    }

    /// Launches a fake worker, which runs `script` at its start.
    void launch(WorkerIndex index, const std::string& script = "") {
        launch(index, {fake_worker}, {{"FAKE_WORKER", script}});
    }
    void launch(WorkerIndex index, std::vector<std::string> command, std::map<std::string, std::string> environment) {
        executor->launch(index, {std::move(command), std::move(environment), {}, {}});
    }

    /// Launches a worker, and lets the order leave this process, which other orders do with the next event.
    void launch(WorkerIndex index, const LaunchSpec& spec) {
        executor->launch(index, spec);
        loop.restart();
        loop.poll();
    }

    /// Returns the next event of type T of this worker, and waits for it if necessary; fails at a deadline.
    template <class T>
    T next(WorkerIndex index) {
        std::size_t& seen = seen_[index];
        T result;
        const bool came = until([&] {
            for (; seen < log.size(); ++seen)
                if (log[seen].first == index)
                    if (const auto* event = std::get_if<T>(&log[seen].second)) {
                        result = *event;
                        ++seen;
                        return true;
                    }
            return false;
        });
        EXPECT_TRUE(came) << "waited for an event that did not come";
        return result;
    }
    /// Returns the first event of type T of this worker, skipping others before it, and waits for it if necessary;
    /// fails at a deadline. For events that come by different ways: a notice comes from the supervisor, and Ready from
    /// the worker, in either order.
    template <class T>
    T first(WorkerIndex index) {
        T result;
        const bool came = until([&] {
            for (const auto& [worker, event] : log)
                if (worker == index)
                    if (const auto* found = std::get_if<T>(&event)) {
                        result = *found;
                        return true;
                    }
            return false;
        });
        EXPECT_TRUE(came) << "waited for an event that did not come";
        return result;
    }
    template <class T>
    T next_message(WorkerIndex index) {
        for (;;) {
            const auto received = next<execution::Received>(index);
            if (HasFailed()) return {};
            if (const auto* message = std::get_if<T>(&received.message)) return *message;
        }
    }
    template <class T>
    [[nodiscard]] std::size_t count(WorkerIndex index) const {
        std::size_t found = 0;
        for (const auto& [worker, event] : log) found += worker == index && std::holds_alternative<T>(event);
        return found;
    }

    /// Runs the loop until `holds` returns true. Returns false if that took too long.
    bool until(const std::function<bool()>& holds, std::chrono::milliseconds within = patience) {
        const auto deadline = std::chrono::steady_clock::now() + within;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            loop.restart();
            loop.run_one_until(deadline);
            if (machine) machine->poll({});
        }
        return true;
    }

    void run_trial(WorkerIndex index, const std::string& script, std::int64_t steps = 3, AttemptId id = {1, 1}) {
        to_worker::Run run;
        run.id = id;
        run.params = {{"fake", script}, {"lr", 0.01}};
        run.steps = steps;
        executor->send(index, run);
    }
    void go_on(WorkerIndex index, const from_worker::Reported& report) {
        executor->send(index, to_worker::Decision{report.id, report.report.step, to_worker::Action::go_on});
    }
    /// Answers reports with `continue` until the trial is over.
    from_worker::Finished finish(WorkerIndex index) {
        for (;;) {
            const auto received = next<execution::Received>(index);
            if (HasFailed()) return {};
            if (const auto* report = std::get_if<from_worker::Reported>(&received.message)) go_on(index, *report);
            if (const auto* end = std::get_if<from_worker::Finished>(&received.message)) return *end;
        }
    }

    boost::asio::io_context loop;
    std::string tag;
    std::vector<std::pair<WorkerIndex, execution::Event>> log;
    ExecutionListener listener;
    std::unique_ptr<SessionMachine> machine;  ///< with tests_hosts()
    std::unique_ptr<SessionExecutor> executor;

   private:
    static bool HasFailed() { return ::testing::Test::HasFailure(); }
    std::map<WorkerIndex, std::size_t> seen_;
};

/// A folder that is removed at the end.
class Folder {
   public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "hpo-test-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

}  // namespace hpo::testing_execution
