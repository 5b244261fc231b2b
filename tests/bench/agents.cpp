// Many agents in one process, for tests/bench/agents: each joins a study by its join file, as `hpo agent` does, and
// speaks the protocol of an agent and of its one worker. No program is started.
//
//     bench_agents JOIN_FILE AGENTS SECONDS PAUSE LOST_EACH
//
// PAUSE: seconds between two steps of a trial. LOST_EACH: seconds after which a random agent is cut off, and another
// one joins; 0: none.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hpo/lines.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cluster/codec.hpp"
#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/cluster/stream.hpp"
#include "orchestrator/cluster/tls_link.hpp"
#include "orchestrator/execution/limits.hpp"

namespace {

using namespace hpo;
using namespace hpo::cluster;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t joining_at_once = 32;  ///< the orchestrator takes 64 unknown connections
constexpr std::int64_t worker_bytes = 64 << 20;

struct Figures {
    std::vector<double> decisions;  ///< milliseconds from a report to its decision
    std::size_t messages = 0;       ///< from agents
    std::size_t steps = 0, finished = 0, joined = 0, lost = 0, refused = 0;
};

struct Bench {
    asio::io_context loop{1};
    JoinFile file;
    std::shared_ptr<asio::ssl::context> tls;
    double pause = 1;
    Figures figures;
};

class FakeAgent : public std::enable_shared_from_this<FakeAgent> {
   public:
    FakeAgent(Bench& bench, std::string name)
        : bench_(bench), name_(std::move(name)), second_(bench.loop), step_timer_(bench.loop) {}

    void join() {
        tcp::socket socket(bench_.loop);
        socket.connect(tcp::endpoint(asio::ip::make_address(bench_.file.addresses.front()), bench_.file.port));
        prepare(socket);
        link_ = std::make_shared<TlsLink>(std::move(socket), bench_.tls);
        const std::weak_ptr<FakeAgent> weak = weak_from_this();
        link_->tell({.open =
                         [weak] {
                             if (const auto self = weak.lock())
                                 self->link_->send(JoinKind::join, encode(Join{"", self->name_, 0}));
                         },
                     .frame =
                         [weak](JoinKind kind, std::string_view payload) {
                             if (const auto self = weak.lock()) self->take(kind, payload);
                         },
                     .ended =
                         [weak](TlsLink::End, const std::string&) {
                             if (const auto self = weak.lock()) self->lose(false);
                         }});
        link_->start(TlsRole::client);
    }

    /// Cuts the connection, as when the host loses its power.
    void lose(bool on_purpose) {
        if (lost_) return;
        lost_ = true;
        ++(on_purpose ? bench_.figures.lost : bench_.figures.refused);
        second_.cancel();
        step_timer_.cancel();
        link_->close();
    }
    [[nodiscard]] bool is_up() const { return up_ && !lost_; }
    [[nodiscard]] bool is_joining() const { return !up_ && !lost_; }

   private:
    void take(JoinKind kind, std::string_view payload) {
        if (kind == JoinKind::welcome) return send_bytes(cluster::encode(Opening{stream_version, version}));
        if (kind == JoinKind::refused) return lose(false);
        if (kind != JoinKind::data) return;
        received_ += payload.size();
        stream_.feed(payload, [this](std::uint8_t number, std::string_view bytes) {
            if (const auto message = decode_to_agent(number, bytes))
                std::visit([this](const auto& order) { carry_out(order); }, *message);
        });
    }

    void send_bytes(const std::string& bytes) { link_->send(JoinKind::data, bytes); }
    void send(const FromAgent& message) {
        ++bench_.figures.messages;
        send_bytes(cluster::encode(message));
    }
    void send_of_worker(const WorkerMessage& message) {
        send(from_agent::Happened{slot_, execution::Received{message}});
    }

    [[nodiscard]] from_agent::Reading reading() const {
        from_agent::Reading reading;
        reading.host = {.cores = 1, .memory = std::int64_t{8} << 30, .free = std::int64_t{7} << 30};
        if (works_) reading.workers.push_back({slot_, worker_bytes, 0});
        return reading;
    }

    void tick() {
        second_.expires_after(1s);
        second_.async_wait([self = shared_from_this()](error_code error) {
            if (error || self->lost_) return;
            self->link_->send(JoinKind::confirm, encode_confirm(self->received_));
            self->send(self->reading());
            self->tick();
        });
    }

    // ---- Orders to the agent.

    void carry_out(const to_agent::Setup&) {
        up_ = true;
        ++bench_.figures.joined;
        send(from_agent::Hello{.host = name_, .workers = 1, .reading = reading()});
        tick();
    }
    void carry_out(const to_agent::Heartbeat&) {}
    void carry_out(const to_agent::LogTo&) {}
    void carry_out(const to_agent::Holds&) {}
    void carry_out(const to_agent::Launch& order) {
        slot_ = order.slot;
        works_ = true;
        send(from_agent::Happened{slot_, execution::Ready{from_worker::Hello{.pid = 1, .backend = "cpu"}}});
    }
    void carry_out(const to_agent::Terminate&) { exited(); }
    void carry_out(const to_agent::Kill&) { exited(); }
    void carry_out(const to_agent::Send& order) {
        LineSplitter lines(most_payload);
        lines.feed(order.lines, [&](std::string_view line) {
            if (const auto message = wire::decode_orchestrator(line))
                std::visit([this](const auto& m) { take(m); }, *message);
        });
    }
    void exited() {
        if (std::exchange(works_, false)) send(from_agent::Happened{slot_, execution::Exited{}});
    }

    // ---- Messages to its worker.

    template <class Other>
    void take(const Other&) {}
    void take(const to_worker::Run& run) {
        run_ = run;
        step_ = 0;
        send_of_worker(from_worker::Started{run.id});
        step_soon();
    }
    void take(const to_worker::Decision& decision) {
        if (!run_ || decision.step != step_) return;
        const std::chrono::duration<double, std::milli> took = Clock::now() - reported_;
        bench_.figures.decisions.push_back(took.count());
        if (decision.action == to_worker::Action::stop) return finish(Outcome::stopped);
        if (decision.action == to_worker::Action::pause) return finish(Outcome::paused);
        step_ < run_->steps ? step_soon() : finish(Outcome::complete);
    }
    void take(const to_worker::Stop& stop) {
        if (run_ && stop.id == run_->id) finish(Outcome::stopped);
    }
    void take(const to_worker::Shutdown&) { exited(); }

    void step_soon() {
        step_timer_.expires_after(
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bench_.pause)));
        step_timer_.async_wait([self = shared_from_this()](error_code error) {
            if (!error && !self->lost_ && self->run_) self->step();
        });
    }
    void step() {
        from_worker::Reported reported{.id = run_->id, .report = {}};
        reported.report.step = ++step_;
        const double rank = static_cast<double>(run_->id.trial * 2654435761 % 1000);
        reported.report.metrics = {{"loss", rank + 1.0 / static_cast<double>(step_)}};
        reported_ = Clock::now();
        ++bench_.figures.steps;
        send_of_worker(reported);
    }
    void finish(Outcome outcome) {
        ++bench_.figures.finished;
        step_timer_.cancel();
        from_worker::Finished finished{};
        finished.id = run_->id;
        finished.outcome = outcome;
        run_.reset();
        send_of_worker(finished);
    }

    Bench& bench_;
    std::string name_;
    asio::steady_timer second_, step_timer_;
    std::shared_ptr<TlsLink> link_;
    StreamReader stream_;
    std::uint64_t received_ = 0;
    int slot_ = 0;
    bool up_ = false, works_ = false, lost_ = false;
    std::optional<to_worker::Run> run_;
    std::int64_t step_ = 0;
    Clock::time_point reported_;
};

double quantile(std::vector<double>& values, double share) {
    if (values.empty()) return 0;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) return std::fprintf(stderr, "bench_agents JOIN_FILE AGENTS SECONDS PAUSE LOST_EACH\n"), 2;
    raise_soft_limits();
    Bench bench;
    auto file = read_join_file(argv[1]);
    if (!file) return std::fprintf(stderr, "%s\n", file.error().message.c_str()), 1;
    bench.file = *std::move(file);
    bench.tls = tls_of(TlsRole::client, key_bytes(bench.file.key));
    const auto wanted = static_cast<std::size_t>(std::atoll(argv[2]));
    const std::chrono::duration<double> measured(std::atof(argv[3])), lost_each(std::atof(argv[5]));
    bench.pause = std::atof(argv[4]);
    std::vector<std::shared_ptr<FakeAgent>> agents;
    std::mt19937 random(1);
    std::size_t named = 0;
    const auto began = Clock::now();
    std::optional<Clock::time_point> full;  // since when all have joined
    auto next_loss = began;
    while (!full || Clock::now() - *full < measured) {
        std::erase_if(agents, [](const auto& agent) { return !agent->is_up() && !agent->is_joining(); });
        const auto joining = static_cast<std::size_t>(
            std::count_if(agents.begin(), agents.end(), [](const auto& agent) { return agent->is_joining(); }));
        for (std::size_t more = joining; more < joining_at_once && agents.size() < wanted; ++more) {
            agents.push_back(std::make_shared<FakeAgent>(bench, "fake" + std::to_string(++named)));
            agents.back()->join();
        }
        if (!full && agents.size() == wanted && joining == 0) {
            full = next_loss = Clock::now();
            std::printf("%zu agents joined in %.1f s\n", wanted, std::chrono::duration<double>(*full - began).count());
            std::fflush(stdout);
            const std::size_t again = bench.figures.joined;
            bench.figures = {};
            bench.figures.joined = again;
        }
        if (full && lost_each.count() > 0 && Clock::now() >= next_loss) {
            next_loss += std::chrono::duration_cast<Clock::duration>(lost_each);
            agents[random() % agents.size()]->lose(true);
        }
        bench.loop.run_for(10ms);
        bench.loop.restart();
        if (!full && Clock::now() - began > 300s) return std::fprintf(stderr, "not all agents could join\n"), 1;
    }
    Figures& figures = bench.figures;
    const double seconds = std::chrono::duration<double>(Clock::now() - *full).count();
    std::printf("%.0f s: %.0f messages/s of agents, %.0f steps/s, %.1f trials/s; %zu cut off, %zu turned away\n",
                seconds, static_cast<double>(figures.messages) / seconds, static_cast<double>(figures.steps) / seconds,
                static_cast<double>(figures.finished) / seconds, figures.lost, figures.refused);
    std::printf("from a report to its decision: median %.2f ms, 99 of 100 within %.2f ms, longest %.2f ms\n",
                quantile(figures.decisions, 0.5), quantile(figures.decisions, 0.99), quantile(figures.decisions, 1));
    return 0;
}
