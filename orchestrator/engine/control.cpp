#include "orchestrator/engine/control.hpp"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "orchestrator/engine/control_port.hpp"

namespace hpo {

namespace asio = boost::asio;
using Json = nlohmann::json;

std::string answer_control(const std::string& line, const std::string& study, const ControlActions& actions) {
    const auto refuse = [](const std::string& why) { return Json{{"ok", false}, {"error", why}}.dump() + '\n'; };
    const Json request = Json::parse(line, nullptr, false);
    if (!request.is_object() || !request.contains("op")) return refuse("not a request: a JSON object with \"op\"");
    const Json& op = request["op"];
    if (op == "status")
        return Json{{"ok", true}, {"study", study}, {"pid", getpid()}, {"running", actions.running()}}.dump() + '\n';
    if (op != "stop") return refuse("unknown op; known: status, stop");
    if (!request.contains("trial")) return actions.stop_study(), Json{{"ok", true}}.dump() + '\n';
    if (!request["trial"].is_number_integer()) return refuse("\"trial\" is a trial's number");
    const auto stopped = actions.stop_trial(request["trial"].get<std::int64_t>());
    return stopped ? Json{{"ok", true}}.dump() + '\n' : refuse(stopped.error().message);
}

namespace {

constexpr std::chrono::milliseconds serve_again{100};  // once no descriptor was left

}  // namespace

struct ControlServer::Impl : std::enable_shared_from_this<Impl> {
    Impl(asio::io_context& loop, std::filesystem::path path, ControlPort opened)
        : socket(std::move(path)), port(std::move(opened)), readable(loop, port.descriptor()), pause(loop) {}
    ~Impl() { (void)readable.release(); }  // the port closes it

    void listen() {
        readable.async_wait(asio::posix::stream_descriptor::wait_read, [weak = weak_from_this()](auto error) {
            if (const auto self = weak.lock(); self && !error) self->serve();
        });
    }

    void serve() {
        if (port.serve()) return listen();
        pause.expires_after(serve_again);
        pause.async_wait([weak = weak_from_this()](auto error) {
            if (const auto self = weak.lock(); self && !error) self->serve();
        });
    }

    std::filesystem::path socket;
    ControlPort port;
    asio::posix::stream_descriptor readable;
    asio::steady_timer pause;
};

Result<ControlServer> ControlServer::open(asio::io_context& loop, const std::filesystem::path& socket,
                                          std::string study, ControlActions actions) {
    auto port = ControlPort::open(socket, std::move(study), std::move(actions));
    if (!port) return port.error();
    ControlServer server;
    server.impl_ = std::make_shared<Impl>(loop, socket, *std::move(port));
    server.impl_->listen();
    return server;
}

ControlServer::~ControlServer() {
    if (!impl_) return;  // moved from
    std::error_code ignored;
    std::filesystem::remove(impl_->socket, ignored);
}

}  // namespace hpo
