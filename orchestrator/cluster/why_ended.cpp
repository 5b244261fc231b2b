#include "orchestrator/cluster/why_ended.hpp"

#include <sys/wait.h>

#include "hpo/printable.hpp"
#include "orchestrator/cluster/agent.hpp"

namespace hpo::cluster {

namespace {

constexpr int ssh_failed = 255, not_found = 127, not_executable = 126;
constexpr std::size_t longest_line = 300;

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

/// Returns true if a shell says that the program is for other processors.
bool is_for_others(std::string_view printed) {
    return printed.find("Exec format error") != printed.npos || printed.find("cannot execute binary") != printed.npos;
}

}  // namespace

std::string why_ended(const std::string& program, int status, const std::string& printed) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const std::string with_line = printed.empty() ? "" : ": " + printed;
    if (program == "ssh" && code == ssh_failed)
        return printed.empty() ? "ssh exited with status 255" : without_dot(printed) + std::string(cure_of(printed));
    if (cannot_be_started(program, status) && is_for_others(printed))
        return "the hpo that it finds is built for another kind of processor" + with_line +
               "; install there, on PATH, the hpo of this version for its processor";
    if (cannot_be_started(program, status))
        return "hpo cannot be started there, neither under the path that it has here nor by PATH" + with_line +
               "; install it there";
    if (heard_nothing(status)) return "its agent heard nothing from here for 25 s";
    if (code != 0) return "its agent exited with status " + std::to_string(code) + with_line;
    if (WIFSIGNALED(status)) return "its agent died of signal " + std::to_string(WTERMSIG(status)) + with_line;
    return "its agent ended" + with_line;
}

bool cannot_be_started(const std::string& program, int status) {
    if (program != "ssh" && program != "srun") return false;
    return WIFEXITED(status) && (WEXITSTATUS(status) == not_found || WEXITSTATUS(status) == not_executable);
}

bool cannot_reach(const std::string& program, int status) {
    if (!WIFEXITED(status)) return false;
    const int code = WEXITSTATUS(status);
    return program == "ssh" ? code == ssh_failed : program == "srun" && code > 0 && code < not_executable;
}

bool heard_nothing(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == agent_heard_nothing; }

std::string telling_line(std::string_view printed) {
    std::string_view last;
    while (!printed.empty()) {
        while (!printed.empty() && (printed.back() == '\n' || printed.back() == '\r' || printed.back() == ' '))
            printed.remove_suffix(1);
        const auto end = printed.rfind('\n');
        const std::string_view line = printed.substr(end == printed.npos ? 0 : end + 1);
        if (last.empty()) last = line;
        const bool repeats = line.starts_with("srun: error: ") && line.find("Exited with exit code") != line.npos;
        if (!repeats && !line.empty()) {
            last = line;
            break;
        }
        printed = printed.substr(0, end == printed.npos ? 0 : end);
    }
    return printable(last.substr(0, longest_line));
}

}  // namespace hpo::cluster
