#include "orchestrator/serve/server.hpp"

#include <httplib.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_set>

namespace hpo::serve {

namespace {

constexpr std::uint64_t longest_form = 8'192;   ///< bytes of a body of this type: the library reads no more
constexpr std::uint64_t longest_text = 12'000;  ///< bytes of a body: those of a note, and some more

/// Set while a connection for which there is no thread is handled: it is closed.
thread_local bool turned_away = false;

/// A thread a connection, up to a limit. A connection beyond it is closed at once, so that nothing waits without bound.
class Threads : public httplib::TaskQueue {
   public:
    void enqueue(std::function<void()> task) override {
        std::unique_lock lock(mutex_);
        if (idle_ > tasks_.size()) {
            tasks_.push_back(std::move(task));
            waiting_.notify_one();
            return;
        }
        if (threads_.size() < Server::most_connections) {
            try {
                threads_.emplace_back([this, first = task]() mutable { work(std::move(first)); });
                return;
            } catch (const std::system_error&) {  // no more threads
            }
        }
        lock.unlock();
        turned_away = true;
        task();
        turned_away = false;
    }
    void shutdown() override {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        waiting_.notify_all();
        for (std::thread& thread : threads_) thread.join();
    }

   private:
    void work(std::function<void()> task) {
        for (;;) {
            task();
            task = nullptr;
            std::unique_lock lock(mutex_);
            ++idle_;
            waiting_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
            --idle_;
            if (tasks_.empty()) return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
    }

    std::mutex mutex_;
    std::condition_variable waiting_;
    std::list<std::thread> threads_;
    std::list<std::function<void()>> tasks_;
    std::size_t idle_ = 0;
    bool ending_ = false;
};

/// The library's view of a connection.
class ConnectionStream : public httplib::Stream {
   public:
    explicit ConnectionStream(Connection& connection) : connection_(connection) {}
    bool is_readable() const override { return true; }
    bool is_writable() const override { return !connection_.closed(); }
    ssize_t read(char* bytes, std::size_t size) override { return static_cast<ssize_t>(connection_.read(bytes, size)); }
    ssize_t write(const char* bytes, std::size_t size) override {
        return connection_.write(bytes, size) ? static_cast<ssize_t>(size) : -1;
    }
    void get_remote_ip_and_port(std::string&, int&) const override {}
    void get_local_ip_and_port(std::string&, int&) const override {}
    socket_t socket() const override { return connection_.socket(); }

   private:
    Connection& connection_;
};

/// The connection that this thread serves.
thread_local Connection* current = nullptr;

Request request_of(const httplib::Request& from) {
    const std::string length = from.get_header_value("Content-Length");
    const bool body = from.body.empty() && (from.has_header("Transfer-Encoding") || (!length.empty() && length != "0"));
    return {.method = from.method,
            .path = from.path,
            .host = from.get_header_value("Host"),
            .origin = from.get_header_value("Origin"),
            .fetch_site = from.get_header_value("Sec-Fetch-Site"),
            .authorization = from.get_header_value("Authorization"),
            .cookie = from.get_header_value("Cookie"),
            .csrf = from.get_header_value("X-CSRF-Token"),
            .known = from.get_header_value("If-None-Match"),
            .body = body,
            .text = from.body};
}

/// Returns true if the body of a request is a text that its route takes.
bool has_text(const httplib::Request& request) {
    const auto route = route_of(request.path);
    const bool form = request.get_header_value("Content-Type").starts_with("application/x-www-form-urlencoded");
    return request.method == "POST" && route && route->takes_text() && !request.has_header("Transfer-Encoding") &&
           request.has_header("Content-Length") &&
           request.get_header_value<std::uint64_t>("Content-Length") <= (form ? longest_form : longest_text);
}

}  // namespace

struct Server::Parts : private httplib::Server {
    Parts(Site& of, Tls with) : site(of), tls(std::move(with)) {
        new_task_queue = [] { return new Threads; };
        set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
            if (has_text(from)) return HandlerResponse::Unhandled;  // read first, then answered below
            answer(request_of(from), to);
            return HandlerResponse::Handled;
        });
        Post(R"([\s\S]*)",
             [this](const httplib::Request& from, httplib::Response& to) { answer(request_of(from), to); });
        set_expect_100_continue_handler([](const auto&, auto&) { return 417; });
        set_socket_options([](socket_t socket) {
            const int yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        });
    }

    ~Parts() override {
        {
            const std::lock_guard lock(mutex);
            ending = true;
            for (const int socket : sockets) ::shutdown(socket, SHUT_RDWR);
        }
        changed.notify_all();
        if (!thread.joinable()) return;
        while (!is_running() && !ended)
            std::this_thread::yield();  // between its start and its loop, stop() does nothing
        httplib::Server::stop();
        thread.join();
    }

    Result<int> listen_at(const std::string& address, int port) {
        errno = 0;
        const int bound = port == 0 ? bind_to_any_port(address) : bind_to_port(address, port) ? port : -1;
        if (bound < 0)
            return Error{errno == EADDRINUSE || errno == EACCES
                             ? std::string(std::strerror(errno)) + "; --port 0 takes a free one"
                             : "this machine has no such address"};
        ::listen(svr_sock_, most_connections);  // the library's queue has room for five
        return bound;
    }

    void run() {
        thread = std::thread([this] {
            listen_after_bind();
            ended = true;
        });
    }

    void answer(const Request& request, httplib::Response& to) {
        Answer answer = site.answer(request);
        to.status = answer.status;
        for (const auto& [name, value] : answer.headers) to.set_header(name.c_str(), value);
        unread = request.body;
        if (answer.events) return send_events(*answer.events, to);
        const Text body = answer.body;
        if (!body || body->empty()) return;
        // The library would copy a text; many viewers share it.
        to.set_content_provider(body->size(), answer.type,
                                [body](std::size_t from, std::size_t size, httplib::DataSink& sink) {
                                    return sink.write(body->data() + from, size);
                                });
    }

    void send_events(const std::string& study, httplib::Response& to) {
        if (++listeners > most_listeners) {
            --listeners;
            to.status = 503;
            to.set_header("Retry-After", "5");
            to.set_content("too many listen\n", "text/plain");
            return;
        }
        if (current != nullptr) current->without_end();
        to.set_header("X-Accel-Buffering", "no");
        auto listener = std::make_shared<Listener>(study);
        to.set_chunked_content_provider(
            "text/event-stream",
            [this, listener](std::size_t, httplib::DataSink& sink) { return send_event(*listener, sink); },
            [this](bool) { --listeners; });
    }

    struct Listener {
        explicit Listener(std::string of) : study(std::move(of)) {}
        const std::string study;
        std::string version;
        int silent = 0;  ///< seconds since something was sent
    };

    /// Sends new events, then waits for a second. Returns false when the events end with the connection.
    bool send_event(Listener& listener, httplib::DataSink& sink) try {
        const auto send = [&](const std::string& text) {
            listener.silent = 0;
            return sink.write(text.data(), text.size());
        };
        const auto version = site.version(listener.study);
        if (!version) {
            send("event: gone\ndata: \n\n");
            sink.done();
            return true;
        }
        if (*version != listener.version) {
            listener.version = *version;
            if (!send("event: changed\ndata: " + *version + "\n\n")) return false;
        } else if (++listener.silent >= 15 && !send(": nothing new\n\n")) {
            return false;
        }
        std::unique_lock lock(mutex);
        return !changed.wait_for(lock, std::chrono::seconds(1), [&] { return ending; });
    } catch (const std::exception&) {
        return false;  // no memory, perhaps: the browser asks again
    }

    bool process_and_close_socket(socket_t socket) override {
        Connection connection(socket, tls.get());
        if (turned_away) return false;
        {
            const std::lock_guard lock(mutex);
            if (ending) return false;
            sockets.insert(socket);
        }
        current = &connection;
        ConnectionStream stream(connection);
        bool closing = false;
        unread = false;
        while (!closing && !unread && connection.next_request())
            if (!process_request(stream, false, closing, [](httplib::Request&) {})) break;
        current = nullptr;
        const std::lock_guard lock(mutex);
        sockets.erase(socket);
        return true;
    }

    static thread_local bool unread;  ///< true if the body of this thread's request was left unread

    Site& site;
    const Tls tls;
    std::mutex mutex;  ///< of `ending` and `sockets`
    std::condition_variable changed;
    bool ending = false;
    std::unordered_set<int> sockets;
    std::atomic<std::size_t> listeners{0};
    std::atomic<bool> ended{false};
    std::thread thread;
};

thread_local bool Server::Parts::unread = false;

Server::Server(Site& site, Tls tls) : parts_(std::make_unique<Parts>(site, std::move(tls))) {}
Server::~Server() = default;

Result<int> Server::listen(const std::string& address, int port) { return parts_->listen_at(address, port); }
void Server::start() { parts_->run(); }

}  // namespace hpo::serve
