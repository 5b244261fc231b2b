#include "orchestrator/script/adapter.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "hpo/printable.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/signal_queue.hpp"
#include "orchestrator/execution/system.hpp"
#include "orchestrator/script/client_link.hpp"
#include "orchestrator/script/die_of.hpp"
#include "orchestrator/script/ending.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/hpo_link.hpp"
#include "orchestrator/script/launch.hpp"
#include "orchestrator/script/liveness.hpp"
#include "orchestrator/script/preload.hpp"
#include "orchestrator/script/running_command.hpp"
#include "orchestrator/script/start_retry.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/task.hpp"
#include "orchestrator/script/trial_metrics.hpp"
#include "os/process.hpp"

namespace hpo {

namespace {

using std::string;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t chunk_bytes = 64 * 1024;
constexpr std::size_t max_waiting_steps = 64;           ///< beyond which the command's output is left in its pipe
constexpr std::size_t max_drained_bytes = 1024 * 1024;  ///< of output that are read after the command's end
constexpr milliseconds file_poll_interval{100};
constexpr int cannot_start = 127;

/// Returns true if an argument contains {accumulation}, so that the script can train a batch in several micro-batches.
bool supports_accumulation(const std::vector<string>& command) {
    return std::any_of(command.begin(), command.end(), [](const string& argument) {
        const auto names = script::placeholders(argument);
        return std::find(names.begin(), names.end(), "accumulation") != names.end();
    });
}

class Adapter {
   public:
    Adapter(script::Task task, Descriptor socket) : task_(std::move(task)), hpo_(std::move(socket)) {}

    int run() {
        std::vector<string> abilities{"once"};
        if (supports_accumulation(task_.command)) abilities.emplace_back("micro_batch");
        send(from_worker::Hello{.token = std::getenv("HPO_TOKEN") ? std::getenv("HPO_TOKEN") : "",
                                .pid = ::getpid(),
                                .capabilities = std::move(abilities)});
        watch_signals();
        while (!done_) {
            wait_for_something();
            take_signals();
            read_file(false);
            metrics_.wait_over(seconds_since_start());
            report();
            if (retry_.due(Clock::now())) start();
            command_.kill_if_due(Clock::now());
            if (is_over() && !waiting_ && steps_waiting() == 0) conclude();
        }
        return exit_;
    }

   private:
    void watch_signals() {
        // Orphans of the command become children of this process, so that their processor time is counted.
        (void)system::adopt_orphans();
        ::signal(SIGPIPE, SIG_IGN);
    }

    void wait_for_something() {
        milliseconds timeout = 1000ms;
        if (!task_.file.empty()) timeout = file_poll_interval;
        for (const auto at : {retry_.at(), command_.kill_at()})
            if (at) timeout = std::clamp(std::chrono::ceil<milliseconds>(*at - Clock::now()), 1ms, timeout);
        if (const auto until = metrics_.waits_until()) {
            const std::chrono::duration<double> left(*until - seconds_since_start());
            timeout = std::clamp(std::chrono::ceil<milliseconds>(left), 1ms, timeout);
        }
        // With too many steps waiting for their decisions, the script's further output is left in the pipe.
        const bool reads_output = holds_output() || steps_waiting() < max_waiting_steps;
        const auto outputs = reads_output ? command_.outputs() : std::array{-1, -1};
        const auto client = client_.descriptors();
        pollfd fds[] = {{hpo_.descriptor(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0},
                        {outputs[0], POLLIN, 0},        {outputs[1], POLLIN, 0},
                        {client[0], POLLIN, 0},         {client[1], POLLIN, 0},
                        {command_.records(), POLLIN, 0}};
        if (::poll(fds, std::size(fds), static_cast<int>(timeout.count())) < 0) return;
        if (fds[0].revents != 0) take_messages();
        if (fds[4].revents != 0) client_.accept();
        if (fds[5].revents != 0) client_.read();
        if (fds[2].revents != 0 || fds[3].revents != 0) take_output(chunk_bytes);
        if (fds[6].revents != 0) take_records(chunk_bytes);
        send_alive();
    }

    // ---- Messages to and from hpo.

    void send(const WorkerMessage& message) { send(wire::encode(message)); }
    void send(const string& line) {
        if (!hpo_.send(line)) lose_attempt("cannot send a message to hpo: " + string(std::strerror(errno)));
    }

    /// Ends the attempt, which hpo may repeat, with the reason in the trial's log.
    void lose_attempt(const string& reason) {
        std::fprintf(stderr, "%s\n", reason.c_str());
        abandon();
    }

    void abandon() {
        command_.signal(SIGKILL);
        exit_ = 1;
        done_ = true;
    }

    void take_messages() {
        const auto take_each = [this](const OrchestratorMessage& message) {
            std::visit([this](const auto& m) { take(m); }, message);
        };
        if (!hpo_.read(take_each)) abandon();  // hpo has ended, and so must the trial
    }

    void take(const to_worker::Welcome& m) { liveness_.show_every(std::chrono::duration<double>(m.alive_every)); }
    void take(const to_worker::Plan&) {}
    void take(const to_worker::Cores&) {}
    void take(const to_worker::Run& m) {
        if (run_) return;
        run_ = m;
        started_ = Clock::now();
        liveness_.begin(started_);
        start();
    }
    void take(const to_worker::Decision& m) {
        if (client_reports_) return client_.send(m);
        if (!run_ || m.id != run_->id || m.step != step_) return;
        waiting_ = false;
        if (m.action == to_worker::Action::stop) end(Outcome::stopped);
        if (m.action == to_worker::Action::pause) end(Outcome::paused);
    }
    void take(const to_worker::Stop& m) {
        if (client_ends_itself()) return client_.send(m);
        if (run_ && m.id == run_->id) end(Outcome::stopped);
    }
    void take(const to_worker::Shutdown& m) {
        if (!run_) done_ = true;
        if (client_ends_itself()) return client_.send(m);
        end(Outcome::stopped);
    }

    // ---- A script with a client: its reports are passed on, and hpo's decisions back.

    void greet(const from_worker::Hello& hello) {
        client_.send(to_worker::Welcome{hello.version, liveness_.every().count()});
        client_.send(*run_);
    }

    void take_from_client(std::string_view line) {
        liveness_.acted();
        const auto message = wire::decode_worker(line);
        const auto* reported = message ? std::get_if<from_worker::Reported>(&*message) : nullptr;
        if (reported != nullptr && !takes_report(*reported)) return;
        const auto* finished = message ? std::get_if<from_worker::Finished>(&*message) : nullptr;
        if (finished != nullptr) client_.send(to_worker::Shutdown{});  // there is no other trial
        if (finished != nullptr && leaves_end_to_output(*finished)) {
            beyond_.insert(finished->values.begin(), finished->values.end());
            return;
        }
        if (finished != nullptr && finished->outcome == Outcome::failed && task_.processes > 1) {
            held_failure_ = string(line) + '\n';
            return;
        }
        finished_ |= finished != nullptr;
        send(string(line) + '\n');
    }

    /// Returns true if the steps are in the output, which is read to its end.
    [[nodiscard]] bool leaves_end_to_output(const from_worker::Finished& finished) const {
        return !client_reports_ && finished.outcome == Outcome::complete &&
               !finished.values.contains(run_->objective.metric);
    }

    /// Returns true if a report of the client counts. From a client's first report on, the output is not read. A study
    /// that says where its metrics are has them from there if that comes first.
    bool takes_report(const from_worker::Reported& reported) {
        if (!client_reports_ && step_ > 0) {
            if (!std::exchange(told_unused_, true))
                std::fprintf(stderr, "hpo: metrics are read from %s; what the script's client reports is not used\n",
                             metrics_.in_file() ? metrics_.path().c_str() : "the output");
            client_.send(to_worker::Decision{reported.id, reported.report.step,
                                             outcome_ ? to_worker::Action::stop : to_worker::Action::go_on});
            return false;
        }
        client_reports_ = true;
        metrics_.stop();
        step_ = std::max(step_, reported.report.step);
        return true;
    }

    /// Returns true if reports of the output are held back until the command's end, since the client may report.
    [[nodiscard]] bool holds_output() const { return client_.used() && !is_over() && !finds_metrics_elsewhere(); }
    /// Returns true if the study says where the metrics are.
    [[nodiscard]] bool finds_metrics_elsewhere() const { return !task_.patterns.empty() || !task_.file.empty(); }
    /// Returns true if the script is told by its client to end. Others get SIGTERM.
    [[nodiscard]] bool client_ends_itself() const {
        return client_.connected() && (client_reports_ || !finds_metrics_elsewhere());
    }

    /// Tells hpo that the command is alive, unless it hangs.
    void send_alive() {
        if (run_ && liveness_.shows(Clock::now())) send(from_worker::Alive{run_->id, "running"});
    }

    void report() {
        if (waiting_ || outcome_ || holds_output()) return;
        auto step = metrics_.take();
        if (!step) return;
        if (step_ >= run_->steps) return report_beyond_budget(std::move(step->metrics));
        ++step_;
        waiting_ = true;
        Report report;
        report.step = step_;
        report.metrics = std::move(step->metrics);
        const double before = run_->done ? run_->done->seconds.value_or(0) : 0;
        report.seconds = before + step->at;
        report.warning = printable(metrics_.warning());
        send(from_worker::Reported{run_->id, std::move(report)});
    }

    [[nodiscard]] double seconds_since_start() const {
        return std::chrono::duration<double>(Clock::now() - started_).count();
    }

    /// Takes one report after the last step for a final evaluation, so that the program gets to its end and can save
    /// its model. A second one shows that it trains on.
    void report_beyond_budget(Metrics metrics) {
        if (task_.reports == 1 && beyond_.empty()) {
            beyond_ = std::move(metrics);
            return;
        }
        beyond_.clear();
        had_more_ = true;
        end(Outcome::complete);
    }

    [[nodiscard]] std::size_t steps_waiting() const { return outcome_ ? 0 : metrics_.waiting(); }

    // ---- The command.

    void fail(const string& message) {
        finish(Outcome::failed, message);
        done_ = true;
    }

    /// Starts the command. A passing shortage (of processes, descriptors, memory, disk) is waited out with growing
    /// pauses.
    void start() {
        retry_.end_wait();
        const auto problem = try_to_start();
        if (!problem) return;
        if (!problem->passes || !retry_.wait_after(Clock::now(), started_))
            return problem->own ? lose_attempt(problem->text) : fail(problem->text);
        liveness_.acted();  // until the shortage has lasted too long
        if (retry_.tells()) send(from_worker::Log{run_->id, problem->text + ": it is tried again for 10 minutes"});
    }

    /// Starts the command. Returns the reason if it cannot be started.
    std::optional<script::StartProblem> try_to_start() {
        script::Launch launch(task_, *run_);
        metrics_.begin(task_, *run_, launch.metrics_file());
        if (auto problem = launch.make_command()) return problem;
        if (client_.descriptors()[0] < 0)
            if (const auto listens = client_.listen(std::getenv("HPO_ENDPOINT")); !listens)
                return script::StartProblem{listens.error().message, is_launch_shortage(errno), true};
        auto started = launch.start(prepared_, client_.environment(), metrics_.path());
        if (auto* problem = std::get_if<script::StartProblem>(&started)) return std::move(*problem);
        command_.begin(std::get<script::StartedCommand>(std::move(started)));
        started_ = Clock::now();
        send(from_worker::Started{run_->id, 0});
        return std::nullopt;
    }

    void take_output(std::size_t max_bytes) {
        const bool any = command_.take_output(max_bytes, [this](std::string_view bytes, std::size_t stream) {
            if (!outcome_) metrics_.feed(bytes, stream, seconds_since_start());
        });
        if (any) liveness_.acted();
    }

    void take_records(std::size_t max_bytes) {
        if (command_.take_records(max_bytes)) liveness_.acted();
    }

    /// Reads the new bytes of the file of metrics, and after the command's end (`last`) the whole rest.
    void read_file(bool last) {
        if (!outcome_ && metrics_.read_file(last, max_waiting_steps, seconds_since_start())) liveness_.acted();
    }

    /// Returns true after the command's end, and if the trial was ended before its start.
    [[nodiscard]] bool is_over() const { return command_.ended() || never_started_; }

    /// Ends the trial with this outcome. The command's exit status no longer counts.
    void end(Outcome outcome) {
        if (outcome_ || !run_) return;
        outcome_ = outcome;
        waiting_ = false;
        if (retry_.end_wait()) never_started_ = true;
        terminate();
    }

    void terminate() { command_.terminate(milliseconds(static_cast<std::int64_t>(task_.grace * 1000))); }

    void take_signals() {
        for (const int signal : signals_.take()) {
            if (signal == SIGCHLD) continue;
            interrupted_ = 128 + signal;
            if (!command_.started()) done_ = true;
            exit_ = interrupted_;
            terminate();
        }
        if (command_.reap()) command_ended();
    }

    void command_ended() {
        while (client_.read()) {
        }
        take_output(max_drained_bytes);
        take_records(max_drained_bytes);
        read_file(true);
        const int status = command_.status();
        metrics_.finish(WIFSIGNALED(status));
    }

    // ---- The end.

    void finish(Outcome outcome, const string& message = {}) {
        Metrics closing = metrics_.closing();
        closing.insert(beyond_.begin(), beyond_.end());
        // The peak is that of the largest process, or of the largest ones of all ranks. hpo measures the whole tree,
        // but too seldom to see a command that ends at once.
        std::int64_t peak =
            std::max(os::largest_resident(script::usage_of_ended_children()), script::peak_of(command_.rank_ends()));
        // A process has the peak of the one that forked it, up to its exec. A peak that is no higher only bounds what
        // the command took, which is of use after a shortage alone.
        rusage own{};
        const bool is_bound = ::getrusage(RUSAGE_SELF, &own) == 0 && peak <= os::largest_resident(own);
        if (is_bound && outcome != Outcome::out_of_memory) peak = 0;
        send(from_worker::Finished{.id = run_->id,
                                   .outcome = outcome,
                                   .message = message,
                                   .values = std::move(closing),
                                   .checkpoint = {},
                                   .peak_bytes = peak});
    }

    void conclude() {
        done_ = true;
        exit_ = interrupted_;
        if (interrupted_ != 0 || finished_) return;
        const string refusal = step_ > 0 ? metrics_.refusal() : "";
        if (outcome_ == Outcome::complete && !refusal.empty()) return finish(Outcome::failed, printable(refusal));
        if (outcome_) return finish(*outcome_, had_more_ ? script::more_reports_message(*run_, task_.reports) : "");
        const auto [ending, rank] = script::ending_of_ranks(
            command_.rank_ends(),
            {.status = command_.status(), .output = command_.tail(), .steps = step_, .planned = run_->steps});
        if (!held_failure_.empty() && rank == 0) return send(held_failure_);
        if (ending.signal != 0) script::die_of(ending.signal);
        if (ending.status != 0) {
            exit_ = ending.status;
            return;
        }
        if (ending.outcome == Outcome::complete && step_ == 0) return conclude_without_objective(ending.message);
        if (ending.outcome == Outcome::complete && !refusal.empty()) return finish(Outcome::failed, printable(refusal));
        finish(ending.outcome, ending.message);
    }

    /// Ends the trial of a command that ended well without the objective. If the command has reported other metrics,
    /// the trial is complete: hpo then knows that the study looks for the wrong metric. It is also complete if the
    /// command used hpo's client without a report, which is the only way to its parameters where hpo does not read its
    /// metrics. Otherwise it has failed, and so has one with an `error` at the end
    /// of its output.
    void conclude_without_objective(const string& error) {
        if (!task_.reads_metrics && !client_.used())
            return finish(Outcome::failed, (error.empty() ? "" : error + "; ") + script::needs_client);
        script::ReadInstead instead = metrics_.read_instead();
        instead.silent = command_.tail().empty();
        if (client_.used() && error.empty() && !instead.anything()) return finish(Outcome::complete);
        using script::MetricsFrom;
        const auto from = task_.file == script::shim_reports ? MetricsFrom::shim
                          : metrics_.in_file()               ? MetricsFrom::file
                          : task_.processes > 1              ? MetricsFrom::output_of_rank_0
                                                             : MetricsFrom::output;
        const string missing = script::missing_objective(run_->objective.metric, from, metrics_.path(), instead);
        if (!error.empty()) return finish(Outcome::failed, error + "; " + missing);
        finish(instead.anything() ? Outcome::complete : Outcome::failed, missing);
    }

    script::Task task_;
    script::HpoLink hpo_;
    SignalQueue signals_{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    script::Liveness liveness_;

    std::optional<to_worker::Run> run_;
    Clock::time_point started_;
    script::ClientLink client_{{.hello = [this](const from_worker::Hello& hello) { greet(hello); },
                                .line = [this](std::string_view line) { take_from_client(line); }}};
    bool client_reports_ = false;  ///< the steps are the client's, not the output's
    bool told_unused_ = false;     ///< the client was told that its reports are not used
    bool finished_ = false;        ///< the client has ended the trial
    string held_failure_;          ///< message of rank 0's client that the end of another rank may have caused
    script::TrialMetrics metrics_;
    std::int64_t step_ = 0;           ///< the last step that was reported
    bool waiting_ = false;            ///< true until the decision on that step arrives
    std::optional<Outcome> outcome_;  ///< set if the study or the budget has ended the trial, not the command

    std::optional<script::Prepared> prepared_ = script::take_prepared();
    script::StartRetry retry_;
    script::RunningCommand command_;
    bool never_started_ = false;  ///< the trial was ended while its command waited to be started
    bool had_more_ = false;       ///< true if the command trains on after its last step
    Metrics beyond_;              ///< metrics that the command has reported once after its last step
    int interrupted_ = 0;         ///< exit status after a signal to the adapter; 0 if none has arrived

    bool done_ = false;
    int exit_ = 0;
};

}  // namespace

int run_script(int argc, char** argv) {
    if (argc != 3) return cannot_start;
    script::Task task = script::parse_task(argv[2]);
    const string& program = task.command.at(0);
    if (script::placeholders(program).empty() && script::path_of(program).empty()) {
        std::fprintf(stderr, "cannot start %s: %s\n", printable(program).c_str(), std::strerror(errno));
        return cannot_start;
    }
    Descriptor socket = script::HpoLink::connect(std::getenv("HPO_ENDPOINT"));
    if (!socket) {
        std::fprintf(stderr, "cannot reach hpo: %s\n", std::strerror(errno));
        return cannot_start;
    }
    return Adapter(std::move(task), std::move(socket)).run();
}

}  // namespace hpo
