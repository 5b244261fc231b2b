#include "orchestrator/cluster/agent.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/descriptor.hpp"
#include "hpo/lines.hpp"
#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cluster/codec.hpp"
#include "orchestrator/cluster/stream.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/text.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/execution/limits.hpp"
#include "orchestrator/execution/local.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/preview/script_ready.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

using namespace cluster;
using std::chrono::milliseconds;

constexpr milliseconds ended_within{2000};
constexpr int most_failed_starts = 3;  ///< in a row, of workers that exit before their hello
constexpr const char* cure = "; mend this there, or leave the host out";
constexpr std::size_t most_held = 1024 * 1024;  ///< bytes that the pipe has not taken yet

/// The study as this host runs it: several hosts share `resources.parallel`.
Result<Study> study_of(const to_agent::Setup& setup) {
    auto study = parse_stored_study(setup.study, "the orchestrator's study");
    if (!study) return study.error();
    if (auto& parallel = study->resources.parallel; parallel && setup.hosts > 1)
        parallel = (*parallel + setup.hosts - 1) / setup.hosts;
    return study;
}

/// Returns the tag of this agent's workers: its host's tag with the agent's PID. An agent that was suspended and given
/// up may wake up beside its successor, which has ended its workers. Its search for leftover processes must not find
/// the workers of the successor.
std::string own_tag(const to_agent::Setup& setup) { return setup.tag + ":" + std::to_string(::getpid()); }

class Agent {
   public:
    Agent()
        : input_(loop_, ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)),
          output_(loop_, ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
        error_code ignored;
        output_.non_blocking(true, ignored);
        // Output of a library must not come between frames.
        const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
        ::dup2(null.get(), STDIN_FILENO);
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
    }

    int run() {
        signals_.async_wait([this](error_code error, int) {
            if (!error) leave("its host asked it to end", false);
        });
        queue(cluster::encode(Opening{stream_version, version}));
        wait_for_orchestrator();
        read();
        while (!over_) loop_.run_one();
        registry_.reset();
        if (executor_) executor_->end(ended_within);
        executor_.reset();
        flush();
        return status_;
    }

   private:
    // ---- The wire.

    void read() {
        input_.async_read_some(asio::buffer(buffer_), [this](error_code error, std::size_t size) {
            if (error) {  // the orchestrator has gone
                over_ = true;
                return;
            }
            wait_for_orchestrator();
            const bool valid = stream_.feed(std::string_view(buffer_).substr(0, size),
                                            [this](std::uint8_t kind, std::string_view bytes) { take(kind, bytes); });
            if (!valid) return leave("the orchestrator speaks another version", true);
            read();
        });
    }

    void take(std::uint8_t kind, std::string_view bytes) {
        if (over_) return;
        auto message = decode_to_agent(kind, bytes);
        if (!message) return leave("it did not understand a message", true);
        std::visit(Overloaded{
                       [&](const to_agent::Setup& setup) { begin(setup); },
                       [](const to_agent::Heartbeat&) {},
                       [&](const auto& order) {
                           if (executor_) carry_out(order);
                       },
                   },
                   *message);
    }

    void send(const FromAgent& message) { queue(cluster::encode(message)); }

    /// Queues bytes for the orchestrator. Workers that send faster than it reads wait, since their messages are not
    /// read meanwhile.
    void queue(const std::string& bytes) {
        queued_ += bytes;
        write_soon();
        while (queued_.size() > most_held && !over_) {
            pollfd room{output_.native_handle(), POLLOUT, 0};
            const int ready = ::poll(&room, 1, static_cast<int>(agent_waits * 1000));
            if (ready == 1)
                write_some();
            else if (ready == 0)
                over_ = true, status_ = agent_heard_nothing;
            else if (errno != EINTR)
                over_ = true;
        }
    }

    /// Sends the messages of one event together, once the event has been handled.
    void write_soon() {
        if (waits_to_write_ || std::exchange(writes_soon_, true)) return;
        asio::post(loop_, [this] {
            writes_soon_ = false;
            if (!waits_to_write_) write();
        });
    }

    /// Writes as much as the pipe takes now. A failure means that the orchestrator is gone.
    void write_some() {
        error_code error;
        queued_.erase(0, output_.write_some(asio::buffer(queued_), error));
        if (error && error != asio::error::would_block) over_ = true;
    }

    void write() {
        write_some();
        if (queued_.empty() || over_) return;
        waits_to_write_ = true;
        output_.async_wait(asio::posix::stream_descriptor::wait_write, [this](error_code error) {
            waits_to_write_ = false;
            if (!error) write();
        });
    }

    /// Gives the last words a moment to leave.
    void flush() {
        loop_.restart();
        input_.close();
        clock_timer_.cancel();
        silence_.cancel();
        signals_.cancel();
        loop_.run_for(std::chrono::seconds(1));
    }

    void leave(const std::string& reason, bool own_fault) {
        if (over_) return;
        end_with(own_fault ? 1 : 0, reason, own_fault);
    }
    void end_with(int status, const std::string& reason, bool own_fault) {
        over_ = true;
        status_ = status;
        send(from_agent::Goodbye{reason, own_fault});
    }

    void wait_for_orchestrator() {
        silence_.expires_after(std::chrono::duration_cast<milliseconds>(Seconds(agent_waits)));
        silence_.async_wait([this](error_code error) {
            if (!error && !over_)
                end_with(agent_heard_nothing, "it heard nothing from the orchestrator for 25 s", false);
        });
    }

    // ---- The study.

    void refuse(const std::string& reason) {
        if (std::exchange(over_, true)) return;
        status_ = 1;
        std::fprintf(stderr, "hpo: %s\n", printable(reason).c_str());  // for who has started it
        send(from_agent::Refused{reason});
    }

    /// Returns true if nothing follows the input that has been read: a successor may be at work by now.
    bool has_been_left() {
        pollfd input{input_.native_handle(), POLLIN, 0};
        return ::poll(&input, 1, 0) == 1 && (input.revents & POLLHUP) != 0;
    }

    void begin(const to_agent::Setup& setup) {
        if (executor_) return leave("it was set up twice", true);
        if (has_been_left()) {
            over_ = true;
            return;
        }
        std::error_code failed;
        if (!std::filesystem::is_directory(setup.folder, failed))
            return refuse("the study's folder " + setup.folder +
                          " is not there: all hosts must see it under the same path (set HPO_RUNS to a shared folder)");
        if (::access(setup.folder.c_str(), W_OK) != 0)
            return refuse("the study's folder " + setup.folder + " is there, but this user cannot write to it" + cure);
        std::filesystem::current_path(setup.current,
                                      failed);  // a host without it may still have all files of the study
        auto study = study_of(setup);
        if (!study) return refuse(study.error().message);
        study_ = std::make_unique<Study>(*std::move(study));
        const ScriptWorker* script = study_->script();
        if (script && !script->home.empty() && !std::filesystem::is_directory(script->home, failed))
            return refuse("the folder of the study's files, " + script->home + ", is not there");
        if (const std::string missing = what_is_missing(); !missing.empty()) return refuse(missing);
        if (!sweep(setup.tag))
            return refuse("processes of an earlier run would not die; see ps for HPO_TAG=" + setup.tag);
        const auto tell = [this](const DeviceNotice& notice) { send(from_agent::Notice{notice.warning, notice.text}); };
        auto machine = open_machine(*study_, programs_, tell);
        if (!machine) return refuse(machine.error().message);
        machine_ = std::make_unique<LiveMachine>(*std::move(machine));
        plan_ = plan_workers(*study_, machine_->host());
        LocalOptions options{.tag = own_tag(setup), .program = programs_.hpo, .limits = raise_soft_limits()};
        options.alive_every = setup.alive_every;
        auto executor = LocalExecutor::make(
            loop_, options, [this](WorkerIndex slot, const execution::Event& event) { happened(slot, event); });
        if (!executor) return refuse(executor.error().message);
        executor_ = *std::move(executor);
        if (auto registry = SessionRegistry::open()) registry_.emplace(*std::move(registry));
        send(from_agent::Hello{host_name(), plan_.workers, machine_->on_device(), reading()});
        tick();
    }

    /// Returns why no worker can compute on this host for any trial: the program, a file or the data are missing.
    [[nodiscard]] std::string what_is_missing() const {
        if (const auto problem = missing_program(*study_)) return problem->message + cure;
        if (const auto problem = missing_data(*study_)) return *problem + cure;
        return {};
    }

    /// Returns the reason if an event shows that this host is of no use, whichever trial it gets.
    std::string own_fault(WorkerIndex slot, const execution::Event& event) {
        if (const auto* failed = std::get_if<execution::LaunchFailed>(&event))
            return is_launch_shortage(failed->error, failed->message) ? "" : failed->message + cure;
        if (const auto* received = std::get_if<execution::Received>(&event)) {
            const auto* finished = std::get_if<from_worker::Finished>(&received->message);
            return finished != nullptr && finished->outcome == Outcome::failed ? what_is_missing() : "";
        }
        const auto* exited = std::get_if<execution::Exited>(&event);
        if (exited == nullptr || ended_well(*exited) || ending_.contains(slot)) return {};
        if (const std::string missing = what_is_missing(); !missing.empty()) return missing;
        if (!failed_to_start(slot, *exited) || failed_starts_ + 1 < most_failed_starts) return {};
        const std::string printed = exited->log_tail.substr(exited->log_tail.rfind('\n') + 1);
        return "no worker starts there: " +
               (!printed.empty() ? printed
                : exited->signal ? "it died of " + signal_name(exited->signal)
                                 : "it exited with status " + std::to_string(exited->code) + " before it said hello");
    }
    static bool ended_well(const execution::Exited& exited) { return exited.code == 0 && exited.signal == 0; }
    [[nodiscard]] bool failed_to_start(WorkerIndex slot, const execution::Exited& exited) const {
        const bool greeted = std::find(slots_.begin(), slots_.end(), slot) != slots_.end();
        return !greeted && !ended_well(exited) && !ending_.contains(slot) && !is_launch_shortage(0, exited.log_tail);
    }

    void happened(WorkerIndex slot, execution::Event event) {
        if (over_) return;
        // The event is not passed on: with the agent, the orchestrator queues the host's trials again.
        if (const std::string reason = own_fault(slot, event); !reason.empty()) return refuse(reason);
        if (auto* exited = std::get_if<execution::Exited>(&event); exited && failed_to_start(slot, *exited)) {
            ++failed_starts_;
            exited->host_lost = true;
        }
        if (std::holds_alternative<execution::Ready>(event)) failed_starts_ = 0;
        if (const auto* ready = std::get_if<execution::Ready>(&event)) {
            machine_->worker_started(slot, ready->hello.pid);
            slots_.push_back(slot);
        }
        const bool ended =
            std::holds_alternative<execution::Exited>(event) || std::holds_alternative<execution::LaunchFailed>(event);
        if (ended) {
            machine_->worker_ended(slot);
            std::erase(slots_, slot);
            ending_.erase(slot);
            send(reading());  // the worker's memory is free for the next one
        }
        send(from_agent::Happened{slot, event});
    }

    void carry_out(const to_agent::Launch& order) {
        const LaunchSpec spec =
            order.spec.command.empty()
                ? worker_launch(*study_, programs_, plan_, order.slot,
                                order.spec.devices.empty() ? Target{} : machine_->target(order.spec.devices))
                : order.spec;
        executor_->launch(order.slot, spec);
    }
    void carry_out(const to_agent::Send& order) {
        std::vector<OrchestratorMessage> messages;
        LineSplitter lines(most_payload);
        lines.feed(order.lines, [&](std::string_view line) {
            if (auto message = wire::decode_orchestrator(line)) messages.push_back(*std::move(message));
        });
        executor_->send(order.slot, messages);
    }
    void carry_out(const to_agent::LogTo& order) { executor_->log_to(order.slot, order.file); }
    void carry_out(const to_agent::Terminate& order) {
        ending_.insert(order.slot);
        executor_->terminate(order.slot, order.grace);
    }
    void carry_out(const to_agent::Kill& order) {
        ending_.insert(order.slot);
        executor_->kill(order.slot);
    }
    void carry_out(const to_agent::Holds& order) {
        if (registry_) (void)registry_->publish({study_->name, ::getpid(), order.devices, order.waits});
    }

    // ---- The machine.

    from_agent::Reading reading() {
        machine_->take_other_sessions(registry_ ? registry_->others() : read_sessions());
        const Machine machine = machine_->read(slots_);
        from_agent::Reading reading{machine.hosts.front(), machine.accelerators, {}, {}};
        const auto& devices = machine_->readings().devices;
        for (const Accelerator& one : machine.accelerators)
            reading.hidden.push_back(std::any_of(devices.begin(), devices.end(), [&](const DeviceReading& device) {
                return device.id == one.id && !device.processes;
            }));
        const std::vector<Footprint> used = machine_->usage(slots_);
        for (std::size_t i = 0; i < slots_.size(); ++i)
            reading.workers.push_back({slots_[i], used[i].host_bytes, used[i].device_bytes});
        return reading;
    }

    void tick() {
        for (const DeviceNotice& notice : machine_->poll(clock_.now()))
            send(from_agent::Notice{notice.warning, notice.text});
        (void)executor_->keep_folder();
        if (!registry_ || registry_->lost()) {
            registry_.reset();
            if (auto registry = SessionRegistry::open()) registry_.emplace(*std::move(registry));
        }
        send(reading());
        clock_timer_.expires_after(std::chrono::seconds(1));
        clock_timer_.async_wait([this](error_code error) {
            if (!error && !over_) tick();
        });
    }

    asio::io_context loop_{1};
    asio::posix::stream_descriptor input_, output_;
    asio::signal_set signals_{loop_, SIGTERM, SIGHUP};
    asio::steady_timer silence_{loop_}, clock_timer_{loop_};
    StreamReader stream_;
    std::string buffer_ = std::string(read_at_once, '\0'), queued_;
    bool waits_to_write_ = false, writes_soon_ = false;
    bool over_ = false;
    int status_ = 0;

    SteadyClock clock_;
    Programs programs_ = installed_programs();
    std::unique_ptr<Study> study_;
    std::unique_ptr<LiveMachine> machine_;
    WorkerPlan plan_;
    std::optional<SessionRegistry> registry_;
    std::vector<WorkerIndex> slots_;  ///< of workers that have said hello
    std::set<WorkerIndex> ending_;    ///< slots of workers that the orchestrator ends
    int failed_starts_ = 0;
    std::unique_ptr<LocalExecutor> executor_;
};

}  // namespace

int run_agent() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGINT, SIG_IGN);  // for the orchestrator, which decides
    return Agent().run();
}

}  // namespace hpo
