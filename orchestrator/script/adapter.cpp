#include "orchestrator/script/adapter.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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
#include <filesystem>
#include <optional>

#include "hpo/lines.hpp"
#include "hpo/printable.hpp"
#include "hpo/send_all.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/signal_queue.hpp"
#include "orchestrator/execution/system.hpp"
#include "orchestrator/script/client_link.hpp"
#include "orchestrator/script/die_of.hpp"
#include "orchestrator/script/ending.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/launch.hpp"
#include "orchestrator/script/liveness.hpp"
#include "orchestrator/script/metrics_file.hpp"
#include "orchestrator/script/output.hpp"
#include "orchestrator/script/preload.hpp"
#include "orchestrator/script/rank_records.hpp"
#include "orchestrator/script/syntax/missing_objective.hpp"
#include "orchestrator/script/syntax/steps.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/task.hpp"
#include "orchestrator/script/terminal.hpp"

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
constexpr milliseconds first_start_pause{50}, longest_start_pause{5000};
constexpr milliseconds told_start_pause{1000};         ///< from which on hpo is told of the shortage
constexpr std::chrono::seconds longest_shortage{600};  ///< without which the command could be started
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
    Adapter(script::Task task, Descriptor socket) : task_(std::move(task)), socket_(std::move(socket)) {}

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
            if (reader_) reader_->wait_over(seconds_since_start());
            report();
            if (start_at_ && Clock::now() >= *start_at_) start();
            if (kill_at_ && Clock::now() >= *kill_at_) signal_command(SIGKILL);
            if (ended_ && !waiting_ && steps_waiting() == 0) conclude();
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
        if (start_at_) timeout = std::clamp(std::chrono::ceil<milliseconds>(*start_at_ - Clock::now()), 1ms, timeout);
        if (kill_at_) timeout = std::clamp(std::chrono::ceil<milliseconds>(*kill_at_ - Clock::now()), 1ms, timeout);
        if (const auto until = reader_ ? reader_->waits_until() : std::nullopt) {
            const std::chrono::duration<double> left(*until - seconds_since_start());
            timeout = std::clamp(std::chrono::ceil<milliseconds>(left), 1ms, timeout);
        }
        // With too many steps waiting for their decisions, the script's further output is left in the pipe.
        const bool reads_output = holds_output() || steps_waiting() < max_waiting_steps;
        const auto outputs = reads_output ? output_.descriptors() : std::array{-1, -1};
        const auto client = client_.descriptors();
        pollfd fds[] = {{socket_.get(), POLLIN, 0}, {signals_.descriptor(), POLLIN, 0},
                        {outputs[0], POLLIN, 0},    {outputs[1], POLLIN, 0},
                        {client[0], POLLIN, 0},     {client[1], POLLIN, 0},
                        {records_.get(), POLLIN, 0}};
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
        if (send_all(socket_.get(), line)) return;
        // A message that cannot be sent costs the attempt. If hpo is gone, take_messages() sees the end of the stream.
        if (!is_shortage(errno)) return (void)::shutdown(socket_.get(), SHUT_RDWR);
        lose_attempt("cannot send a message to hpo: " + string(std::strerror(errno)));
    }

    /// Ends the attempt, which hpo may repeat, with the reason in the trial's log.
    void lose_attempt(const string& reason) {
        std::fprintf(stderr, "%s\n", reason.c_str());
        signal_command(SIGKILL);
        exit_ = 1;
        done_ = true;
    }

    void take_messages() {
        char buffer[chunk_bytes];
        const ssize_t size = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (size < 0 && is_shortage(errno)) return;
        if (size <= 0) {
            // hpo has ended, and so must the trial.
            signal_command(SIGKILL);
            exit_ = 1;
            done_ = true;
            return;
        }
        messages_.feed({buffer, static_cast<std::size_t>(size)}, [this](std::string_view line) {
            if (const auto message = wire::decode_orchestrator(line))
                std::visit([this](const auto& m) { take(m); }, *message);
        });
        if (messages_.dropped() == 0) return;
        std::fprintf(stderr, "hpo sent a message of more than %zu bytes\n", max_line_bytes);
        signal_command(SIGKILL);
        exit_ = 1;
        done_ = true;
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
                             file_ ? file_->path().c_str() : "the output");
            client_.send(to_worker::Decision{reported.id, reported.report.step,
                                             outcome_ ? to_worker::Action::stop : to_worker::Action::go_on});
            return false;
        }
        client_reports_ = true;
        reader_.reset();
        step_ = std::max(step_, reported.report.step);
        return true;
    }

    /// Returns true if reports of the output are held back until the command's end, since the client may report.
    [[nodiscard]] bool holds_output() const { return client_.used() && !ended_ && !finds_metrics_elsewhere(); }
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
        if (waiting_ || outcome_ || !reader_ || holds_output()) return;
        auto step = reader_->take();
        if (!step) return;
        if (step_ >= run_->steps) return report_beyond_budget(std::move(step->metrics));
        ++step_;
        waiting_ = true;
        Report report;
        report.step = step_;
        report.metrics = std::move(step->metrics);
        const double before = run_->done ? run_->done->seconds.value_or(0) : 0;
        report.seconds = before + step->at;
        const string problem = file_ ? file_->problem() : "";
        report.warning = printable(problem.empty() ? reader_->warning() : file_->path() + ": " + problem);
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

    [[nodiscard]] std::size_t steps_waiting() const { return reader_ && !outcome_ ? reader_->waiting() : 0; }

    // ---- The command.

    void fail(const string& message) {
        finish(Outcome::failed, message);
        done_ = true;
    }

    /// Starts the command. A passing shortage (of processes, descriptors, memory, disk) is waited out with growing
    /// pauses.
    void start() {
        start_at_.reset();
        const auto problem = try_to_start();
        if (!problem) return;
        const auto now = Clock::now();
        if (!problem->passes || now - started_ > longest_shortage)
            return problem->own ? lose_attempt(problem->text) : fail(problem->text);
        liveness_.acted();  // until the shortage has lasted too long
        start_pause_ = std::clamp(2 * start_pause_, first_start_pause, longest_start_pause);
        if (start_pause_ >= told_start_pause && !std::exchange(told_shortage_, true))
            send(from_worker::Log{run_->id, problem->text + ": it is tried again for 10 minutes"});
        start_at_ = now + start_pause_;
    }

    /// Starts the command. Returns the reason if it cannot be started.
    std::optional<script::StartProblem> try_to_start() {
        script::Launch launch(task_, *run_);
        make_reader();
        if (const string path = launch.metrics_file(); !path.empty()) open_file(path);
        if (auto problem = launch.make_command()) return problem;
        if (client_.descriptors()[0] < 0)
            if (const auto listens = client_.listen(std::getenv("HPO_ENDPOINT")); !listens)
                return script::StartProblem{listens.error().message, is_launch_shortage(errno), true};
        auto started = launch.start(prepared_, client_.environment(), file_ ? file_->path() : "");
        if (auto* problem = std::get_if<script::StartProblem>(&started)) return std::move(*problem);
        auto& command = std::get<script::StartedCommand>(started);
        command_ = command.pid;
        output_.open(std::move(command.output), std::move(command.terminal));
        records_ = std::move(command.records);
        started_ = Clock::now();
        send(from_worker::Started{run_->id, 0});
        return std::nullopt;
    }

    /// Prepares reading the file of metrics. A file in the trial's folder was left by an earlier attempt and is
    /// renamed.
    void open_file(const string& path) {
        std::error_code ignored;
        if (path.starts_with(run_->folder))
            std::filesystem::rename(path, path + ".attempt-" + std::to_string(run_->id.attempt - 1), ignored);
        file_.emplace(path, run_->objective.metric);
    }

    void make_reader() {
        if (!task_.reads_metrics) return;
        auto reader = script::make_output_reader(task_.patterns, run_->steps);
        if (!reader) return;
        script::StepNeeds needs{.objective = run_->objective.metric,
                                .others = task_.needed,
                                .reports = task_.reports,
                                .epochs = run_->steps};
        reader_.emplace(*std::move(reader), std::move(needs));
    }

    void take_output(std::size_t max_bytes) {
        const bool any = output_.take(max_bytes, [this](std::string_view bytes, std::size_t stream) {
            if (reader_ && !file_ && !outcome_) reader_->feed(bytes, stream, seconds_since_start());
        });
        if (any) liveness_.acted();
    }

    /// Reads about `max_bytes` bytes of what the launcher of the ranks tells.
    void take_records(std::size_t max_bytes) {
        char buffer[chunk_bytes];
        for (std::size_t taken = 0; records_ && taken < max_bytes;) {
            const ssize_t size = ::read(records_.get(), buffer, sizeof buffer);
            if (size < 0 && errno == EINTR) continue;
            if (size < 0 && errno == EAGAIN) return;
            if (size <= 0) return records_.reset();
            taken += static_cast<std::size_t>(size);
            output_.add_to_log(ranks_.feed({buffer, static_cast<std::size_t>(size)}));
            liveness_.acted();
        }
    }

    /// Reads the new bytes of the file of metrics. `last` is true after the command's end, when the whole rest must be
    /// read.
    void read_file(bool last) {
        if (!file_ || !reader_ || outcome_) return;
        const auto enough = [&] { return !last && reader_->waiting() >= max_waiting_steps; };
        const script::FileMetrics::Record record = [this](const Metrics& metrics, std::string_view text) {
            reader_->add(metrics, text, seconds_since_start());
        };
        if (file_->read(enough, record)) liveness_.acted();
        if (last) file_->finish(record);
    }

    void signal_command(int signal) {
        if (command_ != 0 && !ended_) ::kill(-command_, signal);
    }

    /// Ends the trial with this outcome. The command's exit status no longer counts.
    void end(Outcome outcome) {
        if (outcome_ || !run_) return;
        outcome_ = outcome;
        waiting_ = false;
        if (std::exchange(start_at_, std::nullopt)) ended_ = true;  // the command was never started
        terminate();
    }

    void terminate() {
        signal_command(SIGTERM);
        if (!kill_at_) kill_at_ = Clock::now() + milliseconds(static_cast<std::int64_t>(task_.grace * 1000));
    }

    void take_signals() {
        for (const int signal : signals_.take()) {
            if (signal == SIGCHLD) continue;
            interrupted_ = 128 + signal;
            if (command_ == 0) done_ = true;
            exit_ = interrupted_;
            terminate();
        }
        int status = 0;
        for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
            if (pid == command_ && !ended_) command_ended(status);
    }

    void command_ended(int status) {
        status_ = status;
        ended_ = true;
        kill_at_.reset();
        while (client_.read()) {
        }
        take_output(max_drained_bytes);
        take_records(max_drained_bytes);
        read_file(true);
        if (reader_) reader_->finish(WIFSIGNALED(status));
    }

    // ---- The end.

    void finish(Outcome outcome, const string& message = {}) {
        Metrics closing = reader_ ? reader_->closing() : Metrics();
        closing.insert(beyond_.begin(), beyond_.end());
        // The peak is that of the largest process, or of the largest ones of all ranks. hpo measures the whole tree,
        // but too seldom to see a command that ends at once.
        const std::int64_t peak =
            std::max(std::int64_t{1024} * script::usage_of_ended_children().ru_maxrss, script::peak_of(ranks_.ends()));
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
        if (outcome_) return finish(*outcome_, had_more_ ? script::more_reports_message(*run_, task_.reports) : "");
        const auto [ending, rank] = script::ending_of_ranks(
            ranks_.ends(), {.status = status_, .output = output_.tail(), .steps = step_, .planned = run_->steps});
        if (!held_failure_.empty() && rank == 0) return send(held_failure_);
        if (ending.signal != 0) script::die_of(ending.signal);
        if (ending.status != 0) {
            exit_ = ending.status;
            return;
        }
        if (ending.outcome == Outcome::complete && step_ == 0) return conclude_without_objective(ending.message);
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
        script::ReadInstead instead;
        if (reader_) instead = {reader_->seen(), warning(), reader_->nearest()};
        if (client_.used() && error.empty() && !instead.anything()) return finish(Outcome::complete);
        using script::MetricsFrom;
        const auto from = task_.file == script::shim_reports ? MetricsFrom::shim
                          : file_                            ? MetricsFrom::file
                          : task_.processes > 1              ? MetricsFrom::output_of_rank_0
                                                             : MetricsFrom::output;
        const string missing =
            script::missing_objective(run_->objective.metric, from, file_ ? file_->path() : "", instead);
        if (!error.empty()) return finish(Outcome::failed, error + "; " + missing);
        finish(instead.anything() ? Outcome::complete : Outcome::failed, missing);
    }

    /// Returns why a part of the output, or of the file, was not read.
    [[nodiscard]] string warning() {
        const string problem = file_ ? file_->problem() : "";
        return problem.empty() ? reader_->warning() : problem;
    }

    script::Task task_;
    Descriptor socket_;
    SignalQueue signals_{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    LineSplitter messages_{max_line_bytes};
    script::Liveness liveness_;

    std::optional<to_worker::Run> run_;
    Clock::time_point started_;
    script::ClientLink client_{{.hello = [this](const from_worker::Hello& hello) { greet(hello); },
                                .line = [this](std::string_view line) { take_from_client(line); }}};
    bool client_reports_ = false;  ///< the steps are the client's, not the output's
    bool told_unused_ = false;     ///< the client was told that its reports are not used
    bool finished_ = false;        ///< the client has ended the trial
    string held_failure_;          ///< message of rank 0's client that the end of another rank may have caused
    std::optional<script::StepReader> reader_;
    std::int64_t step_ = 0;           ///< the last step that was reported
    bool waiting_ = false;            ///< true until the decision on that step arrives
    std::optional<Outcome> outcome_;  ///< set if the study or the budget has ended the trial, not the command

    std::optional<script::Prepared> prepared_ = script::take_prepared();
    std::optional<Clock::time_point> start_at_;  ///< when the command is started again, in a shortage
    bool told_shortage_ = false;
    milliseconds start_pause_{0};
    pid_t command_ = 0;
    script::CommandOutput output_;
    Descriptor records_;                       ///< of the launcher of the ranks; empty: the command has no ranks
    script::RankRecords ranks_;                ///< what it has told
    bool had_more_ = false;                    ///< true if the command trains on after its last step
    Metrics beyond_;                           ///< metrics that the command has reported once after its last step
    std::optional<script::MetricsFile> file_;  ///< of the metrics; nothing if they are in the output
    bool ended_ = false;                       ///< true after the command's end
    int status_ = 0;                           ///< of the command, as waitpid() returns it
    std::optional<Clock::time_point> kill_at_;
    int interrupted_ = 0;  ///< exit status after a signal to the adapter; 0 if none has arrived

    bool done_ = false;
    int exit_ = 0;
};

Descriptor connect_to(const char* endpoint) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (endpoint == nullptr || std::strlen(endpoint) >= sizeof address.sun_path) return {};
    std::strcpy(address.sun_path, endpoint);
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    return socket;
}

}  // namespace

int run_script(int argc, char** argv) {
    if (argc != 3) return cannot_start;
    script::Task task = script::parse_task(argv[2]);
    const string& program = task.command.at(0);
    if (script::placeholders(program).empty() && script::path_of(program).empty()) {
        std::fprintf(stderr, "cannot start %s: %s\n", printable(program).c_str(), std::strerror(errno));
        return cannot_start;
    }
    Descriptor socket = connect_to(std::getenv("HPO_ENDPOINT"));
    if (!socket) {
        std::fprintf(stderr, "cannot reach hpo: %s\n", std::strerror(errno));
        return cannot_start;
    }
    return Adapter(std::move(task), std::move(socket)).run();
}

}  // namespace hpo
