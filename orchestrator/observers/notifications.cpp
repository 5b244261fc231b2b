// The process that runs the commands of hpo run --notify: one at a time, each for 10 seconds at most. Their output and
// failures go to a log.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/execution/signal_queue.hpp"
#include "orchestrator/execution/spawn.hpp"
#include "orchestrator/observers/notify.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "os/environment.hpp"
#include "os/files.hpp"

namespace hpo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds longest_command{10};
constexpr std::size_t most_output = 64 * 1024;  ///< bytes of one command that are kept

/// Returns a file without a name with the text, to be read from its beginning.
Descriptor file_with(const std::string& text) {
    Descriptor file = os::temporary_file("hpo-notification");
    for (std::size_t at = 0; file && at < text.size();) {
        const auto written = ::write(file.get(), text.data() + at, text.size() - at);
        if (written <= 0) break;
        at += static_cast<std::size_t>(written);
    }
    if (file) ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

/// Returns this process's environment with the facts that are plain values: HPO_NOTIFY_EVENT and so on.
std::vector<std::string> environment_with(const Facts& facts) {
    std::vector<std::string> all;
    for (char** one = environ; *one != nullptr; ++one)
        if (!std::string_view(*one).starts_with("HPO_NOTIFY_")) all.emplace_back(*one);
    const auto add = [&](const std::string& name, const Facts& value) {
        std::string text = value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
        std::erase(text, '\0');
        all.push_back("HPO_NOTIFY_" + name + '=' + text);
    };
    for (const char* name : {"event", "study", "folder", "metric", "text"}) {
        std::string upper(name);
        std::transform(upper.begin(), upper.end(), upper.begin(),
                       [](char c) { return static_cast<char>(c - 'a' + 'A'); });
        add(upper, facts.value(name, Facts()));
    }
    const Facts best = facts.value("best", Facts());
    add("VALUE", best.is_object() ? best.value("value", Facts()) : Facts());
    add("TRIAL", best.is_object() ? best.value("trial", Facts()) : facts.value("trial", Facts()));
    return all;
}

/// Returns why a command failed, by its status of waitpid(); empty: it did not.
std::string failure_of(int status) {
    if (WIFSIGNALED(status)) return std::string("killed by ") + ::strsignal(WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

/// The log: of each command the first `most_output` bytes, and why it failed.
class CommandLog {
   public:
    explicit CommandLog(std::string path) : path_(std::move(path)) {}

    void begin_command() {
        kept_ = 0;
        at_line_start_ = true;
    }
    void add_output(std::string_view text) {
        if (kept_ == most_output) return;
        const std::string_view kept = text.substr(0, most_output - kept_);
        kept_ += kept.size();
        append(kept);
        if (kept_ == most_output)
            add_line("the output is cut here, after " + std::to_string(most_output / 1024) + " KiB");
    }
    void add_line(const std::string& text) { append((at_line_start_ ? "hpo: " : "\nhpo: ") + text + '\n'); }

   private:
    void append(std::string_view text) {
        if (text.empty()) return;
        at_line_start_ = text.ends_with('\n');
        const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
        if (file) (void)!::write(file.get(), text.data(), text.size());
    }

    std::string path_;
    std::size_t kept_ = 0;
    bool at_line_start_ = true;
};

class Commands {
   public:
    Commands(std::string command, std::string log) : command_(std::move(command)), log_(std::move(log)) {}

    /// Queues facts for a command. They replace waiting facts of the same event.
    void add(Facts facts) {
        std::erase_if(waiting_, [&](const Facts& one) { return one["event"] == facts["event"]; });
        waiting_.push_back(std::move(facts));
    }
    void go_on() {
        int status = 0;
        read_output();
        if (pid_ != 0 && ::waitpid(pid_, &status, WNOHANG) != 0)
            finish(failure_of(status));
        else if (pid_ != 0 && Clock::now() >= until_)
            finish("ended after " + std::to_string(longest_command.count()) + " s");
        while (pid_ == 0 && !waiting_.empty()) start();
    }
    /// Ends the command with all that it has started.
    void end() {
        if (pid_ == 0) return;
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    /// Returns the number of commands that failed, or were ended because they took too long.
    [[nodiscard]] int failures() const { return failures_; }
    /// Returns the descriptor from which go_on() reads, or -1.
    [[nodiscard]] int output() const { return output_ ? output_.get() : -1; }
    [[nodiscard]] bool idle() const { return pid_ == 0 && waiting_.empty(); }
    [[nodiscard]] int milliseconds_left() const {
        if (pid_ == 0) return -1;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now()).count();
        return static_cast<int>(std::max<std::int64_t>(left + 1, 0));
    }

   private:
    /// Reads a bounded number of blocks, so that a command that prints without end does not hold this process up.
    void read_output() {
        std::vector<char> bytes(most_output);
        for (int n = 0; n < 4 && output_; ++n) {
            const auto size = ::read(output_.get(), bytes.data(), bytes.size());
            if (size < 0) return;
            if (size == 0) return output_.reset();
            log_.add_output({bytes.data(), static_cast<std::size_t>(size)});
        }
    }
    void finish(const std::string& failure) {
        end();
        read_output();
        output_.reset();
        if (failure.empty()) return;
        ++failures_;
        log_.add_line(utc_text(static_cast<double>(std::time(nullptr))) + ": the command for '" + event_ +
                      "' failed: " + failure);
    }
    void start() {
        const Facts facts = std::move(waiting_.front());
        waiting_.pop_front();
        const Descriptor input = file_with(facts.dump(-1, ' ', false, Facts::error_handler_t::replace) + '\n');
        Descriptor writing;
        if (make_pipe(output_, writing)) ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
        event_ = facts.value("event", "");
        log_.begin_command();
        const int failed = spawn({.command = {"/bin/sh", "-c", command_},
                                  .environment = environment_with(facts),
                                  .in = input.get(),
                                  .out = writing.get(),
                                  .error = writing.get()},
                                 pid_);
        if (failed != 0) finish(std::string("not started: ") + std::strerror(failed));
        until_ = Clock::now() + longest_command;
    }

    std::string command_, event_;
    CommandLog log_;
    Descriptor output_;
    int failures_ = 0;
    std::deque<Facts> waiting_;
    pid_t pid_ = 0;
    Clock::time_point until_;
};

}  // namespace

int run_notifications(const std::string& command, const std::string& log) {
    SignalQueue signals{SIGCHLD, SIGTERM, SIGHUP, SIGINT};  // a signal of the terminal does not end this process
    Commands commands(command, log);
    std::vector<char> message(1 << 18);
    bool open = true, told_end = false;
    while (open || (told_end && !commands.idle())) {
        pollfd ready[] = {
            {signals.descriptor(), POLLIN, 0}, {open ? STDIN_FILENO : -1, POLLIN, 0}, {commands.output(), POLLIN, 0}};
        if (::poll(ready, std::size(ready), commands.milliseconds_left()) < 0) continue;
        for (const int signal : signals.take())
            if (signal == SIGTERM) open = told_end = false;
        if (open && ready[1].revents != 0) {
            const auto size = ::recv(STDIN_FILENO, message.data(), message.size(), 0);
            Facts facts = Facts::parse(message.data(), message.data() + std::max<ssize_t>(size, 0), nullptr, false);
            if (size <= 0) open = false;
            if (facts.is_object() && facts.contains("event")) {
                told_end |= facts["event"] == "ended";
                commands.add(std::move(facts));
            }
        }
        if (open || told_end) commands.go_on();
    }
    commands.end();
    return std::min(commands.failures(), 255);
}

}  // namespace hpo
