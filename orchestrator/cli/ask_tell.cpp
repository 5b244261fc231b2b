// hpo ask-tell: offers the search to a program over JSON Lines on stdin and stdout (docs/ask_tell.md).
#include "orchestrator/ask_tell/lines.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "hpo/doing.hpp"
#include "hpo/interrupted.hpp"
#include "hpo/lines.hpp"
#include "hpo/printable.hpp"
#include "hpo/shortage.hpp"
#include "hpo/version.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/execution/questions.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/store/no_store.hpp"

namespace hpo::commands {

namespace {

struct AskTellArguments {
    std::string file;
    std::vector<std::string> set;
    bool no_store = false;
};

int signal_pipe[2] = {-1, -1};

/// Makes signals wake the loop. A second signal of the same kind ends the process at once.
void handle_signals() {
    if (::pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        throw Fatal(std::string("cannot create a pipe for signals: ") + std::strerror(errno));
    struct sigaction wakes_loop {};
    wakes_loop.sa_handler = [](int number) {
        const int saved = errno;
        interrupted_by = number;
        (void)!::write(signal_pipe[1], "", 1);
        errno = saved;
    };
    wakes_loop.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction previous {};
        ::sigaction(number, nullptr, &previous);
        if (previous.sa_handler != SIG_IGN) ::sigaction(number, &wakes_loop, nullptr);
    }
    // A closed pipe and a limit on file sizes should make the write fail, not kill the process.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

/// Reads requests and writes their answers. It goes on reading while answers are unread, so that a program may write
/// many requests before it reads the first answer.
class Conversation {
   public:
    /// `store` is called after each batch of requests, before their answers are written. It must store what they have
    /// changed. `in_place` returns false once the study's folder has been moved or removed.
    explicit Conversation(ask_tell::Session& session, std::function<void()> store, std::function<bool()> in_place)
        : session_(session), store_(std::move(store)), in_place_(std::move(in_place)) {}

    /// Runs until the input ends and all answers are written, or a signal arrives, or something fails. Returns the
    /// reason in words. `failure` is left empty unless something failed. A closed output is no failure.
    std::string run(std::string& failure) {
        while (!ended_ || !out_.empty()) {
            const bool full = out_.size() >= max_unread;
            std::array<pollfd, 3> ready{{{STDIN_FILENO, static_cast<short>(ended_ || full ? 0 : POLLIN), 0},
                                         {STDOUT_FILENO, static_cast<short>(out_.empty() ? 0 : POLLOUT), 0},
                                         {signal_pipe[0], POLLIN, 0}}};
            if (ended_ || full) ready[0].fd = -1;
            if (out_.empty()) ready[1].fd = -1;
            std::optional<Doing> waiting(std::in_place, out_.empty() ? "waits for requests on standard input"
                                                                     : "waits for the reader of its answers");
            const bool polled = ::poll(ready.data(), ready.size(), -1) >= 0;
            if (!polled && !shortage_.try_again_after(errno))
                return failure = std::strerror(errno), "the input could not be read";
            waiting.reset();
            if (interrupted_by != 0) return interrupted_by == SIGINT ? "interrupted" : "terminated";
            if (!polled) continue;
            if (ready[1].revents != 0 && !write_some(failure)) return "nobody reads the answers";
            if (ready[0].fd >= 0 && ready[0].revents != 0 && !read_some(failure)) return "the input could not be read";
            if (!in_place_()) return failure = "the study's folder was moved or removed", failure;
        }
        return "the input ended";
    }

   private:
    static constexpr std::size_t max_unread = std::size_t{64} << 20;  // bytes of answers

    /// Writes up to PIPE_BUF bytes, which cannot block once poll() has reported the pipe as writable.
    bool write_some(std::string& failure) {
        const auto size = ::write(STDOUT_FILENO, out_.data(), std::min<std::size_t>(out_.size(), PIPE_BUF));
        if (size < 0) {
            if (shortage_.try_again_after(errno)) return true;
            if (errno != EPIPE) failure = std::string("cannot write to standard output: ") + std::strerror(errno);
            return false;
        }
        shortage_.over();
        out_.erase(0, static_cast<std::size_t>(size));
        return true;
    }

    bool read_some(std::string& failure) {
        std::array<char, 1 << 16> bytes{};
        const auto size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
        if (size < 0 && shortage_.try_again_after(errno)) return true;
        if (size < 0) return failure = std::strerror(errno), false;
        shortage_.over();
        ended_ = size == 0;
        if (ended_ && !lines_.rest().empty()) take(lines_.rest());  // the last line may have no newline
        lines_.feed({bytes.data(), static_cast<std::size_t>(size)}, [this](std::string_view line) { take(line); });
        store_();
        report_dropped();
        return true;
    }

    void take(std::string_view line) {
        report_dropped();
        out_ += ask_tell::answer(session_, line, ++number_);
    }

    void report_dropped() {
        for (; dropped_ < lines_.dropped(); ++dropped_)
            out_ += ask_tell::error_line("a line is at most " + std::to_string(ask_tell::longest_line) + " bytes long",
                                         ++number_);
    }

    ask_tell::Session& session_;
    std::function<void()> store_;
    std::function<bool()> in_place_;
    ShortageWait shortage_;
    LineSplitter lines_{ask_tell::longest_line};
    std::string out_;
    std::int64_t number_ = 0;   ///< of the last line, from 1
    std::int64_t dropped_ = 0;  ///< number of over-long lines that have been reported
    bool ended_ = false;        ///< true after the end of the input
};

/// Serves one session and returns the exit code. `ledger` must have been replayed.
int converse(const Study& study, Ledger& ledger, const std::function<bool()>& in_place) {
    const SteadyClock clock;
    ledger.session_started({host_name(), ::getpid(), version});
    ask_tell::Session session(study, ledger, clock);
    std::string failure;
    Seconds summarized = clock.now();
    const auto store = [&] {
        ledger.settle();
        if ((clock.now() - summarized).count() < 1) return;
        ledger.summarize();
        summarized = clock.now();
    };
    const std::string reason = Conversation(session, store, in_place).run(failure);
    if (in_place()) session.end(session.over() ? "the study is over" : reason);
    if (!failure.empty()) throw Fatal(failure);
    return interrupted_by != 0 ? exit_status_of(interrupted_by) : 0;
}

int ask_tell_command(const AskTellArguments& arguments) {
    const Study study = load_study(arguments.file, {arguments.set, {}}, NoWorker::allowed);
    handle_signals();
    const Questions questions;
    try {
        if (arguments.no_store) {
            const auto priors = load_prior_studies(study);
            if (!priors) throw Fatal(priors.error().message);
            auto proposer = Proposer::make(study, *priors);
            if (!proposer) throw Fatal(proposer.error().message);
            auto rules = Rules::make(study);
            if (!rules) throw Fatal(rules.error().message);
            NoStore no_store;
            Ledger ledger(study, no_store, *std::move(proposer), *std::move(rules));
            return converse(study, ledger, [] { return true; });
        }
        const StudyFolder folder = study_folder(study.name);
        const auto warn = [](const std::string& message) {
            std::fprintf(stderr, "hpo: %s\n", printable(message).c_str());
        };
        const auto held = HeldStudy::take(
            study, folder,
            [&](const std::string& before, const auto& valued) {
                return may_go_on(study, before, valued, "Give the study another name." + learning_from(study));
            },
            warn);
        if (!held) throw Fatal(held.error().message);
        if (const auto begun = (*held)->begin(study, folder, warn); !begun) throw Fatal(begun.error().message);
        return converse(study, (*held)->ledger, [&] { return (*held)->lock.in_place(); });
    } catch (const StoreFailed& failed) {
        throw Fatal(std::string("the study's database cannot be written: ") + failed.what());
    }
}

}  // namespace

CommandAction ask_tell_study(CLI::App& app) {
    const auto arguments = std::make_shared<AskTellArguments>();
    app.add_option("file", arguments->file, "The study file, or the name of a study that has run")->required();
    app.add_option("--set", arguments->set, "Override one key: --set budget.trials=100")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_flag("--no-store", arguments->no_store, "Store nothing: the study ends with this process");
    app.footer(
        app.get_footer() +
        "\nOne JSON object per line in, one per line out:\n"
        "  {\"ask\": 2}\n"
        "    {\"trials\": [{\"trial\": 1, \"params\": {\"lr\": 0.01}}, {\"trial\": 2, \"params\": {\"lr\": 0.3}}]}\n"
        "  {\"report\": {\"trial\": 1, \"step\": 3, \"values\": {\"val_loss\": 0.41}}}\n"
        "    {\"trial\": 1, \"decision\": \"continue\"}, or \"stop\" or \"pause\" with \"rule\" and \"reason\"\n"
        "  {\"tell\": {\"trial\": 1, \"state\": \"complete\", \"values\": {\"val_loss\": 0.40}}}\n"
        "    {\"trial\": 1, \"ok\": true}\n"
        "  {\"best\": 1}\n"
        "    {\"trial\": 1, \"params\": {\"lr\": 0.01}, \"values\": {\"val_loss\": 0.4}, \"step\": 3, \"state\": "
        "\"complete\"}\n"
        "A request that cannot be carried out is answered with {\"error\": \"...\", \"line\": 5}, and the session "
        "continues.\nThe study needs no 'worker'. It is stored and resumed like any other study. More: "
        "docs/ask_tell.md; for Python: hpo.Study.\n\n"
        "Exit codes: 0 the input ended; 1 failed; 2 usage; 130 interrupted; 143 terminated.");
    return [arguments] { return ask_tell_command(*arguments); };
}

}  // namespace hpo::commands
