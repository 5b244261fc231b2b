#include "orchestrator/cluster/listener.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <thread>
#include <utility>

#include "hpo/printable.hpp"
#include "hpo/threads.hpp"
#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/cluster/refusals.hpp"
#include "orchestrator/cluster/relay.hpp"
#include "orchestrator/execution/random_token.hpp"
#include "os/descriptors.hpp"

namespace hpo::cluster {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Now = std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds accepts_again_after{200};  ///< pause if no descriptors are left
constexpr int backlog = 128;
constexpr std::size_t most_host_name = 200;

}  // namespace

/// The state of the thread. It belongs to the caller before start() and after the thread's end.
struct Listener::Parts {
    struct Unknown {
        std::shared_ptr<TlsLink> link;
        Now::time_point until;
    };

    asio::io_context loop{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
    tcp::acceptor acceptor{loop};
    asio::steady_timer timer{loop}, pause{loop};
    std::string key = fresh_key();
    std::shared_ptr<asio::ssl::context> tls;
    Callbacks callbacks;
    Refusals refusals;
    std::list<Unknown> unknown;  ///< the oldest first
    std::map<std::string, std::shared_ptr<Relay>> agents;
    std::string farewell = encode(Farewell{});
    std::thread thread;

    void accept() {
        acceptor.async_wait(tcp::acceptor::wait_read, [this](error_code error) {
            if (error) return;
            // accept4 keeps the socket from programs that another thread starts meanwhile.
            const int fd = os::accept_connection(acceptor.native_handle(), os::Calls::return_at_once).release();
            if (fd >= 0) {
                tcp::socket socket(loop);
                socket.assign(acceptor.local_endpoint(error).protocol(), fd, error);
                if (!error) answer(std::move(socket));
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                pause.expires_after(accepts_again_after);
                return pause.async_wait([this](error_code ended) {
                    if (!ended) accept();
                });
            }
            accept();
        });
    }

    void answer(tcp::socket socket) {
        prepare(socket);
        if (unknown.size() >= most_unknown) {
            refuse(unknown.front().link->peer(), "it did not show the study's key before many others came");
            unknown.front().link->close();
            unknown.pop_front();
        }
        auto link = std::make_shared<TlsLink>(std::move(socket), tls);
        TlsLink* const raw = link.get();
        link->tell({.frame = [this, raw](JoinKind kind, std::string_view payload) { join(raw, kind, payload); },
                    .ended =
                        [this, raw](TlsLink::End end, const std::string& why) {
                            if (end != TlsLink::End::broken) refuse(raw->peer(), why);
                            forget(raw);
                        }});
        unknown.push_back({link, Now::now() + known_within});
        link->start(TlsRole::server);
    }

    void refuse(const std::string& peer, const std::string& why) {
        if (const auto text = refusals.add(Now::now(), "refused a connection from " + peer + ": " + why))
            callbacks.refused(*text);
    }

    std::shared_ptr<TlsLink> forget(TlsLink* link) {
        const auto found =
            std::find_if(unknown.begin(), unknown.end(), [&](const Unknown& one) { return one.link.get() == link; });
        if (found == unknown.end()) return nullptr;
        auto kept = std::move(found->link);
        unknown.erase(found);
        return kept;
    }

    /// Takes in the first frame of a connection.
    void join(TlsLink* raw, JoinKind kind, std::string_view payload) {
        const auto link = forget(raw);
        if (!link) return;
        const auto asked = kind == JoinKind::join ? decode_join(payload) : Result<Join>(Error{"no join"});
        const auto turn_away = [&](const std::string& why, const std::string& reply) {
            refuse(link->peer(), why);
            link->send(JoinKind::refused, reply);
            link->close_when_sent();
        };
        if (!asked) return turn_away("it begins with what is no join", "the orchestrator does not understand it");
        if (asked->session.empty()) {
            if (agents.size() >= most_agents)
                return turn_away("there are " + std::to_string(most_agents) + " agents",
                                 "the study has too many agents");
            return begin(link, *asked);
        }
        const auto found = agents.find(asked->session);
        if (found == agents.end())
            return turn_away("it belongs to an agent that was given up",
                             "the orchestrator has given this agent up; start it again to join once more");
        const std::shared_ptr<Relay> relay = found->second;
        link->send(JoinKind::welcome, encode(Welcome{found->first, relay->received()}));
        if (!relay->attach(link, asked->received)) {
            turn_away("it asks for bytes that are not kept", "what it has missed is not kept any more");
            end(found->first, "");
        }
    }

    void begin(const std::shared_ptr<TlsLink>& link, const Join& join) {
        Descriptor orders_read, orders_write, events_read, events_write;
        if (!make_pipe(orders_read, orders_write) || !make_pipe(events_read, events_write)) {
            link->send(JoinKind::refused,
                       std::string("the orchestrator has no descriptors left: ") + std::strerror(errno));
            return link->close_when_sent();
        }
        const std::string session = random_token();
        const auto relay = std::make_shared<Relay>(loop, std::move(orders_read), std::move(events_write));
        agents[session] = relay;
        relay->set_last_words(farewell);
        relay->start({.broken =
                          [this, session](TlsLink::End ended, const std::string& why) {
                              if (ended != TlsLink::End::broken) end(session, why);
                          },
                      .in_ended = {},
                      .out_gone = [this, session] { end(session, "the orchestrator has given this agent up"); },
                      .over = [this, session] { end(session, ""); }});
        link->send(JoinKind::welcome, encode(Welcome{session, 0}));
        relay->attach(link, join.received);
        callbacks.joined({printable(join.host.substr(0, most_host_name)), link->peer(), std::move(orders_write),
                          std::move(events_read)});
    }

    /// Forgets an agent; its pipes close.
    void end(std::string session, const std::string& reason) {
        const auto found = agents.find(session);
        if (found == agents.end()) return;
        const std::shared_ptr<Relay> relay = std::move(found->second);
        agents.erase(found);
        relay->leave(reason);
    }

    void tick() {
        timer.expires_after(std::chrono::seconds(1));
        timer.async_wait([this](error_code error) {
            if (error) return;
            const auto now = Now::now();
            while (!unknown.empty() && unknown.front().until <= now) {
                refuse(unknown.front().link->peer(), "it did not show the study's key within 10 s");
                unknown.front().link->close();
                unknown.pop_front();
            }
            if (const auto text = refusals.due(now)) callbacks.refused(*text);
            tick();
        });
    }
};

Result<std::unique_ptr<Listener>> Listener::open(const ListenAt& at) {
    auto parts = std::make_unique<Parts>();
    error_code error;
    const tcp::endpoint end(asio::ip::make_address(at.address), at.port);
    const int family = end.protocol().family();
    const int fd = os::open_socket(family, SOCK_STREAM, os::Calls::return_at_once).release();
    if (fd < 0) return Error{"cannot listen at " + at.address + ": " + std::strerror(errno)};
    parts->acceptor.assign(end.protocol(), fd, error);
    if (!error) parts->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) parts->acceptor.bind(end, error);
    if (!error) parts->acceptor.listen(backlog, error);
    if (error)
        return Error{"cannot listen at " + at.address + " port " + std::to_string(at.port) + ": " + error.message() +
                     "; --listen names another address of this host, or another port"};
    try {
        parts->tls = tls_of(TlsRole::server, key_bytes(parts->key));
    } catch (const std::exception& refused) {
        return Error{std::string("cannot listen: no TLS: ") + refused.what()};
    }
    return std::unique_ptr<Listener>(new Listener(std::move(parts)));
}

Listener::Listener(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<void> Listener::start(Callbacks callbacks) {
    parts_->callbacks = std::move(callbacks);
    parts_->accept();
    parts_->tick();
    parts_->thread = start_thread("hpo-listener", [parts = parts_.get()] { parts->loop.run(); });
    if (!parts_->thread.joinable()) return Error{"cannot listen: no thread can be started"};
    return {};
}

Listener::~Listener() {
    if (!parts_->thread.joinable()) return;
    asio::post(parts_->loop, [parts = parts_.get()] {
        for (const auto& [session, relay] : parts->agents) relay->leave("the orchestrator has ended");
        parts->loop.stop();
    });
    parts_->thread.join();
}

void Listener::say_farewell(const Farewell& farewell) {
    asio::post(parts_->loop, [parts = parts_.get(), words = encode(farewell)] {
        parts->farewell = words;
        for (const auto& [session, relay] : parts->agents) relay->set_last_words(words);
    });
}

const std::string& Listener::key() const { return parts_->key; }

std::uint16_t Listener::port() const {
    error_code error;
    return parts_->acceptor.local_endpoint(error).port();
}

bool Listener::reaches_this_host_alone() const {
    error_code error;
    return parts_->acceptor.local_endpoint(error).address().is_loopback();
}

std::vector<std::string> Listener::addresses() const {
    error_code error;
    const asio::ip::address bound = parts_->acceptor.local_endpoint(error).address();
    if (!bound.is_unspecified()) return {bound.to_string()};
    std::vector<std::string> found;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) == 0) {
        for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
            if (one->ifa_addr == nullptr) continue;
            asio::ip::address address;
            if (one->ifa_addr->sa_family == AF_INET) {
                const auto* four = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
                address = asio::ip::address_v4(ntohl(four->sin_addr.s_addr));
            } else if (one->ifa_addr->sa_family == AF_INET6 && bound.is_v6()) {
                asio::ip::address_v6::bytes_type bytes;
                std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr,
                            bytes.size());
                address = asio::ip::address_v6(bytes);
            } else {
                continue;
            }
            const bool is_link_local = address.is_v6() && address.to_v6().is_link_local();
            if (!address.is_loopback() && !is_link_local && found.size() < 32) found.push_back(address.to_string());
        }
        ::freeifaddrs(all);
    }
    found.push_back(bound.is_v6() ? "::1" : "127.0.0.1");
    return found;
}

}  // namespace hpo::cluster
