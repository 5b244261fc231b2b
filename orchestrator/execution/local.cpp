#include "orchestrator/execution/local.hpp"

#include <sys/random.h>
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

#include "orchestrator/execution/connection.hpp"
#include "orchestrator/execution/private_folder.hpp"
#include "orchestrator/execution/processes.hpp"
#include "orchestrator/execution/warden_link.hpp"
#include "orchestrator/execution/worker_log.hpp"

namespace hpo {
namespace asio = boost::asio;
using boost::system::error_code;
using Unix = asio::local::stream_protocol;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t most_strangers = 64;     ///< connections that have not said hello
constexpr seconds hello_within{10};            ///< of a connection
constexpr seconds exit_after_close_within{3};  ///< of a worker that has closed its connection
constexpr seconds last_messages_within{1};     ///< of a worker that has exited
constexpr seconds garbage_told_every{1};
constexpr milliseconds sweep_again{5};
constexpr milliseconds destruction_within{2000};

std::string random_token() {
    unsigned char bytes[16];
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw std::runtime_error("getrandom failed");
    std::string token;
    for (const unsigned char byte : bytes)
        for (const int digit : {byte >> 4, byte & 15}) token += "0123456789abcdef"[digit];
    return token;
}

/// One worker's place. `life` tells the events of one worker from those of the next.
struct Room {
    explicit Room(Place n, std::int64_t log_bytes) : number(n), log(log_bytes) {}

    Place number;
    std::int64_t life = 0;
    bool occupied = false;
    std::string command;
    std::string token;  ///< until hello
    std::string cause;
    std::shared_ptr<WardenLink> warden;
    std::shared_ptr<WorkerConnection> connection;
    std::optional<execution::Exited> exited;  ///< told once the connection has been read to its end
    WorkerLog log;
    execution::Garbage garbage;
    bool garbage_timer = false;
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
        for (const auto& stranger : strangers_) stranger->close();
        for (auto& [number, room] : rooms_) {
            if (room.connection) room.connection->close();
            if (room.warden) room.warden->close();
        }
        const auto deadline = std::chrono::steady_clock::now() + within;
        bool stuck = false;
        for (auto& [number, room] : rooms_) {
            if (!room.warden || room.warden->wait(deadline)) continue;
            stuck = true;
            room.warden->destroy();
        }
        if (!stuck || sweep(options_.mark, within)) return {};
        return marked(options_.mark);
    }

    void launch(Place number, const LaunchSpec& spec) {
        Room& room = rooms_.try_emplace(number, number, options_.log_bytes).first->second;
        if (room.occupied) throw std::logic_error("the place is not free");
        room.occupied = true;
        ++room.life;
        room.cause.clear();
        room.garbage = {};
        room.command = spec.command.empty() ? std::string() : spec.command[0];
        std::string what = "start " + room.command;
        int error = 0;
        if (const auto kept = keep_folder(); !kept)
            error = EIO, what += " (" + kept.error().message + ")";
        else
            error = start(room, spec);
        if (error != 0) later([this, &room, error, what] { launch_failed(room, error, what); });
    }

    void send(Place number, const OrchestratorMessage& message) {
        Room* room = busy(number);
        if (room == nullptr || !room->connection || room->connection->send(message)) return;
        kill_because(*room, "it did not read its messages");
    }

    void log_to(Place number, const std::filesystem::path& file) {
        rooms_.try_emplace(number, number, options_.log_bytes).first->second.log.open(file);
    }

    void terminate(Place number, double grace) {
        if (Room* room = busy(number); room != nullptr && room->warden)
            room->warden->order(warden::Order::terminate, std::to_string(static_cast<std::int64_t>(grace * 1000)));
    }

    void kill(Place number) {
        if (Room* room = busy(number); room != nullptr && room->warden) room->warden->order(warden::Order::kill);
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

    Result<void> keep_folder() {
        if (::access(endpoint().c_str(), F_OK) == 0) return {};
        auto folder = PrivateFolder::make(options_.mark);
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

    Room* busy(Place number) {
        const auto found = rooms_.find(number);
        return found == rooms_.end() || !found->second.occupied ? nullptr : &found->second;
    }

    void tell(Room& room, const execution::What& what) { listener_(room.number, what); }

    /// From the event loop, unless we are gone by then.
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
    /// As after(), for what concerns the worker that lives in the room now.
    template <class F>
    void after(Room& room, std::chrono::steady_clock::duration delay, F&& act) {
        after(delay, [&room, life = room.life, act = std::forward<F>(act)] {
            if (room.occupied && room.life == life) act();
        });
    }

    int start(Room& room, const LaunchSpec& spec) {
        warden::Start order;
        order.command = spec.command;
        order.folder = spec.folder.string();
        order.cpus = spec.cpus;
        order.preload = spec.preload;
        for (const auto& [name, value] : spec.environment) order.environment.push_back(name + "=" + value);
        room.token = random_token();
        order.environment.push_back("HPO_ENDPOINT=" + endpoint());
        order.environment.push_back("HPO_TOKEN=" + room.token);
        for (const auto* texts : {&order.command, &order.environment, &order.preload})
            for (const std::string& text : *texts)
                if (text.find('\0') != std::string::npos) return EINVAL;
        if (!room.warden) {
            room.warden = std::make_shared<WardenLink>(
                loop_, WardenLink::Events{[this, &room](warden::Notice kind, std::string_view payload) {
                                              take_notice(room, kind, payload);
                                          },
                                          [this, &room] { warden_gone(room); }});
            if (const int error = room.warden->start(options_.program, mark_of(room), options_.limits); error != 0) {
                room.warden.reset();
                return error;
            }
        }
        room.warden->order(warden::Order::start, pack(order));
        return 0;
    }

    [[nodiscard]] std::string mark_of(const Room& room) const {
        return options_.mark + ":" + std::to_string(room.number);
    }

    void take_notice(Room& room, warden::Notice kind, std::string_view payload) {
        if (kind == warden::Notice::output) return room.log.append(payload);
        if (kind == warden::Notice::remark) return tell(room, execution::Remark{std::string(payload)});
        const auto fields = warden::unpack(payload);
        if (kind == warden::Notice::failed) return launch_failed(room, std::stoi(fields.at(0)), fields.at(1));
        execution::Exited exited;
        exited.code = std::stoi(fields.at(0));
        exited.signal = std::stoi(fields.at(1));
        exited.out_of_memory_kill = fields.at(2) == "1";
        exited.peak_bytes = std::stoll(fields.at(3));
        end(room, std::move(exited));
    }

    void launch_failed(Room& room, int error, const std::string& what) {
        room.occupied = false;
        room.log.open({});
        tell(room, execution::LaunchFailed{error, "cannot " + what + ": " + std::strerror(error)});
    }

    /// The process is gone; what it said before is still to be told.
    void end(Room& room, execution::Exited exited) {
        room.exited = std::move(exited);
        if (!room.connection) return finish(room);
        after(room, last_messages_within, [this, &room] { finish(room); });
    }

    void finish(Room& room) {
        if (room.connection) room.connection->close();
        room.connection.reset();
        execution::Exited exited = *std::exchange(room.exited, std::nullopt);
        exited.cause = room.cause;
        exited.log_tail = room.log.tail();
        room.log.open({});
        room.token.clear();
        tell_garbage(room);
        room.occupied = false;
        tell(room, exited);
    }

    /// Its worker got a KILL from the kernel; what the worker had started goes by the mark.
    void warden_gone(Room& room) {
        room.warden.reset();
        if (!room.occupied || room.exited) return;
        if (room.cause.empty()) room.cause = "its warden was killed";
        sweep_room(room, 0);
    }

    void sweep_room(Room& room, int clean_rounds) {
        clean_rounds = kill_marked(mark_of(room)) == 0 ? clean_rounds + 1 : 0;
        if (clean_rounds < 2) return after(room, sweep_again, [=, this, &room] { sweep_room(room, clean_rounds); });
        execution::Exited exited;
        exited.signal = SIGKILL;
        end(room, std::move(exited));
    }

    void kill_because(Room& room, const std::string& cause) {
        if (room.cause.empty()) room.cause = cause;
        if (room.warden) room.warden->order(warden::Order::kill);
    }

    void listen() {
        acceptor_ = Unix::acceptor(loop_, Unix::endpoint(endpoint()));
        accept();
    }

    void accept() {
        acceptor_.async_accept([this, alive = std::weak_ptr<bool>(alive_)](error_code error, Unix::socket socket) {
            if (alive.expired() || error == asio::error::operation_aborted) return;
            // Out of descriptors, most likely: the connection waits for better times.
            if (error) return after(milliseconds(100), [this] { accept(); });
            if (strangers_.size() < most_strangers) receive(std::make_shared<WorkerConnection>(std::move(socket)));
            accept();
        });
    }

    void receive(const std::shared_ptr<WorkerConnection>& connection) {
        strangers_.insert(connection);
        const auto drop = [this, connection = connection.get()] { send_away(connection->shared_from_this()); };
        connection->listen({[this, connection = connection.get()](WorkerMessage&& message) {
                                introduce(connection->shared_from_this(), std::move(message));
                            },
                            [drop](const std::string&) { drop(); }, drop});
        connection->read();
        after(hello_within, [this, weak = std::weak_ptr<WorkerConnection>(connection)] {
            if (const auto late = weak.lock()) send_away(late);
        });
    }

    void send_away(const std::shared_ptr<WorkerConnection>& connection) {
        if (strangers_.erase(connection) > 0) connection->close();
    }

    /// A stranger's first message.
    void introduce(const std::shared_ptr<WorkerConnection>& connection, WorkerMessage&& message) {
        const auto* hello = std::get_if<from_worker::Hello>(&message);
        Room* room = nullptr;
        if (hello != nullptr && !hello->token.empty())
            for (auto& [number, candidate] : rooms_)
                if (candidate.occupied && candidate.token == hello->token) room = &candidate;
        if (room == nullptr) return send_away(connection);
        strangers_.erase(connection);
        room->token.clear();
        room->connection = connection;
        connection->listen({[this, room](WorkerMessage&& said) { take_message(*room, std::move(said)); },
                            [this, room](const std::string& why) { take_garbage(*room, why); },
                            [this, room] { connection_closed(*room); }});
        if (hello->version < oldest_protocol_version || hello->version > protocol_version)
            return kill_because(*room, "it speaks version " + std::to_string(hello->version) +
                                           " of the protocol; this hpo speaks " +
                                           std::to_string(oldest_protocol_version) + " to " +
                                           std::to_string(protocol_version) + ", so use the client that comes with it");
        connection->send(to_worker::Welcome{hello->version, options_.alive_every});
        execution::Ready ready{*hello};
        ready.hello.pid =
            worker_process(static_cast<pid_t>(hello->pid), static_cast<pid_t>(connection->peer()), ::getpid());
        tell(*room, ready);
    }

    void take_message(Room& room, WorkerMessage&& message) {
        if (std::holds_alternative<from_worker::Hello>(message)) return take_garbage(room, "a second hello");
        tell(room, execution::Said{std::move(message)});
    }

    void connection_closed(Room& room) {
        room.connection.reset();
        if (room.exited) return finish(room);
        after(room, exit_after_close_within, [this, &room] {
            if (!room.exited) kill_because(room, "it closed its connection and did not exit");
        });
    }

    void take_garbage(Room& room, const std::string& why) {
        ++room.garbage.lines;
        room.garbage.example = why;
        if (!room.garbage_timer) tell_garbage(room);
    }

    void tell_garbage(Room& room) {
        if (room.garbage.lines == 0) return;
        const auto garbage = std::exchange(room.garbage, {});
        room.garbage_timer = true;
        after(garbage_told_every, [this, &room] {
            room.garbage_timer = false;
            if (room.occupied) tell_garbage(room);
        });
        tell(room, garbage);
    }

    LocalOptions options_;
    ExecutionListener listener_;
    PrivateFolder folder_;
    asio::io_context& loop_;
    Unix::acceptor acceptor_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::list<asio::steady_timer> timers_;
    std::set<std::shared_ptr<WorkerConnection>> strangers_;
    std::map<Place, Room> rooms_;  ///< never erased: rooms are referred to
};

Result<std::unique_ptr<LocalExecutor>> LocalExecutor::make(asio::io_context& loop, LocalOptions options,
                                                           ExecutionListener listener) {
    auto folder = PrivateFolder::make(options.mark);
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
void LocalExecutor::launch(Place place, const LaunchSpec& spec) { impl_->launch(place, spec); }
void LocalExecutor::send(Place place, const OrchestratorMessage& message) { impl_->send(place, message); }
void LocalExecutor::log_to(Place place, const std::filesystem::path& file) { impl_->log_to(place, file); }
void LocalExecutor::terminate(Place place, double grace) { impl_->terminate(place, grace); }
void LocalExecutor::kill(Place place) { impl_->kill(place); }
std::vector<pid_t> LocalExecutor::end(milliseconds within) { return impl_->end(within); }
Result<void> LocalExecutor::keep_folder() { return impl_->keep_folder(); }
const std::filesystem::path& LocalExecutor::folder() const { return impl_->folder(); }

}  // namespace hpo
