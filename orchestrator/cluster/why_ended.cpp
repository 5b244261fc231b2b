#include "orchestrator/cluster/why_ended.hpp"

#include <sys/wait.h>

#include <string_view>

#include "orchestrator/cluster/agent.hpp"

namespace hpo::cluster {

namespace {

constexpr int ssh_failed = 255, not_found = 127, not_executable = 126;

struct Cure {
    std::string_view sign, cure;
};
constexpr Cure cures[] = {
    {"Could not resolve hostname", "; correct the name, or add it to ~/.ssh/config"},
    {"Connection refused", "; start sshd there, or correct the port in ~/.ssh/config"},
    {"timed out", "; check that the host is up and can be reached"},
    {"No route to host", "; check that the host is up and can be reached"},
    {"Host key verification failed", "; log in once by hand to accept its key"},
    {"Permission denied", "; let ssh log in without a question (ssh-copy-id, or an agent of keys)"},
};

std::string_view cure_of(std::string_view printed) {
    for (const Cure& one : cures)
        if (printed.find(one.sign) != std::string_view::npos) return one.cure;
    return "";
}

std::string without_dot(std::string text) {
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace

std::string why_ended(const std::string& program, int status, const std::string& printed) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const std::string with_line = printed.empty() ? "" : ": " + printed;
    if (program == "ssh" && code == ssh_failed)
        return printed.empty() ? "ssh exited with status 255" : without_dot(printed) + std::string(cure_of(printed));
    if (program == "ssh" && (code == not_found || code == not_executable))
        return "hpo cannot be started there, neither under the path that it has here nor by PATH" + with_line +
               "; install it there";
    if (code == agent_heard_nothing) return "its agent heard nothing from here for 25 s";
    if (code != 0) return "its agent exited with status " + std::to_string(code) + with_line;
    if (WIFSIGNALED(status)) return "its agent died of signal " + std::to_string(WTERMSIG(status)) + with_line;
    return "its agent ended" + with_line;
}

}  // namespace hpo::cluster
