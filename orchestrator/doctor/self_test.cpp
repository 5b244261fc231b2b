#include "orchestrator/doctor/self_test.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"
#include "hpo/text.hpp"
#include "orchestrator/doctor/tried_run.hpp"
#include "orchestrator/execution/descendants.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "orchestrator/store/file_system.hpp"
#include "os/files.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Seconds run_limit{120};  // of a whole study of some seconds, also on a busy machine
constexpr Seconds gone_limit{10};  // of processes after hpo has died, which takes 2 s at most
constexpr std::size_t enough = 2;  // trials that have ended before a run is killed

/// A study of a shell script, which reports its parameter x as its loss at each of three epochs. It writes x to `begun`
/// and its pid to `pids`, and leaves a process that has detached itself and cleared its environment.
std::string study_of_scripts(const std::string& name, int trials) {
    return "study: " + name + R"(
seed: 1
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: 0.0, high: 1.0}}
worker:
  command:
    - /bin/sh
    - -c
    - >-
      echo "$1" >>begun; echo $$ >>pids;
      (setsid env -i sleep "600.$HPO_SELF_TEST" >/dev/null 2>&1 &);
      for epoch in 1 2 3; do echo "epoch=$epoch loss=$1"; sleep 0.1; done
    - self-test
    - "{x}"
budget: {trials: )" +
           std::to_string(trials) + R"(, epochs: 3}
sampler: {type: random}
stopping: []
resources: {parallel: 2, trial: {memory: 16MiB}}
)";
}

/// A study of one network on synthetic data. 60 epochs take a second or two on a CPU core of today.
std::string native_study(const std::string& name, int epochs) {
    return "study: " + name + R"(
seed: 1
objective: {metric: val_loss, direction: minimize}
space: {lr: {type: float, low: 1.0e-3, high: 1.0e-2, log: true}}
worker:
  task: classification
  data: {format: synthetic, samples: 8192, features: 32, classes: 8, noise: 2.0}
  model: {type: mlp, depth: 2, width: 64}
  training: {batch_size: 256}
resources: {backend: cpu}
budget: {trials: 1, epochs: )" +
           std::to_string(epochs) + R"(}
sampler: {type: random}
stopping: []
)";
}

/// Returns the values of the trials that the events report as finished, by their number.
std::map<std::int64_t, double> finished(const std::vector<json>& events) {
    std::map<std::int64_t, double> values;
    for (const json& event : events)
        if (event.value("event", "") == "finished" && event["value"].is_number())
            values[event["trial"].get<std::int64_t>()] = event["value"].get<double>();
    return values;
}

std::vector<std::string> lines_of(const fs::path& file) {
    std::ifstream stream(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// Why a promise does not hold.
struct Broken {
    std::string why;
};

class SelfTest {
   public:
    SelfTest(fs::path folder, const std::function<void(const Promise&)>& tried)
        : folder_(std::move(folder)), tried_(tried) {}
    /// Leaves no process behind, whatever was thrown.
    ~SelfTest() { end_all(); }
    SelfTest(const SelfTest&) = delete;
    SelfTest& operator=(const SelfTest&) = delete;

    std::vector<Promise> run() {
        promise("studies lie on a disk, not in memory", [&] { return disk(); });
        promise("a study ends with the results that its scripts have printed", [&] { return whole(); });
        const char* none = finds_detached_ ? "killed (SIGKILL), hpo leaves no process behind"
                                           : "killed (SIGKILL), hpo leaves no process behind that it can find here";
        if (promise(none, [&] { return killed(); }))
            promise("run again, it keeps each result and trains nothing twice", [&] { return run_again(); });
        promise("interrupted (Ctrl-C), it ends with status 130 and keeps each result", [&] { return interrupted(); });
        promise("a trial whose process is killed is tried again", [&] { return shot(); });
        promise("a killed native trial goes on from its checkpoint to the same value", [&] { return resumed(); });
        return promises_;
    }

   private:
    bool promise(const std::string& text, const std::function<std::string()>& holds) {
        Promise made{text, true, {}, {}};
        const Seconds begin = clock_.now();
        try {
            made.seen = holds();
        } catch (const Broken& broken) {
            made.kept = false;
            made.seen = broken.why;
            end_all();  // so that the next promise does not meet these processes
        }
        made.took = clock_.now() - begin;
        promises_.push_back(made);
        tried_(made);
        return made.kept;
    }

    std::string disk() const {
        constexpr std::size_t writes = 20;
        if (lies_in_memory(folder_))
            throw Broken{"the folder lies in memory, so that a loss of power would lose all studies"};
        const Descriptor file(::open((folder_ / "writes").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        const std::string block(4096, 'x');
        std::vector<double> took;
        for (std::size_t i = 0; i < writes; ++i) {
            const Seconds begin = clock_.now();
            if (::write(file.get(), block.data(), block.size()) != static_cast<ssize_t>(block.size()) ||
                os::make_durable(file.get()) != 0)
                throw Broken{"a write to the folder fails"};
            took.push_back((clock_.now() - begin).count());
        }
        std::nth_element(took.begin(), took.begin() + writes / 2, took.end());
        return "a write reaches it in " + with_digits(took[writes / 2] * 1e3, 2) + " ms";
    }

    std::string whole() {
        constexpr std::int64_t trials = 4;
        begin_study("whole", study_of_scripts("whole", trials));
        TriedRun run = start("whole", "whole");
        expect_status(run, 0);
        expect_no_process();
        const auto values = finished(run.events());
        if (static_cast<std::int64_t>(values.size()) != trials)
            throw Broken{counted(trials, "trial") + " were to end, and " + std::to_string(values.size()) + " did"};
        expect_stored("whole", values);
        return counted(trials, "trial");
    }

    std::string killed() {
        begin_study("killed", study_of_scripts("killed", trials_of_killed));
        TriedRun run = start("killed", "killed-1");
        await_results(run);
        const bool detached = !processes_with(detached_argument + token_).empty();
        run.send(SIGKILL);
        const auto gone = signals_.wait_until([&] { return run.status() && left().empty(); }, gone_limit);
        reported_ = finished(run.events());
        if (!gone) throw Broken{left_over()};
        const std::string after = "the last one ended after " + duration_text(gone->count());
        if (!detached) return after;
        return finds_detached_ ? after + ", also those that had detached themselves and cleared their environment"
                               : after +
                                     "; those that had detached themselves and cleared their environment stayed, "
                                     "since this system has no sub-reapers, or refuses them";
    }

    std::string run_again() {
        const auto before = xs_begun();
        expect_stored("killed", reported_);
        TriedRun run = start("killed", "killed-2");
        expect_status(run, 0);
        expect_no_process();
        auto all = reported_;
        for (const auto& [trial, value] : finished(run.events()))
            if (!all.emplace(trial, value).second)
                throw Broken{"trial " + std::to_string(trial) + " was reported twice"};
        if (all.size() != trials_of_killed)
            throw Broken{std::to_string(all.size()) + " of " + std::to_string(trials_of_killed) + " trials ended"};
        expect_stored("killed", all);
        const auto after = xs_begun();
        for (const auto& [trial, value] : reported_)
            if (before.count(value) != after.count(value) || after.count(value) != 1)
                throw Broken{"trial " + std::to_string(trial) + " had ended, and was trained again"};
        return counted(static_cast<std::int64_t>(reported_.size()), "result") + " from before the kill, " +
               std::to_string(all.size()) + " in all";
    }

    std::string interrupted() {
        begin_study("interrupted", study_of_scripts("interrupted", trials_of_killed));
        TriedRun run = start("interrupted", "interrupted");
        await_results(run);
        run.send(SIGINT);
        const auto took = signals_.wait_until([&] { return run.status().has_value(); }, gone_limit);
        if (!took) throw Broken{"it still runs " + duration_text(gone_limit.count()) + " later"};
        if (*run.status() != 130) throw Broken{"it ended with status " + std::to_string(*run.status())};
        expect_no_process();
        const auto values = finished(run.events());
        expect_stored("interrupted", values);
        return "after " + duration_text(took->count()) + ", with " +
               counted(static_cast<std::int64_t>(values.size()), "result");
    }

    std::string shot() {
        constexpr std::size_t trials = 3;
        begin_study("shot", study_of_scripts("shot", trials));
        TriedRun run = start("shot", "shot");
        pid_t worker = 0;
        const auto begun = signals_.wait_until(
            [&] {
                const auto pids = lines_of(folder_ / "pids");
                if (run.status() || pids.empty()) return run.status().has_value();
                worker = static_cast<pid_t>(std::atoi(pids.front().c_str()));
                return true;
            },
            run_limit);
        if (!begun || worker <= 0) throw Broken{"no script was started: " + run.last_error()};
        const auto tested = processes_with(token_);
        if (std::find(tested.begin(), tested.end(), worker) == tested.end())
            throw Broken{"its script " + std::to_string(worker) + " is no process of hpo"};
        ::kill(worker, SIGKILL);
        expect_status(run, 0);
        const auto values = finished(run.events());
        if (values.size() != trials)
            throw Broken{std::to_string(values.size()) + " of " + std::to_string(trials) + " trials ended"};
        expect_stored("shot", values);
        if (xs_begun().size() <= trials) throw Broken{"its script was not started again"};
        return "all " + counted(trials, "trial") + " ended";
    }

    std::string resumed() {
        for (int epochs = 60;; epochs *= 10) {
            const std::string name = "resumed-" + std::to_string(epochs);
            begin_study(name, native_study(name, epochs));
            const std::optional<std::int64_t> step = kill_after_steps(name);
            if (!step && epochs < most_epochs) continue;  // it ended before it could be killed
            if (!step) throw Broken{"it ends before it can be killed"};
            begin_study("undisturbed", native_study("undisturbed", epochs));
            TriedRun undisturbed = start("undisturbed", "undisturbed"), run = start(name, name + "-again");
            expect_status(undisturbed, 0);
            expect_status(run, 0);
            const auto expected = finished(undisturbed.events()), values = finished(run.events());
            if (expected.size() != 1 || values.size() != 1) throw Broken{"its trial did not end: " + run.last_error()};
            if (expected != values)
                throw Broken{"val_loss " + short_number(values.begin()->second) + " in place of " +
                             short_number(expected.begin()->second)};
            return "killed after epoch " + std::to_string(*step) + " of " + std::to_string(epochs) + ", val_loss " +
                   short_number(values.begin()->second);
        }
    }

    /// Runs a native study and kills hpo once it has reported some steps. Returns the last one, or nothing if the trial
    /// has ended before.
    std::optional<std::int64_t> kill_after_steps(const std::string& study) {
        constexpr std::int64_t enough_steps = 3;
        std::int64_t step = 0;
        TriedRun run = start(study, study);
        const auto has_steps = [&] {
            for (const json& event : run.events())
                if (event.value("event", "") == "reported") step = event["steps"].get<std::int64_t>();
            return step >= enough_steps || run.status();
        };
        if (!signals_.wait_until(has_steps, run_limit)) throw Broken{"no step was reported" + others(run)};
        run.send(SIGKILL);
        if (!signals_.wait_until([&] { return run.status() && left().empty(); }, gone_limit)) throw Broken{left_over()};
        if (finished(run.events()).empty() && *run.status() != 128 + SIGKILL) throw Broken{run.last_error()};
        return finished(run.events()).empty() ? std::optional(step) : std::nullopt;
    }

    void begin_study(const std::string& name, const std::string& text) const {
        for (const char* file : {"begun", "pids"}) fs::remove(folder_ / file);
        std::ofstream(folder_ / (name + ".yaml")) << text;
    }
    [[nodiscard]] TriedRun start(const std::string& study, const std::string& name) const {
        return {folder_, name, token_, {"run", "--json", study + ".yaml"}};
    }

    /// Waits until some trials have ended and others run.
    void await_results(TriedRun& run) const {
        const auto enough_ended = [&] { return finished(run.events()).size() >= enough || run.status(); };
        if (!signals_.wait_until(enough_ended, run_limit)) throw Broken{"no trial ends" + others(run)};
        if (run.status()) throw Broken{"it ended too early: " + run.last_error()};
    }
    void expect_status(TriedRun& run, int wanted) const {
        if (!signals_.wait_until([&] { return run.status().has_value(); }, run_limit))
            throw Broken{"it still runs after " + duration_text(run_limit.count()) + others(run)};
        if (const int status = *run.status(); status != wanted)
            throw Broken{"hpo run ended with status " + std::to_string(status) + ": " + run.last_error()};
    }
    /// Returns the processes that may hold up a run which has begun no trial.
    static std::string others(const TriedRun& run) {
        const std::string error = run.last_error();
        if (!error.empty()) return ": " + error;
        return run.events().empty() ? "; other studies may hold this machine (hpo devices)" : "";
    }
    void expect_no_process() const {
        if (!signals_.wait_until([&] { return left().empty(); }, gone_limit)) throw Broken{left_over()};
    }
    /// Returns the processes that hpo has promised to end.
    [[nodiscard]] std::vector<pid_t> left() const {
        std::vector<pid_t> pids = processes_with(token_);
        if (finds_detached_) return pids;
        const std::vector<pid_t> detached = processes_with(detached_argument + token_);
        std::erase_if(pids,
                      [&](pid_t pid) { return std::find(detached.begin(), detached.end(), pid) != detached.end(); });
        return pids;
    }
    [[nodiscard]] std::string left_over() const {
        std::string text;
        for (const pid_t pid : left()) text += (text.empty() ? "" : ", ") + std::to_string(pid);
        return "processes are left after " + duration_text(gone_limit.count()) + ": " + text;
    }
    /// Compares the reported values with the answer of another process that reads the study.
    void expect_stored(const std::string& study, const std::map<std::int64_t, double>& reported) const {
        TriedRun reader(folder_, "ls", token_, {"ls", study, "--json"});
        expect_status(reader, 0);
        std::map<std::int64_t, double> stored;
        const json answer = json::parse(reader.output(), nullptr, false);
        if (answer.is_object())
            for (const json& trial : answer.value("trials", json::array()))
                if (trial.value("state", "") == "complete") stored[trial["trial"]] = trial["value"].get<double>();
        for (const auto& [trial, value] : reported)
            if (const auto found = stored.find(trial); found == stored.end() || found->second != value)
                throw Broken{"trial " + std::to_string(trial) + " was reported with loss " + short_number(value) +
                             ", and hpo ls " +
                             (found == stored.end() ? "does not know its end" : "says " + short_number(found->second))};
    }
    /// Returns the parameter of each attempt that has begun.
    [[nodiscard]] std::multiset<double> xs_begun() const {
        std::multiset<double> xs;
        for (const std::string& line : lines_of(folder_ / "begun")) xs.insert(std::strtod(line.c_str(), nullptr));
        return xs;
    }
    void end_all() const {
        for (const pid_t pid : processes_with(token_)) ::kill(pid, SIGKILL);
    }

    static constexpr int most_epochs = 6000;
    static constexpr std::size_t trials_of_killed = 10;
    static constexpr const char* detached_argument =
        "600.";  ///< with the token behind it, that of `sleep` in the script

    fs::path folder_;
    const std::function<void(const Promise&)>& tried_;
    std::string token_ = std::to_string(std::random_device{}() | 0x80000000U);
    bool finds_detached_ = supervisor::has_sub_reapers();  ///< also without their environment
    BlockedSignals signals_;
    SteadyClock clock_;
    std::map<std::int64_t, double> reported_;  ///< by the run that was killed
    std::vector<Promise> promises_;
};

}  // namespace

bool SelfTestResult::kept() const {
    return std::all_of(promises.begin(), promises.end(), [](const Promise& promise) { return promise.kept; });
}

SelfTestResult self_test(const fs::path& parent, const std::function<void(const Promise&)>& tried) {
    std::string name = (fs::absolute(parent) / ".hpo-self-test-XXXXXX").lexically_normal().string();
    if (::mkdtemp(name.data()) == nullptr) throw Fatal(name + ": cannot be made: " + std::strerror(errno));
    SelfTestResult result{{}, name};
    const auto remove = [&] {
        std::error_code ignored;
        fs::remove_all(name, ignored);
        result.folder.clear();
    };
    try {
        result.promises = SelfTest(name, tried).run();
    } catch (...) {
        remove();
        throw;
    }
    if (result.kept()) remove();
    return result;
}

nlohmann::ordered_json to_json(const SelfTestResult& result) {
    nlohmann::ordered_json promises = nlohmann::ordered_json::array(), folder;
    for (const Promise& promise : result.promises)
        promises.push_back({{"text", promise.text},
                            {"kept", promise.kept},
                            {"seen", promise.seen},
                            {"seconds", promise.took.count()}});
    if (!result.folder.empty()) folder = result.folder.string();
    return {{"schema", json_schema}, {"kept", result.kept()}, {"folder", folder}, {"promises", promises}};
}

}  // namespace hpo
