#include "tests/support/fake_misdeeds.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace hpo::fake {

void sleep_forever() {
    for (;;) ::pause();
}

void write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::write(fd, bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) ::_exit(3);
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
}

namespace {

/// Runs `act` in a detached process: forked twice, in a session of its own.
template <class F>
void detached(F&& act) {
    const pid_t middle = ::fork();
    if (middle == 0) {
        ::setsid();
        if (::fork() == 0) {
            act();
            ::_exit(0);
        }
        ::_exit(0);
    }
    // The process in the middle stays a zombie, as with a worker that does not reap its children.
}

void ignore(std::initializer_list<int> signals) {
    for (const int signal : signals) ::signal(signal, SIG_IGN);
}

int signal_number(const std::string& name) {
    for (int number = 1; number < 32; ++number)
        if (const char* abbreviation = ::sigabbrev_np(number);
            abbreviation != nullptr && "SIG" + std::string(abbreviation) == name)
            return number;
    return SIGKILL;
}

void flood(int fd, std::string_view block, long bytes) {
    for (; bytes > 0; bytes -= static_cast<long>(block.size()))
        write_all(fd,
                  block.substr(0, static_cast<std::size_t>(std::min<long>(bytes, static_cast<long>(block.size())))));
}

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

using Misdeed = void (*)(const Directive&, int socket);

// clang-format off
const std::map<std::string_view, Misdeed> misdeeds{
    {"die", [](const Directive& d, int) { const int signal = signal_number(d.value); ::signal(signal, SIG_DFL); ::raise(signal); }},
    {"exit", [](const Directive& d, int) { ::_exit(static_cast<int>(d.count(1))); }},
    {"silent", [](const Directive&, int) { sleep_forever(); }},
    {"spin", [](const Directive&, int) { for (volatile long i = 0;;) (void)i; }},
    {"sleep", [](const Directive& d, int) { ::usleep(static_cast<useconds_t>(d.number(0.01) * 1e6)); }},
    {"ignore-term", [](const Directive&, int) { ignore({SIGTERM, SIGINT, SIGHUP}); }},
    {"say", [](const Directive& d, int) { write_all(1, d.value + "\n"); }},
    {"escapes", [](const Directive&, int) { write_all(1, "\x1b[2J\x1b]0;owned\a red\x1b[31m \xff\xfe end\n"); }},
    {"spew", [](const Directive& d, int) { flood(1, repeated("The quick brown fox jumps over the lazy dog, on and on.\n", 1000), d.count(10'000'000)); }},
    {"allocate", [](const Directive& d, int) { const auto size = static_cast<std::size_t>(d.count(16)) << 20; std::memset(std::malloc(size), 1, size); }},
    {"children", [](const Directive& d, int) { for (long i = d.count(1); i > 0; --i) detached([] { ignore({SIGTERM}); sleep_forever(); }); }},
    {"siblings", [](const Directive& d, int) { for (long i = d.count(1); i > 0; --i) if (::fork() == 0) sleep_forever(); }},
    {"daemon", [](const Directive& d, int) {
        for (long i = d.count(1); i > 0; --i) detached([] { for (int fd = 0; fd < 64; ++fd) ::close(fd); (void)!::chdir("/"); sleep_forever(); });
    }},
    {"envless", [](const Directive& d, int) {
        detached([&] { char* none[] = {nullptr}; ::execle("/bin/sleep", "sleep", d.value.c_str(), nullptr, none); ::_exit(1); });
    }},
    {"envless-group", [](const Directive& d, int) {
        if (::fork() != 0) return;
        ::setpgid(0, 0);
        if (::fork() != 0) ::_exit(0);
        char* none[] = {nullptr};
        ::execle("/bin/sleep", "sleep", d.value.c_str(), nullptr, none);
        ::_exit(1);
    }},
    // A chain of short-lived processes: each forks its successor and dies.
    {"chain", [](const Directive&, int) { detached([] { for (;;) { if (::fork() != 0) ::_exit(0); } }); }},
    {"setsid-chain", [](const Directive&, int) { detached([] { for (;;) { if (::fork() != 0) ::_exit(0); ::setsid(); } }); }},
    {"halfline", [](const Directive&, int socket) { write_all(socket, "{\"type\":\"report\",\"tri\n"); }},
    {"cut", [](const Directive&, int socket) { write_all(socket, "{\"type\":\"report\",\"tri"); ::_exit(0); }},
    {"longline", [](const Directive& d, int socket) { flood(socket, std::string(65536, 'x'), d.count(100'000'000)); write_all(socket, "\n"); }},
    {"binary", [](const Directive& d, int socket) {
        std::string bytes;
        unsigned state = 1;
        for (long i = d.count(4096); i > 0; --i) bytes += static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
        write_all(socket, bytes + "\n");
    }},
    {"badutf8", [](const Directive&, int socket) { write_all(socket, "{\"type\":\"log\",\"trial\":0,\"attempt\":0,\"text\":\"\xc3\x28 \xff\"}\n"); }},
    {"nested", [](const Directive& d, int socket) { write_all(socket, std::string(static_cast<std::size_t>(d.count(60000)), '[') + "\n"); }},
    {"blank", [](const Directive& d, int socket) { flood(socket, std::string(65536, '\n'), d.count(1'000'000)); }},
    {"disconnect", [](const Directive&, int socket) { ::shutdown(socket, SHUT_RDWR); sleep_forever(); }},
};
// clang-format on

}  // namespace

bool misbehave(const Directive& directive, int socket) {
    const auto found = misdeeds.find(directive.name);
    if (found == misdeeds.end()) return false;
    found->second(directive, socket);
    return true;
}

}  // namespace hpo::fake
