#include "orchestrator/script/rank_launcher.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "hpo/descriptor.hpp"
#include "hpo/printable.hpp"
#include "hpo/shortage.hpp"
#include "orchestrator/execution/child.hpp"
#include "orchestrator/execution/signal_queue.hpp"
#include "orchestrator/execution/system.hpp"
#include "orchestrator/script/die_of.hpp"
#include "orchestrator/script/launcher_variables.hpp"
#include "orchestrator/script/rank_records.hpp"
#include "orchestrator/script/ranks.hpp"
#include "os/descriptors.hpp"
#include "os/process.hpp"
#include "os/readiness.hpp"

namespace hpo {

namespace {

using std::string;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int cannot_start_ranks = 127;
constexpr std::size_t piece_bytes = 16 * 1024;
constexpr std::size_t last_pieces = 64;  ///< that are read of a rank that has ended; a child of it may print for ever

/// A port that no other process gets while this socket is open, since it is bound. Rank 0 can listen there, as a socket
/// with SO_REUSEADDR may be bound beside another one with it that does not listen.
struct ReservedPort {
    Descriptor socket;
    std::uint16_t port = 0;
};

ReservedPort reserve_port(int family) {
    ReservedPort reserved;
    reserved.socket = os::open_socket(family, SOCK_STREAM);
    const int on = 1, off = 0;
    sockaddr_storage address{};
    socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    address.ss_family = static_cast<sa_family_t>(family);  // any address and any port
    if (!reserved.socket || ::setsockopt(reserved.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (family == AF_INET6 && ::setsockopt(reserved.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0) ||
        ::bind(reserved.socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::getsockname(reserved.socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return {};
    reserved.port = ntohs(family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
    return reserved;
}

class RankLauncher {
   public:
    RankLauncher(std::size_t count, milliseconds grace, std::vector<string> command)
        : grace_(grace), command_(std::move(command)), ends_(count) {
        for (std::size_t rank = 0; rank < count; ++rank) ranks_.emplace_back(rank);
    }

    int run() {
        os::name_thread("hpo ranks");
        ::signal(SIGPIPE, SIG_IGN);
        if (!signals_ && !complain(string("cannot receive signals: ") + std::strerror(errno)))
            return cannot_start_ranks;
        if (!start_all()) return cannot_start_ranks;
        while (!ends_.all_ended()) {
            wait_for_something();
            take_signals();
            for (Rank& rank : ranks_) relay(rank, 1);
            reap();
            if (kill_at_ && Clock::now() >= *kill_at_) signal_all(SIGKILL), kill_at_.reset();
        }
        return end();
    }

   private:
    struct Rank {
        explicit Rank(std::size_t number) : lines(number) {}
        supervisor::Child process;  ///< pid 0 once it has ended
        Descriptor death;           ///< readable when it ends; empty where the system has no handles of processes
        script::RankLines lines;
        int sent = 0;  ///< the last signal that it got, since another rank had failed or this process was told to end
    };

    bool start_all() {
        port_ = reserve_port(AF_INET6);
        if (port_.port == 0) port_ = reserve_port(AF_INET);
        if (port_.port == 0) return complain(string("cannot reserve a port: ") + std::strerror(errno));
        script::leave_launcher();
        // Gloo looks up the name of the host otherwise, which need not have an address.
        ::setenv("GLOO_SOCKET_IFNAME", "lo", 0);
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            supervisor::Start order;
            order.command = command_;
            order.environment = script::rank_variables(rank, ranks_.size(), port_.port);
            if (rank > 0) order.environment.emplace_back("HPO_REPORTS=");  // rank 0 alone writes there
            const bool first = rank == 0;
            supervisor::Child& child = ranks_[rank].process;
            ShortageWait shortage;
            do child = supervisor::start_child(order, first ? 0 : -1, first ? 1 : -1, first ? 2 : -1);
            while (child.pid == 0 && shortage.try_again_after(child.error));
            // The ranks before it die with this process.
            if (child.pid == 0) return complain("cannot " + child.failed + ": " + std::strerror(child.error));
            ranks_[rank].death = system::open_process(child.pid);
            if (!deaths_.add(ranks_[rank].death.get(), rank)) ranks_[rank].death.reset();
        }
        return true;
    }

    static bool complain(const string& text) {
        std::fprintf(stderr, "%s\n", printable(text).c_str());
        return false;
    }

    void wait_for_something() {
        int timeout = -1;
        if (kill_at_) {
            const auto left = std::chrono::ceil<milliseconds>(*kill_at_ - Clock::now()).count();
            timeout = static_cast<int>(std::max<decltype(left)>(left, 0));
        }
        std::vector<pollfd> watched{{signals_.descriptor(), POLLIN, 0}};
        for (const Rank& rank : ranks_) watched.push_back({rank.process.output.get(), POLLIN, 0});
        (void)::poll(watched.data(), watched.size(), timeout);
    }

    void take_signals() {
        for (const int signal : signals_.take()) {
            if (signal == SIGCHLD) continue;
            told_to_end_ = true;
            signal_all(signal);
        }
    }

    /// Each rank leads a process group of its own.
    void signal_all(int signal) {
        for (Rank& rank : ranks_)
            if (rank.process.pid != 0) ::kill(-rank.process.pid, rank.sent = signal);
    }

    void relay(Rank& rank, std::size_t most_pieces) {
        char buffer[piece_bytes];
        for (std::size_t piece = 0; rank.process.output && piece < most_pieces; ++piece) {
            const ssize_t size = ::read(rank.process.output.get(), buffer, sizeof buffer);
            if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
            if (size <= 0) return rank.process.output.reset();
            print(rank.lines.feed({buffer, static_cast<std::size_t>(size)}));
        }
    }

    static void print(const string& lines) {
        if (!lines.empty()) tell(script::lines_record(lines));
    }

    static void tell(std::string_view record) {
        while (!record.empty()) {
            const ssize_t size = ::write(script::rank_records_descriptor, record.data(), record.size());
            if (size < 0 && errno != EINTR) return;
            if (size > 0) record.remove_prefix(static_cast<std::size_t>(size));
        }
    }

    /// Takes in the ends of ranks in their order, which tells the one that failed from those that failed with it. epoll
    /// keeps that order, however late this process gets to run.
    void reap() {
        std::vector<std::uint64_t> ended;
        while (deaths_ && !(ended = deaths_.ready()).empty())
            for (const std::uint64_t rank : ended) reap(ranks_[rank]);
        for (Rank& rank : ranks_)
            if (!rank.death) reap(rank);  // where the system has no handles
    }

    void reap(Rank& rank) {
        int status = 0;
        rusage usage{};
        if (rank.process.pid == 0 || ::wait4(rank.process.pid, &status, WNOHANG, &usage) != rank.process.pid) return;
        rank.process.pid = 0;
        rank.death.reset();
        relay(rank, last_pieces);
        print(rank.lines.rest());
        const auto number = static_cast<std::size_t>(&rank - ranks_.data());
        tell(script::end_record({number, status, rank.sent, os::largest_resident(usage), rank.lines.tail()}));
        if (!ends_.ended(number, status) || told_to_end_) return;
        signal_all(SIGTERM);
        kill_at_ = Clock::now() + grace_;
    }

    [[nodiscard]] int end() const {
        if (!ends_.failure()) return 0;
        if (!told_to_end_) print(script::failure_line(*ends_.failure()) + '\n');
        const int status = ends_.failure()->status;
        if (WIFSIGNALED(status)) script::die_of(WTERMSIG(status));
        return WEXITSTATUS(status);
    }

    milliseconds grace_;
    std::vector<string> command_;
    SignalQueue signals_{SIGCHLD, SIGTERM, SIGINT, SIGHUP};
    os::Readiness deaths_;
    ReservedPort port_;
    std::vector<Rank> ranks_;
    script::RankEnds ends_;
    bool told_to_end_ = false;                  ///< by a signal: the ends of the ranks are no failures
    std::optional<Clock::time_point> kill_at_;  ///< end of the time that the others have after one has failed
};

}  // namespace

std::vector<string> ranks_command(std::int64_t count, double grace, std::vector<string> command) {
    std::vector<string> all{os::own_program(), ranks_command_name, std::to_string(count),
                            std::to_string(static_cast<std::int64_t>(grace * 1000))};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

int run_ranks(int argc, char** argv) {
    const std::size_t count = argc < 5 ? 0 : std::strtoul(argv[2], nullptr, 10);
    if (count == 0) return cannot_start_ranks;
    return RankLauncher(count, milliseconds(std::atoll(argv[3])), {argv + 4, argv + argc}).run();
}

}  // namespace hpo
