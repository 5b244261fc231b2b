#include "orchestrator/engine/control.hpp"

#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>

#include "hpo/lines.hpp"

namespace hpo {

namespace asio = boost::asio;
using Protocol = asio::local::stream_protocol;
using Json = nlohmann::json;

std::string answer_control(const std::string& line, const std::string& study, const ControlActions& actions) {
    const auto refuse = [](const std::string& why) { return Json{{"ok", false}, {"error", why}}.dump() + '\n'; };
    const Json request = Json::parse(line, nullptr, false);
    if (!request.is_object() || !request.contains("op")) return refuse("not a request: a JSON object with \"op\"");
    const Json& op = request["op"];
    if (op == "status")
        return Json{{"ok", true}, {"study", study}, {"pid", getpid()}, {"running", actions.running()}}.dump() + '\n';
    if (op != "stop") return refuse("unknown op; there are: status, stop");
    if (!request.contains("trial")) return actions.stop_study(), Json{{"ok", true}}.dump() + '\n';
    if (!request["trial"].is_number_integer()) return refuse("\"trial\" is a trial's number");
    const auto stopped = actions.stop_trial(request["trial"].get<std::int64_t>());
    return stopped ? Json{{"ok", true}}.dump() + '\n' : refuse(stopped.error().message);
}

namespace {

constexpr std::size_t max_request = 4096;
constexpr std::size_t most_clients = 16;                // then the oldest is closed
constexpr std::chrono::seconds most_idle{10};           // between two requests of a client
constexpr std::chrono::milliseconds accept_again{100};  // pause when no descriptor was left

/// One client. It lives while a read or write is pending.
class Client : public std::enable_shared_from_this<Client> {
   public:
    Client(Protocol::socket socket, std::function<std::string(const std::string&)> answer)
        : socket_(std::move(socket)), idle_(socket_.get_executor()), answer_(std::move(answer)) {}

    void read() {
        idle_.expires_after(most_idle);
        idle_.async_wait([weak = weak_from_this()](auto error) {
            if (const auto self = weak.lock(); self && !error) self->close();
        });
        socket_.async_read_some(asio::buffer(bytes_), [self = shared_from_this()](auto error, std::size_t n) {
            if (error) return;
            std::string replies;
            self->lines_.feed({self->bytes_.data(), n}, [&](std::string_view line) {
                if (replies.size() < max_request) replies += self->answer_(std::string(line));
            });
            if (self->lines_.dropped() > 0) return;  // not a client of ours
            if (replies.empty()) return self->read();
            self->write(std::move(replies));
        });
    }

    /// Cancels pending reads and writes, which ends the client.
    void close() {
        boost::system::error_code ignored;
        socket_.close(ignored);
        idle_.cancel(ignored);
    }

   private:
    void write(std::string replies) {
        replies_ = std::move(replies);
        asio::async_write(socket_, asio::buffer(replies_), [self = shared_from_this()](auto error, std::size_t) {
            if (!error) self->read();
        });
    }

    Protocol::socket socket_;
    asio::steady_timer idle_;
    std::function<std::string(const std::string&)> answer_;
    LineSplitter lines_{max_request};
    std::array<char, 1024> bytes_{};
    std::string replies_;
};

}  // namespace

struct ControlServer::Impl : std::enable_shared_from_this<Impl> {
    Impl(asio::io_context& loop, const std::filesystem::path& path, std::string name, ControlActions what)
        : socket(path),
          acceptor(loop, Protocol::endpoint(path.string())),
          pause(loop),
          study(std::move(name)),
          actions(std::move(what)) {}

    void accept() {
        acceptor.async_accept([weak = weak_from_this()](auto error, Protocol::socket client) {
            const auto self = weak.lock();
            if (!self || error == asio::error::operation_aborted) return;
            if (error) return self->accept_later();
            self->admit(std::make_shared<Client>(std::move(client), [weak](const std::string& line) {
                const auto alive = weak.lock();
                return alive ? answer_control(line, alive->study, alive->actions) : std::string();
            }));
            self->accept();
        });
    }

    /// Most likely out of descriptors: the next client waits until some are free.
    void accept_later() {
        pause.expires_after(accept_again);
        pause.async_wait([weak = weak_from_this()](auto error) {
            if (const auto self = weak.lock(); self && !error) self->accept();
        });
    }

    void admit(const std::shared_ptr<Client>& client) {
        std::erase_if(clients, [](const std::weak_ptr<Client>& one) { return one.expired(); });
        if (clients.size() >= most_clients) {
            if (const auto first = clients.front().lock()) first->close();
            clients.pop_front();
        }
        clients.push_back(client);
        client->read();
    }

    std::filesystem::path socket;
    Protocol::acceptor acceptor;
    asio::steady_timer pause;
    std::deque<std::weak_ptr<Client>> clients;  ///< in the order of their arrival
    std::string study;
    ControlActions actions;
};

ControlServer::ControlServer(asio::io_context& loop, const std::filesystem::path& socket, std::string study,
                             ControlActions actions)
    : impl_(std::make_shared<Impl>(loop, socket, std::move(study), std::move(actions))) {
    impl_->accept();
}

ControlServer::~ControlServer() {
    boost::system::error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->pause.cancel(ignored);
    for (const auto& client : impl_->clients)
        if (const auto alive = client.lock()) alive->close();
    std::error_code also_ignored;
    std::filesystem::remove(impl_->socket, also_ignored);
}

}  // namespace hpo
