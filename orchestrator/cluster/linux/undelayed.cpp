#include "orchestrator/cluster/undelayed.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <string>

#include "hpo/descriptor.hpp"

namespace hpo::cluster {

namespace {

bool is_tcp(int socket) {
    int protocol = 0;
    socklen_t size = sizeof protocol;
    return ::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

}  // namespace

int send_without_delay(pid_t child) {
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (!process) return 0;
    int set = 0;
    std::error_code failed;
    for (std::filesystem::directory_iterator one("/proc/" + std::to_string(child) + "/fd", failed), end;
         !failed && one != end; one.increment(failed)) {
        std::error_code gone;
        if (!std::filesystem::read_symlink(one->path(), gone).string().starts_with("socket:")) continue;
        const std::string name = one->path().filename().string();
        int number = -1;
        std::from_chars(name.data(), name.data() + name.size(), number);
        const Descriptor socket(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)));
        const int on = 1;
        if (socket && is_tcp(socket.get()) && ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0)
            ++set;
    }
    return set;
}

}  // namespace hpo::cluster
