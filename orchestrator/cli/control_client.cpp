#include "orchestrator/cli/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "hpo/descriptor.hpp"
#include "os/descriptors.hpp"

namespace hpo {

Result<std::string> ask(const std::string& path, const std::string& line, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return Error{"it has no control socket: it has just started, or could not make one"};
    std::memcpy(address.sun_path, path.c_str(), path.size());

    const Descriptor socket = os::open_socket(AF_UNIX, SOCK_STREAM, os::Calls::return_at_once);
    const auto failed = [&](const char* problem) { return Error{path + ": " + problem + ": " + std::strerror(errno)}; };
    if (!socket) return failed("cannot create a socket");
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return failed("cannot connect");
    const std::string request = line + '\n';
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        return failed("cannot send");

    std::string answer;
    constexpr std::size_t max_answer = 64 * 1024;
    while (answer.size() < max_answer) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd readable{socket.get(), POLLIN, 0};
        const int ready = left > 0 ? ::poll(&readable, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return Error{path + ": no answer within " + std::to_string(static_cast<int>(seconds)) + " s"};
        char buffer[4096];
        const auto size = ::recv(socket.get(), buffer, sizeof buffer, 0);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (size <= 0) return Error{path + ": the connection was closed without an answer"};
        answer.append(buffer, static_cast<std::size_t>(size));
        if (const auto end = answer.find('\n'); end != std::string::npos) return answer.substr(0, end);
    }
    return Error{path + ": the answer is longer than 64 KiB"};
}

Result<void> ask_to_stop(const Holder& holder, std::optional<std::int64_t> trial) {
    nlohmann::json request{{"op", "stop"}};
    if (trial) request["trial"] = *trial;
    const auto line = ask(holder.socket, request.dump());
    if (!line)
        return Error{"process " + std::to_string(holder.pid) + " on " + holder.host +
                     ", which runs the study, cannot be reached: " + line.error().message};
    const auto answer = nlohmann::json::parse(*line, nullptr, false);
    if (!answer.is_object() || !answer.contains("ok"))
        return Error{"process " + std::to_string(holder.pid) + " sent an invalid answer"};
    if (answer["ok"] == true) return {};
    return Error{answer.contains("error") && answer["error"].is_string() ? answer["error"].get<std::string>()
                                                                         : "refused without a reason"};
}

}  // namespace hpo
