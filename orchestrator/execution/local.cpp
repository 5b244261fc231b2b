#include "orchestrator/execution/local.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "orchestrator/execution/adoptions.hpp"
#include "orchestrator/execution/connection.hpp"
#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/process_table.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/random_token.hpp"
#include "orchestrator/execution/supervisor_link.hpp"
#include "orchestrator/execution/worker_log.hpp"

namespace hpo {
namespace asio = boost::asio;
using boost::system::error_code;
using Unix = asio::local::stream_protocol;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t most_unidentified = 64;  ///< connections that have not sent a hello
constexpr seconds hello_within{10};            ///< after a connection was made
constexpr seconds exit_after_close_within{3};  ///< time for a worker that has closed its connection
constexpr seconds launcher_exits_within{60};   ///< the same, if a process below it had the connection
constexpr seconds last_messages_within{1};     ///< time for messages of a worker that has exited
constexpr seconds malformed_lines_every{1};
constexpr milliseconds sweep_again{5};
constexpr milliseconds destruction_within{2000};

/// State of one worker index. `launches` distinguishes timers of the present worker from those of an earlier
/// one.
struct LocalWorker {
    explicit LocalWorker(WorkerIndex n, std::int64_t log_bytes) : number(n), log(log_bytes) {}

    WorkerIndex number;
    std::int64_t launches = 0;
    bool occupied = false;
    bool launches_others = false;  ///< a process below it, such as rank 0, has the connection
    std::string command;
    std::string token;  ///< until hello
    std::string cause;
    std::shared_ptr<SupervisorLink> supervisor;
    std::shared_ptr<WorkerConnection> connection;
    std::optional<execution::Exited> exited;  ///< reported once the connection has been read to its end
    WorkerLog log;
    execution::MalformedLines malformed;
    bool malformed_timer = false;
};

}  // namespace

class LocalExecutor::Impl {
   public:
    Impl(asio::io_context& loop, LocalOptions options, ExecutionListener listener, PrivateFolder folder)
        : options_(std::move(options)),
          listener_(std::move(listener)),
          folder_(std::move(folder)),
          loop_(loop),
          acceptor_(loop) {
        listen();
    }

    ~Impl() { end(destruction_within); }

    std::vector<pid_t> end(milliseconds within) {
        if (!alive_) return {};
        alive_.reset();
        for (const auto& connection : unidentified_) connection->close();
        for (auto& [number, worker] : workers_) {
            if (worker.connection) worker.connection->close();
            if (worker.supervisor) worker.supervisor->close();
        }
        const auto deadline = std::chrono::steady_clock::now() + within;
        bool stuck = false;
        for (auto& [number, worker] : workers_) {
            if (!worker.supervisor || worker.supervisor->wait(deadline)) continue;
            stuck = true;
            worker.supervisor->destroy();
        }
        const auto kill_left = [this] { return kill_tagged(options_.tag) + adoptions_.kill(); };
        if (!stuck || until_none_is_left(kill_left, within)) return {};
        return tagged(options_.tag);
    }

    void launch(WorkerIndex number, const LaunchSpec& spec) {
        LocalWorker& worker = workers_.try_emplace(number, number, options_.log_bytes).first->second;
        if (worker.occupied) throw std::logic_error("a worker with this index is still running");
        worker.occupied = true;
        ++worker.launches;
        worker.cause.clear();
        worker.malformed = {};
        worker.command = spec.command.empty() ? std::string() : spec.command[0];
        std::string what = "start " + worker.command;
        int error = 0;
        if (const auto kept = keep_folder(); !kept)
            error = EIO, what += " (" + kept.error().message + ")";
        else
            error = start(worker, spec);
        if (error != 0) later([this, &worker, error, what] { launch_failed(worker, error, what); });
    }

    void send(WorkerIndex number, std::span<const OrchestratorMessage> messages) {
        LocalWorker* worker = busy(number);
        if (worker == nullptr || !worker->connection || worker->connection->send(messages)) return;
        kill_because(*worker, "it did not read its messages");
    }

    void log_to(WorkerIndex number, const std::filesystem::path& file) {
        workers_.try_emplace(number, number, options_.log_bytes).first->second.log.open(file);
    }

    void terminate(WorkerIndex number, double grace) {
        if (LocalWorker* worker = busy(number); worker != nullptr && worker->supervisor)
            worker->supervisor->order(supervisor::Order::terminate,
                                      std::to_string(static_cast<std::int64_t>(grace * 1000)));
    }

    void kill(WorkerIndex number) {
        if (LocalWorker* worker = busy(number); worker != nullptr && worker->supervisor)
            worker->supervisor->order(supervisor::Order::kill);
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

    Result<void> keep_folder() {
        if (::access(endpoint().c_str(), F_OK) == 0) return {};
        auto folder = PrivateFolder::make(options_.tag);
        if (!folder) return folder.error();
        folder_ = *std::move(folder);
        try {
            listen();
        } catch (const boost::system::system_error& error) {
            return Error{std::string("cannot listen for workers: ") + error.what()};
        }
        return {};
    }

   private:
    [[nodiscard]] std::string endpoint() const { return (folder_.path() / "workers.sock").string(); }

    LocalWorker* busy(WorkerIndex number) {
        const auto found = workers_.find(number);
        return found == workers_.end() || !found->second.occupied ? nullptr : &found->second;
    }

    void notify(LocalWorker& worker, const execution::Event& event) { listener_(worker.number, event); }

    /// Runs `act` from the event loop, unless this executor is gone by then.
    template <class F>
    void later(F&& act) {
        asio::post(loop_, [alive = std::weak_ptr<bool>(alive_), act = std::forward<F>(act)] {
            if (!alive.expired()) act();
        });
    }
    template <class F>
    void after(std::chrono::steady_clock::duration delay, F&& act) {
        const auto timer = timers_.emplace(timers_.end(), loop_, delay);
        timer->async_wait([this, timer, alive = std::weak_ptr<bool>(alive_), act = std::forward<F>(act)](error_code) {
            if (alive.expired()) return;
            timers_.erase(timer);
            act();
        });
    }
    /// Does the same, unless the worker that runs now has ended by then.
    template <class F>
    void after(LocalWorker& worker, std::chrono::steady_clock::duration delay, F&& act) {
        after(delay, [&worker, launch = worker.launches, act = std::forward<F>(act)] {
            if (worker.occupied && worker.launches == launch) act();
        });
    }

    int start(LocalWorker& worker, const LaunchSpec& spec) {
        supervisor::Start order;
        order.command = spec.command;
        order.folder = spec.folder.string();
        order.cpus = spec.cpus;
        order.preload = spec.preload;
        for (const auto& [name, value] : spec.environment) order.environment.push_back(name + "=" + value);
        worker.token = random_token();
        order.environment.push_back("HPO_ENDPOINT=" + endpoint());
        order.environment.push_back("HPO_TOKEN=" + worker.token);
        for (const auto* texts : {&order.command, &order.environment, &order.preload})
            for (const std::string& text : *texts)
                if (text.find('\0') != std::string::npos) return EINVAL;
        if (!worker.supervisor) {
            worker.supervisor = std::make_shared<SupervisorLink>(
                loop_, SupervisorLink::Callbacks{[this, &worker](supervisor::Event kind, std::string_view payload) {
                                                     on_supervisor_event(worker, kind, payload);
                                                 },
                                                 [this, &worker](int failed) { on_supervisor_gone(worker, failed); }});
            if (const int error = worker.supervisor->start(options_.program, tag_of(worker), options_.limits);
                error != 0) {
                worker.supervisor.reset();
                return error;
            }
        }
        worker.supervisor->order(supervisor::Order::start, pack(order));
        return 0;
    }

    [[nodiscard]] std::string tag_of(const LocalWorker& worker) const {
        return options_.tag + ":" + std::to_string(worker.number);
    }

    void on_supervisor_event(LocalWorker& worker, supervisor::Event kind, std::string_view payload) {
        if (kind == supervisor::Event::output) return worker.log.append(payload);
        if (kind == supervisor::Event::notice) return notify(worker, execution::Notice{std::string(payload)});
        const auto fields = supervisor::unpack(payload);
        if (kind == supervisor::Event::failed) return launch_failed(worker, std::stoi(fields.at(0)), fields.at(1));
        execution::Exited exited;
        exited.code = std::stoi(fields.at(0));
        exited.signal = std::stoi(fields.at(1));
        exited.out_of_memory_kill = fields.at(2) == "1";
        exited.peak_bytes = std::stoll(fields.at(3));
        end(worker, std::move(exited));
    }

    void launch_failed(LocalWorker& worker, int error, const std::string& what) {
        worker.occupied = false;
        worker.log.open({});
        notify(worker, execution::LaunchFailed{error, "cannot " + what + ": " + std::strerror(error)});
    }

    /// The process is gone; messages that it sent before may still be unread.
    void end(LocalWorker& worker, execution::Exited exited) {
        worker.exited = std::move(exited);
        if (!worker.connection) return finish(worker);
        after(worker, last_messages_within, [this, &worker] { finish(worker); });
    }

    void finish(LocalWorker& worker) {
        if (worker.connection) worker.connection->close();
        worker.connection.reset();
        execution::Exited exited = *std::exchange(worker.exited, std::nullopt);
        exited.cause = worker.cause;
        exited.log_tail = worker.log.tail();
        worker.log.open({});
        worker.token.clear();
        report_malformed_lines(worker);
        worker.occupied = false;
        notify(worker, exited);
    }

    /// The kernel has killed its worker. The processes that the worker had started are found by the tag, and those that
    /// have cleared their environment as adopted children.
    void on_supervisor_gone(LocalWorker& worker, int error) {
        worker.supervisor.reset();
        if (!worker.occupied || worker.exited) return;
        if (error != 0) return launch_failed(worker, error, "start " + worker.command);
        if (worker.cause.empty()) worker.cause = "its supervisor was killed";
        sweep_worker(worker, 0);
    }

    void sweep_worker(LocalWorker& worker, int clean_rounds) {
        clean_rounds = kill_tagged(tag_of(worker)) + adoptions_.kill() == 0 ? clean_rounds + 1 : 0;
        if (clean_rounds < 2)
            return after(worker, sweep_again, [=, this, &worker] { sweep_worker(worker, clean_rounds); });
        execution::Exited exited;
        exited.signal = SIGKILL;
        end(worker, std::move(exited));
    }

    void kill_because(LocalWorker& worker, const std::string& cause) {
        if (worker.cause.empty()) worker.cause = cause;
        if (worker.supervisor) worker.supervisor->order(supervisor::Order::kill);
    }

    void listen() {
        acceptor_ = Unix::acceptor(loop_, Unix::endpoint(endpoint()));
        accept();
    }

    void accept() {
        acceptor_.async_accept([this, alive = std::weak_ptr<bool>(alive_)](error_code error, Unix::socket socket) {
            if (alive.expired() || error == asio::error::operation_aborted) return;
            // Most likely there are no descriptors left: the connection waits until there are.
            if (error) return after(milliseconds(100), [this] { accept(); });
            if (unidentified_.size() < most_unidentified)
                receive(std::make_shared<WorkerConnection>(std::move(socket)));
            accept();
        });
    }

    void receive(const std::shared_ptr<WorkerConnection>& connection) {
        unidentified_.insert(connection);
        const auto on_end = [this, connection = connection.get()] { drop(connection->shared_from_this()); };
        connection->listen({[this, connection = connection.get()](WorkerMessage&& message) {
                                identify(connection->shared_from_this(), std::move(message));
                            },
                            [on_end](const std::string&) { on_end(); }, on_end});
        connection->read();
        after(hello_within, [this, weak = std::weak_ptr<WorkerConnection>(connection)] {
            if (const auto late = weak.lock()) drop(late);
        });
    }

    void drop(const std::shared_ptr<WorkerConnection>& connection) {
        if (unidentified_.erase(connection) > 0) connection->close();
    }

    /// The first message of a connection decides whose it is: it must be a hello with the token of a worker.
    void identify(const std::shared_ptr<WorkerConnection>& connection, WorkerMessage&& first) {
        const auto* hello = std::get_if<from_worker::Hello>(&first);
        LocalWorker* worker = nullptr;
        if (hello != nullptr && !hello->token.empty())
            for (auto& [number, candidate] : workers_)
                if (candidate.occupied && candidate.token == hello->token) worker = &candidate;
        if (worker == nullptr) return drop(connection);
        unidentified_.erase(connection);
        worker->token.clear();
        worker->connection = connection;
        connection->listen({[this, worker](WorkerMessage&& message) { on_message(*worker, std::move(message)); },
                            [this, worker](const std::string& why) { on_malformed_line(*worker, why); },
                            [this, worker] { on_connection_closed(*worker); },
                            [this, worker](const std::string& why) { kill_because(*worker, why); }});
        if (hello->version < oldest_protocol_version || hello->version > protocol_version)
            return kill_because(
                *worker, "it speaks version " + std::to_string(hello->version) + " of the protocol; this hpo speaks " +
                             std::to_string(oldest_protocol_version) + " to " + std::to_string(protocol_version) +
                             ", so use the client that comes with it");
        const OrchestratorMessage welcome = to_worker::Welcome{hello->version, options_.alive_every};
        connection->send(std::span(&welcome, 1));
        execution::Ready ready{*hello};
        ready.hello.pid =
            worker_process(static_cast<pid_t>(hello->pid), static_cast<pid_t>(connection->peer()), ::getpid());
        worker->launches_others = ready.hello.pid != connection->peer();
        notify(*worker, ready);
    }

    void on_message(LocalWorker& worker, WorkerMessage&& message) {
        if (std::holds_alternative<from_worker::Hello>(message)) return on_malformed_line(worker, "a second hello");
        notify(worker, execution::Received{std::move(message)});
    }

    void on_connection_closed(LocalWorker& worker) {
        worker.connection.reset();
        if (worker.exited) return finish(worker);
        after(worker, worker.launches_others ? launcher_exits_within : exit_after_close_within, [this, &worker] {
            if (!worker.exited) kill_because(worker, "it closed its connection and did not exit");
        });
    }

    void on_malformed_line(LocalWorker& worker, const std::string& why) {
        ++worker.malformed.lines;
        worker.malformed.example = why;
        if (!worker.malformed_timer) report_malformed_lines(worker);
    }

    void report_malformed_lines(LocalWorker& worker) {
        if (worker.malformed.lines == 0) return;
        const auto malformed = std::exchange(worker.malformed, {});
        worker.malformed_timer = true;
        after(malformed_lines_every, [this, &worker] {
            worker.malformed_timer = false;
            if (worker.occupied) report_malformed_lines(worker);
        });
        notify(worker, malformed);
    }

    LocalOptions options_;
    ExecutionListener listener_;
    PrivateFolder folder_;
    Adoptions adoptions_;
    asio::io_context& loop_;
    Unix::acceptor acceptor_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::list<asio::steady_timer> timers_;
    std::set<std::shared_ptr<WorkerConnection>> unidentified_;
    std::map<WorkerIndex, LocalWorker> workers_;  ///< never erased: callbacks hold references
};

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::make(asio::io_context& loop, LocalOptions options,
                                                           ExecutionListener listener) {
    auto folder = PrivateFolder::make(options.tag);
    if (!folder) return folder.error();
    try {
        auto impl = std::make_unique<Impl>(loop, std::move(options), std::move(listener), *std::move(folder));
        return std::unique_ptr<LocalExecutor>(new LocalExecutor(std::move(impl)));
    } catch (const boost::system::system_error& error) {
        return Error{std::string("cannot listen for workers: ") + error.what()};
    }
}

LocalExecutor::LocalExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LocalExecutor::~LocalExecutor() = default;
void LocalExecutor::launch(WorkerIndex index, const LaunchSpec& spec) { impl_->launch(index, spec); }
void LocalExecutor::send(WorkerIndex index, std::span<const OrchestratorMessage> messages) {
    impl_->send(index, messages);
}
void LocalExecutor::log_to(WorkerIndex index, const std::filesystem::path& file) { impl_->log_to(index, file); }
void LocalExecutor::terminate(WorkerIndex index, double grace) { impl_->terminate(index, grace); }
void LocalExecutor::kill(WorkerIndex index) { impl_->kill(index); }
std::vector<std::string> LocalExecutor::end(milliseconds within) {
    std::vector<std::string> left;
    for (const pid_t pid : impl_->end(within)) left.push_back(std::to_string(pid));
    return left;
}
Result<void> LocalExecutor::keep_folder() { return impl_->keep_folder(); }
const std::filesystem::path& LocalExecutor::folder() const { return impl_->folder(); }

}  // namespace hpo
