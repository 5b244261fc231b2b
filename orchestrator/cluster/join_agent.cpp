#include "orchestrator/cluster/join_agent.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cluster/agent.hpp"
#include "orchestrator/cluster/how_left.hpp"
#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/cluster/lasting.hpp"
#include "orchestrator/cluster/relay.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/execution/spawn.hpp"

namespace hpo {

namespace {

using namespace cluster;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr Seconds usual_wait{30};
constexpr milliseconds connected_within{5000};
constexpr milliseconds first_retry{50}, longest_retry{1000};
constexpr milliseconds gone_after{1000};   ///< the orchestrator, of refused connections alone
constexpr milliseconds told_within{5000};  ///< the orchestrator, of the agent's end
constexpr milliseconds child_ends_within{5000};
/// After the session and its orchestrator, where the child first ends its workers and says its last words.
constexpr milliseconds child_ends_by_itself_within{10000};

void say(const std::string& text) { std::fprintf(stderr, "hpo: %s\n", printable(text).c_str()); }

/// The name of a node of Slurm is its own, also where several share a machine.
std::string own_name() {
    const char* node = std::getenv("SLURMD_NODENAME");
    return node != nullptr && *node != '\0' ? node : host_name();
}

/// The answers of the addresses of a join file. At one of several another program may have the port.
struct Answers {
    std::size_t refusals = 0;   ///< addresses at which somebody listens who does not take this agent
    std::size_t nobody = 0;     ///< addresses at which nobody listens
    bool orchestrator = false;  ///< one has the key, and is the orchestrator
    bool other_key = false;     ///< one refuses the key: the join file is old

    /// Returns true if no later try helps. An address that cannot be reached may be that of the right orchestrator.
    [[nodiscard]] bool final(std::size_t addresses) const {
        return orchestrator || refusals == addresses || (other_key && refusals + nobody == addresses);
    }
};

class JoiningAgent {
   public:
    JoiningAgent(std::filesystem::path join_file, std::filesystem::path hpo, std::optional<Seconds> wait)
        : path_(std::move(join_file)), hpo_(std::move(hpo)), wait_(wait.value_or(usual_wait)), may_be_written_(wait) {}
    ~JoiningAgent() {
        if (relay_) relay_->close();
        reap();
    }

    int run() {
        heed_signals();
        read_file();
        loop_.run();
        if (!problem_.empty()) throw Fatal(problem_, relay_ ? 1 : 2);
        return finish();
    }

   private:
    // ---- The wait for an orchestrator.

    /// Reads the join file, which each session of the study writes again, and connects.
    void read_file() {
        std::error_code ignored;
        auto file = read_join_file(path_);
        const bool missing = !file && !std::filesystem::exists(path_, ignored);
        if (missing && !may_be_written_ && path_.filename() != join_file_name)
            return give_up(path_.string() + ": there is no such file; hpo run STUDY --listen writes runs/STUDY/" +
                           join_file_name + ", and --wait 5m waits for this one");
        if (!file) return give_up_unless(missing, file.error().message);
        file_ = *std::move(file);
        tls_ = tls_of(TlsRole::client, key_bytes(file_.key));
        at_ = 0;
        tried_.clear();
        answers_ = {};
        connect();
    }

    /// Tries again for a while where that may help, as in a job whose orchestrator starts beside its agents.
    void give_up_unless(bool may_help, const std::string& problem) {
        const auto now = std::chrono::steady_clock::now();
        if (!may_help || now - begun_ >= wait_) return give_up(problem);
        if (!std::exchange(told_, true)) say(problem + "; tries again for " + duration_text(wait_.count()));
        pause_.expires_after(retry_);
        retry_ = std::min(2 * retry_, longest_retry);
        pause_.async_wait([this](error_code ended) {
            if (!ended && !stopped_) read_file();
        });
    }

    void cannot_join() {
        const auto fresh = read_join_file(path_);
        const bool is_new = fresh && fresh->key != file_.key;
        const bool turned_away = answers_.final(file_.addresses.size());
        const std::string cure = answers_.other_key && turned_away
                                     ? "; if the file is of an earlier session, " + std::string(join_file_name) +
                                           " in the study's folder is of the one that runs"
                                 : turned_away ? ""
                                 : answers_.nobody == file_.addresses.size()
                                     ? "; if its session is over, hpo run " + shell_word(file_.study) +
                                           " --listen begins another one and writes this file anew; if it runs, it "
                                           "must listen where this host reaches it (--listen ADDRESS:PORT)"
                                     : "; this host must reach one of these addresses: hpo run --listen ADDRESS:PORT "
                                       "chooses it";
        give_up_unless(!turned_away || is_new, "cannot join " + file_.study + ": " + tried_ + cure);
    }

    // ---- Connections.

    [[nodiscard]] std::string target() const { return file_.addresses[at_] + " port " + std::to_string(file_.port); }

    void connect() {
        error_code error;
        const auto address = asio::ip::make_address(file_.addresses[at_], error);
        if (error) return failed(TlsLink::End::broken, "no address");
        socket_ = tcp::socket(loop_);
        limit_.expires_after(connected_within);
        limit_.async_wait([this](error_code ended) {
            if (ended) return;
            error_code ignored;
            socket_.close(ignored);
            if (link_) {
                link_->close();
                failed(TlsLink::End::broken, "no answer within 5 s");
            }
        });
        socket_.async_connect(tcp::endpoint(address, file_.port), [this](error_code refused) {
            if (stopped_) return;
            // A refused connection has no listener: the orchestrator listens as long as it lives, but one refusal may
            // come from a proxy or a firewall that starts again.
            const bool nobody = refused == asio::error::connection_refused;
            const bool gone = refusals_.observe(std::chrono::steady_clock::now(), nobody) && relay_;
            if (refused == asio::error::operation_aborted) return failed(TlsLink::End::broken, "no answer within 5 s");
            if (refused)
                return failed(gone ? TlsLink::End::refused : TlsLink::End::broken,
                              nobody ? "nobody listens there" : refused.message(), nobody);
            prepare(socket_);
            shake();
        });
    }

    void shake() {
        link_ = std::make_shared<TlsLink>(std::move(socket_), tls_);
        link_->tell({.open =
                         [this] {
                             link_->send(JoinKind::join, encode(Join{session_, relay_ ? "" : own_name(),
                                                                     relay_ ? relay_->received() : 0}));
                         },
                     .frame = [this](JoinKind kind, std::string_view payload) { answered(kind, payload); },
                     .ended = [this](TlsLink::End end, const std::string& why) { failed(end, why); }});
        link_->start(TlsRole::client);
    }

    void answered(JoinKind kind, std::string_view payload) {
        const auto link = std::exchange(link_, nullptr);
        limit_.cancel();
        const auto welcome = kind == JoinKind::welcome ? decode_welcome(payload) : Result<Welcome>(Error{});
        if (!welcome) {
            link->close();
            answers_.orchestrator |= kind == JoinKind::refused;
            return failed(TlsLink::End::refused,
                          kind == JoinKind::refused ? printable(payload) : "it gives no answer that is understood");
        }
        const bool again = relay_ != nullptr;
        if (!again) {
            session_ = welcome->session;
            if (!start_child()) return link->close();
        }
        if (!relay_->attach(link, welcome->received))
            return give_up("what the orchestrator has missed is not kept any more");
        retry_ = first_retry;
        say(again ? "connected again" : "joined " + file_.study + " at " + target() + "; Ctrl-C leaves it");
    }

    /// A connection could not be made, or another one is needed.
    void failed(TlsLink::End end, const std::string& why, bool nobody_listens = false) {
        limit_.cancel();
        link_.reset();
        if (stopped_) return;
        if (!relay_) {
            tried_ += (tried_.empty() ? "" : "; ") + target() + ": " + why;
            answers_.refusals += end == TlsLink::End::broken ? 0 : 1;
            answers_.nobody += nobody_listens ? 1 : 0;
            answers_.other_key |= end == TlsLink::End::other_key;
            return ++at_ < file_.addresses.size() ? connect() : cannot_join();
        }
        if (end != TlsLink::End::broken) return dismissed("the orchestrator of " + file_.study + " is gone: " + why);
        pause_.expires_after(retry_);
        retry_ = std::min(2 * retry_, longest_retry);
        pause_.async_wait([this](error_code ended) {
            if (!ended && !stopped_) connect();
        });
    }

    // ---- The agent.

    bool start_child() {
        Descriptor orders_read, orders_write, events_read, events_write;
        if (!make_pipe(orders_read, orders_write) || !make_pipe(events_read, events_write))
            return give_up(std::string("no descriptors are left: ") + std::strerror(errno)), false;
        if (const int error = spawn({.command = {hpo_.string(), agent_command},
                                     .in = orders_read.get(),
                                     .out = events_write.get(),
                                     .error = STDERR_FILENO,
                                     .session = true},
                                    child_))
            return give_up("cannot start " + hpo_.string() + ": " + std::strerror(error)), false;
        relay_ = std::make_shared<Relay>(loop_, std::move(events_read), std::move(orders_write));
        relay_->start({.broken = [this](TlsLink::End end, const std::string& why) { broken(end, why); },
                       .peer_ended =
                           [this](std::string_view words) {
                               const auto farewell = decode_farewell(words);
                               farewell_ = farewell ? *farewell : Farewell{};
                           },
                       .in_ended = [this] { stop_within(told_within); },
                       .out_gone = {},
                       .over = [this] { stop_within(told_within); }});  // the orchestrator closes the connection then
        return true;
    }

    void broken(TlsLink::End end, const std::string& why) {
        if (stopped_) return;
        if (child_ended_ && (farewell_ || end != TlsLink::End::broken)) return stop();
        if (end != TlsLink::End::broken) return dismissed(why);
        say("the connection to " + target() + " broke (" + why + "); trying again");
        failed(end, why);
    }

    /// Ends within `time` after the child's end, once its last messages are sent.
    void stop_within(milliseconds time) {
        if (std::exchange(child_ended_, true)) return;
        if (released_ || (!relay_->is_attached() && !farewell_ && !signalled_)) return stop();
        end_.expires_after(time);
        end_.async_wait([this](error_code ended) {
            if (!ended) stop();
        });
    }

    /// The orchestrator takes no further messages. After its farewell that is no failure: the child ends by it.
    void dismissed(const std::string& why) {
        if (!farewell_ || farewell_->end == SessionEnd::none) return give_up(why);
        released_ = true;
        if (child_ended_) return stop();
        end_.expires_after(child_ends_by_itself_within);
        end_.async_wait([this](error_code ended) {
            if (ended) return;
            say("its agent has not ended " + duration_text(Seconds(child_ends_by_itself_within).count()) +
                " after the session, and is killed");
            ::kill(child_, SIGKILL);
            stop();
        });
    }

    void give_up(const std::string& why) {
        problem_ = why;
        stop();
    }

    void stop() {
        stopped_ = true;
        loop_.stop();
    }

    // ---- The end.

    void heed_signals() {
        signals_.async_wait([this](error_code error, int number) {
            if (error) return;
            const bool first = std::exchange(signalled_, number) == 0;
            if (child_ == 0) return stop();
            ::kill(child_, first ? SIGTERM : SIGKILL);
            if (first) say("leaves " + file_.study + "; its trials go on elsewhere");
            heed_signals();
        });
    }

    /// Waits for the child, which ends its workers when its input closes.
    int reap() {
        int status = 0;
        for (milliseconds waited(0); child_ != 0; waited += milliseconds(5)) {
            const pid_t ended = ::waitpid(child_, &status, WNOHANG);
            if (ended == child_ || (ended < 0 && errno != EINTR)) child_ = 0;
            if (child_ != 0 && waited >= child_ends_within) ::kill(child_, SIGKILL);
            if (child_ != 0) std::this_thread::sleep_for(milliseconds(5));
        }
        return status;
    }

    int finish() {
        if (relay_) relay_->close();
        if (child_ == 0) return exit_status_of(signalled_);
        const HowLeft left =
            how_left(file_.study, reap(), signalled_, farewell_, "hpo agent --join " + shell_word(path_.string()));
        if (!left.text.empty()) say(left.text);
        return left.status;
    }

    std::filesystem::path path_, hpo_;
    Seconds wait_;         ///< for an orchestrator
    bool may_be_written_;  ///< true: a missing file of any name is waited for, as the user asked to wait
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    bool told_ = false;  ///< the user was told that this agent tries again
    JoinFile file_;
    asio::io_context loop_{1};
    asio::signal_set signals_{loop_, SIGINT, SIGTERM, SIGHUP};
    std::shared_ptr<asio::ssl::context> tls_;
    std::size_t at_ = 0;  ///< the address in use
    Answers answers_;
    tcp::socket socket_{loop_};
    asio::steady_timer limit_{loop_}, pause_{loop_}, end_{loop_};
    milliseconds retry_ = first_retry;
    Lasting refusals_{gone_after};
    std::shared_ptr<TlsLink> link_;  ///< until it is answered
    std::shared_ptr<Relay> relay_;   ///< once this agent has joined
    std::string session_, tried_, problem_;
    pid_t child_ = 0;
    int signalled_ = 0;
    std::optional<Farewell> farewell_;  ///< after which nothing comes from the orchestrator
    bool child_ended_ = false, stopped_ = false;
    bool released_ = false;  ///< the session has ended, and the orchestrator is gone
};

}  // namespace

int join_study(const std::filesystem::path& join_file, const std::filesystem::path& hpo, std::optional<Seconds> wait) {
    std::signal(SIGPIPE, SIG_IGN);
    return JoiningAgent(join_file, hpo, wait).run();
}

}  // namespace hpo
