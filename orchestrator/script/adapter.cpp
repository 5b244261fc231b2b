#include "orchestrator/script/adapter.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "hpo/lines.hpp"
#include "hpo/printable.hpp"
#include "hpo/send_all.hpp"
#include "hpo/shortage.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/child.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/script/client_link.hpp"
#include "orchestrator/script/ending.hpp"
#include "orchestrator/script/home.hpp"
#include "orchestrator/script/metrics_file.hpp"
#include "orchestrator/script/output.hpp"
#include "orchestrator/script/preload.hpp"
#include "orchestrator/script/syntax/missing_objective.hpp"
#include "orchestrator/script/syntax/steps.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/script/task.hpp"
#include "orchestrator/script/terminal.hpp"
#include "orchestrator/script/trial_values.hpp"

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
constexpr double busy_share = 0.01;  ///< of processor time since the last check, from which on the command is alive
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
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        ::signal(SIGPIPE, SIG_IGN);
        sigset_t watched;
        sigemptyset(&watched);
        for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&watched, signal);
        ::sigprocmask(SIG_SETMASK, &watched, nullptr);
        signals_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
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
        pollfd fds[] = {{socket_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {outputs[0], POLLIN, 0},
                        {outputs[1], POLLIN, 0},    {client[0], POLLIN, 0},      {client[1], POLLIN, 0}};
        if (::poll(fds, std::size(fds), static_cast<int>(timeout.count())) < 0) return;
        if (fds[0].revents != 0) take_messages();
        if (fds[4].revents != 0) client_.accept();
        if (fds[5].revents != 0) client_.read();
        if (fds[2].revents != 0 || fds[3].revents != 0) take_output(chunk_bytes);
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

    void take(const to_worker::Welcome& m) {
        alive_every_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(m.alive_every));
    }
    void take(const to_worker::Plan&) {}
    void take(const to_worker::Cores&) {}
    void take(const to_worker::Run& m) {
        if (run_) return;
        run_ = m;
        started_ = checked_alive_ = Clock::now();
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
        const std::chrono::duration<double> alive_every = alive_every_;
        client_.send(to_worker::Welcome{hello.version, alive_every.count()});
        client_.send(*run_);
    }

    void take_from_client(std::string_view line) {
        active_ = true;
        const auto message = wire::decode_worker(line);
        const auto* reported = message ? std::get_if<from_worker::Reported>(&*message) : nullptr;
        if (reported != nullptr && !takes_report(*reported)) return;
        const auto* finished = message ? std::get_if<from_worker::Finished>(&*message) : nullptr;
        if (finished != nullptr) client_.send(to_worker::Shutdown{});  // there is no other trial
        if (finished != nullptr && leaves_end_to_output(*finished)) {
            beyond_.insert(finished->values.begin(), finished->values.end());
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

    /// From a client's first report on, the output is not read. A study that says where its metrics are has them from
    /// there if that comes first.
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

    /// Tells hpo that the command is alive if it has written or computed anything since the last message. A command
    /// that hangs does neither.
    void send_alive() {
        if (!run_ || Clock::now() - checked_alive_ < alive_every_) return;
        checked_alive_ = Clock::now();
        // The sum can also shrink, namely when a process ends that nobody waits for.
        const double computed = processor_seconds_below(::getpid()) + seconds_of_ended_children();
        const double busy = busy_share * std::chrono::duration<double>(alive_every_).count();
        if (!active_ && std::abs(computed - computed_) < busy) return;
        computed_ = computed;
        active_ = false;
        send(from_worker::Alive{run_->id, "running"});
    }

    static rusage usage_of_ended_children() {
        rusage usage{};
        ::getrusage(RUSAGE_CHILDREN, &usage);
        return usage;
    }
    static double seconds_of_ended_children() {
        const rusage usage = usage_of_ended_children();
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
        };
        return seconds(usage.ru_utime) + seconds(usage.ru_stime);
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

    /// Returns the folder in which the command runs (`worker.cwd`), and creates it if necessary. Returns an empty path
    /// if the study does not set it.
    string working_folder(const script::Lookup& lookup) {
        if (task_.cwd.empty()) return {};
        const auto folder = std::filesystem::path(task_.home) / script::fill(task_.cwd, lookup).value_or("");
        std::error_code ignored;
        std::filesystem::create_directories(folder, ignored);
        return folder.string();
    }

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
        active_ = true;  // until the shortage has lasted too long
        start_pause_ = std::clamp(2 * start_pause_, first_start_pause, longest_start_pause);
        if (start_pause_ >= told_start_pause && !std::exchange(told_shortage_, true))
            send(from_worker::Log{run_->id, problem->text + ": it is tried again for 10 minutes"});
        start_at_ = now + start_pause_;
    }

    /// The reason why a command could not be started.
    struct StartProblem {
        string text;
        bool passes;       ///< true for a shortage that may end soon
        bool own = false;  ///< true if hpo failed, not the script: a file or socket of its own cannot be made
    };
    /// Starts the command. Returns the reason if it cannot be started.
    std::optional<StartProblem> try_to_start() {
        const to_worker::Run& run = *run_;
        std::error_code ignored;
        if (!run.folder.empty()) std::filesystem::create_directories(run.folder, ignored);
        script::TrialValues values(*run_, task_.home);
        const script::Lookup lookup = std::ref(values);
        const string folder = working_folder(lookup);
        for (const auto& [name, text] : task_.files)
            values.write(name, script::fill_file(text, script::format_of(name),
                                                 [&](const string& placeholder) { return values.value(placeholder); }));
        open_file(folder, lookup);

        supervisor::Start order;
        const auto is_trial_file = [this](const string& argument) { return task_.files.contains(argument); };
        const auto command =
            folder.empty() ? task_.command : script::with_absolute_paths(task_.command, task_.home, is_trial_file);
        order.command = script::fill(command, task_.optional, lookup);
        order.folder = folder;
        if (!values.problem().empty())
            return StartProblem{values.problem(), is_launch_shortage(0, values.problem()), true};
        if (const string problem = script::first_line_problem(order.command.front()); !problem.empty())
            return StartProblem{printable(problem), false};
        if (client_.descriptors()[0] < 0)
            if (const auto listens = client_.listen(std::getenv("HPO_ENDPOINT")); !listens)
                return StartProblem{listens.error().message, is_launch_shortage(errno), true};
        order.environment = environment_of(run, lookup);
        script::Terminal terminal = terminal_for(order);
        // A terminal that the user asks for is a whole one. Others read from nothing.
        const int input = task_.terminal == TerminalUse::on ? terminal.program.get() : -1;
        supervisor::Child child = prepared_ ? script::start_prepared(*std::move(prepared_), std::move(order))
                                            : supervisor::start_child(order, input, terminal.program.get());
        // Memory that hpo itself lacks is not the script's, whose reasons name it otherwise.
        const char* why =
            child.error == ENOMEM ? "the system has too little memory for another process" : std::strerror(child.error);
        if (child.pid == 0) {
            prepared_.reset();  // a second start is an ordinary one
            return StartProblem{"cannot " + child.failed + ": " + why, is_launch_shortage(child.error), child.own};
        }
        command_ = child.pid;
        output_.open(std::move(child.output), std::move(terminal.reader));
        started_ = Clock::now();
        send(from_worker::Started{run.id, 0});
        return std::nullopt;
    }

    /// Prepares reading the file of metrics, if there is one, and otherwise the output. A file in the trial's folder
    /// was left by an earlier attempt and is renamed.
    void open_file(const string& folder, const script::Lookup& lookup) {
        make_reader();
        const string name = script::fill(task_.file, lookup).value_or("");
        if (name.empty()) return;
        const string path = (std::filesystem::path(folder) / name).string();
        std::error_code ignored;
        if (path.starts_with(run_->folder))
            std::filesystem::rename(path, path + ".attempt-" + std::to_string(run_->id.attempt - 1), ignored);
        file_.emplace(path, run_->objective.metric);
    }

    [[nodiscard]] std::vector<string> environment_of(const to_worker::Run& run, const script::Lookup& lookup) const {
        std::vector<string> environment;
        for (const auto& [name, text] : task_.environment)
            environment.push_back(name + "=" + script::fill(text, lookup).value_or(""));
        for (const auto& [name, value] : run.params)
            if (!is_null(value)) environment.push_back(script::variable_of(name) + "=" + to_text(value));
        for (const string& variable : client_.environment()) environment.push_back(variable);
        environment.push_back("HPO_SEED=" + std::to_string(run.seed % script::seeds));
        // Stand-ins need all parameters with their types, and the file for their reports.
        environment.push_back("HPO_TRIAL=" + std::to_string(run.id.trial));
        environment.push_back("HPO_PARAMS=" +
                              wire::from(run.params).dump(-1, ' ', true, wire::Json::error_handler_t::replace));
        environment.push_back("HPO_REPORTS=" +
                              (task_.file == script::shim_reports && file_ ? file_->path() : string()));
        return environment;
    }

    /// Opens a terminal for the command if it profits from one. Otherwise, or if none can be opened, returns an empty
    /// one and the command prints to the pipe.
    script::Terminal terminal_for(supervisor::Start& order) {
        const bool wanted = task_.terminal == TerminalUse::on ||
                            (task_.terminal == TerminalUse::automatic && script::profits_from_terminal(order.command));
        if (!wanted || prepared_) return {};
        auto terminal = script::open_terminal();
        if (!terminal) return {};
        for (const string& variable : script::terminal_variables)
            if (!task_.own_variables.contains(variable.substr(0, variable.find('='))))
                order.environment.push_back(variable);
        return *std::move(terminal);
    }

    void make_reader() {
        auto reader = script::make_output_reader(task_.patterns);
        if (!reader) return;
        script::StepNeeds needs{.objective = run_->objective.metric,
                                .others = task_.needed,
                                .reports = task_.reports,
                                .epochs = run_->steps};
        reader_.emplace(*std::move(reader), std::move(needs));
    }

    void take_output(std::size_t max_bytes) {
        active_ |= output_.take(max_bytes, [this](std::string_view bytes, std::size_t stream) {
            if (reader_ && !file_ && !outcome_) reader_->feed(bytes, stream, seconds_since_start());
        });
    }

    /// Reads what the command has appended to the file of metrics. `last` is true after the command's end, when all of
    /// it must be read.
    void read_file(bool last) {
        if (!file_ || !reader_ || outcome_) return;
        const auto enough = [&] { return !last && reader_->waiting() >= max_waiting_steps; };
        const script::FileMetrics::Record record = [this](const Metrics& metrics, std::string_view text) {
            reader_->add(metrics, text, seconds_since_start());
        };
        active_ |= file_->read(enough, record);
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
        signalfd_siginfo info;
        while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
            if (info.ssi_signo == SIGCHLD) continue;
            interrupted_ = 128 + static_cast<int>(info.ssi_signo);
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
        read_file(true);
        if (reader_) reader_->finish();
    }

    // ---- The end.

    void finish(Outcome outcome, const string& message = {}) {
        Metrics closing = reader_ ? reader_->closing() : Metrics();
        closing.insert(beyond_.begin(), beyond_.end());
        // Of the largest process. hpo measures all of them, but too seldom to see a command that ends at once.
        const std::int64_t peak = std::int64_t{1024} * usage_of_ended_children().ru_maxrss;
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
        const script::Ending ending =
            script::ending_of({.status = status_, .output = output_.tail(), .steps = step_, .planned = run_->steps});
        if (ending.signal != 0) return raise_fatally(ending.signal);
        if (ending.status != 0) {
            exit_ = ending.status;
            return;
        }
        if (ending.outcome == Outcome::complete && step_ == 0) return conclude_without_objective(ending.message);
        finish(ending.outcome, ending.message);
    }

    /// The command ended well without the objective. A command that has reported something else is complete: hpo then
    /// knows that the study looks for the wrong metric. One that has reported nothing has failed,
    /// and so has one with an `error` at the end of its output.
    void conclude_without_objective(const string& error) {
        script::ReadInstead instead;
        if (reader_) instead = {reader_->seen(), warning(), reader_->nearest()};
        if (client_.used() && error.empty() && !instead.anything()) return finish(Outcome::complete);
        const auto from = task_.file == script::shim_reports ? script::MetricsFrom::shim
                          : file_                            ? script::MetricsFrom::file
                                                             : script::MetricsFrom::output;
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

    /// Ends this process by the signal that ended the command, so that the supervisor reports the same death.
    static void raise_fatally(int signal) {
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        ::signal(signal, SIG_DFL);
        sigset_t empty;
        sigemptyset(&empty);
        ::sigprocmask(SIG_SETMASK, &empty, nullptr);
        ::raise(signal);
        ::_exit(128 + signal);
    }

    script::Task task_;
    Descriptor socket_;
    Descriptor signals_;
    LineSplitter messages_{max_line_bytes};
    Clock::duration alive_every_ = 5s;
    Clock::time_point checked_alive_;
    bool active_ = false;  ///< true if the command has written anything since the last Alive
    double computed_ = 0;  ///< processor seconds of the command at the last Alive

    std::optional<to_worker::Run> run_;
    Clock::time_point started_;
    script::ClientLink client_{{.hello = [this](const from_worker::Hello& hello) { greet(hello); },
                                .line = [this](std::string_view line) { take_from_client(line); }}};
    bool client_reports_ = false;  ///< the steps are the client's, not the output's
    bool told_unused_ = false;     ///< that the client's reports are not used
    bool finished_ = false;        ///< the client has ended the trial
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
    bool had_more_ = false;                    ///< true if the command trains on after its last step
    Metrics beyond_;                           ///< that the command has reported once after its last step
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
