#include "orchestrator/slurm/follow.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <optional>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/execution/child_program.hpp"
#include "orchestrator/slurm/study_watch.hpp"
#include "orchestrator/slurm/submit.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo::slurm {

namespace {

constexpr Seconds draw_every{0.25};
constexpr Seconds read_every{1};

/// Returns the last message in the job's log that is not Slurm's, without "hpo: "; empty: there is none. Lines that
/// belong to a message begin with a blank.
std::string last_message(const std::filesystem::path& log) {
    constexpr std::streamoff most = 64 << 10;
    std::ifstream file(log, std::ios::binary | std::ios::ate);
    if (!file) return {};
    file.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(file.tellg()) - most));
    std::string found;
    for (std::string line; std::getline(file, line);)
        if (!line.empty() && line.front() != ' ' && !line.starts_with("slurmstepd") && !line.starts_with("srun: "))
            found = printable(line.substr(line.starts_with("hpo: ") ? 5 : 0));
    return found;
}

class Follower {
   public:
    Follower(RealCommands& commands, const Following& what, RunObserver& observer)
        : commands_(commands), what_(what), observer_(observer), watch_(what.study, what.folder, observer) {}

    RunOutcome run() {
        place();
        watch_.read();
        for (;;) {
            if (const int signal = signals_->wait(draw_every); signal != 0) on_signal(signal);
            const Seconds now = clock_.now();
            if (now >= read_at_) {
                read_at_ = now + read_every;
                if (watch_.read()) ask_at_ = now;  // a session has begun or ended: its job, too
            }
            watch_.draw();
            if (auto outcome = look_at_job(now)) return *std::move(outcome);
        }
    }

   private:
    void say(const std::string& text) { observer_.notice({Notice::Level::news, 0, "hpo: " + text}); }

    /// Finds the job in the queue, or submits it. Meanwhile a signal ends the process at once, even if Slurm does not
    /// answer: sbatch goes on, and the next process finds its job. Signals are taken before the user can read
    /// that there is a job, since Ctrl-C is about it from then on.
    void place() {
        signals_.reset();
        const Placed placed = find_or_submit(commands_, what_.study.resources.slurm, what_.job, what_.folder,
                                             [this](const std::string& text) { say(text); });
        signals_.emplace();
        id_ = placed.id;
        watch_.submitted();
        if (!placed.found)
            say("job " + id_ + " is submitted; it goes on without this terminal, and writes to " +
                job_log(what_.folder.path).string());
        else
            say("job " + id_ + " of this study is in Slurm's queue already: following it");
        if (placed.other)
            say("warning: job " + id_ +
                " was submitted with other options or another resources.slurm, and keeps them; "
                "for these, end it (scancel " +
                id_ + ") and run again");
    }

    void place_next() {
        try {
            place();
        } catch (const Fatal& refused) {
            throw Fatal(refused.what());  // the study has begun
        }
    }

    /// Asks Slurm in a thread of its own, since it may hang. Returns the outcome once the study is over.
    std::optional<RunOutcome> look_at_job(Seconds now) {
        using namespace std::chrono_literals;
        if (!question_.valid()) {
            if (now < ask_at_) return std::nullopt;
            question_ = std::async(std::launch::async, [this, id = id_] {
                return commands_.run({"squeue", "-h", "-a", "-t", "all", "-j", id, "-o", job_format});
            });
        }
        if (question_.wait_for(0s) != std::future_status::ready) return std::nullopt;
        const Answer answer = question_.get();
        // squeue fails for the id of a job that it has forgotten.
        const bool forgotten = answer.status && message_of(answer.error).find("Invalid job id") != std::string::npos;
        const bool answered = answer.status == 0 || forgotten;
        if (!answered) return unanswered(now, answer), std::nullopt;
        if (std::exchange(is_silent_, false)) say("Slurm answers again");
        const std::vector<JobState> jobs = jobs_of(answer.out);
        const std::optional<JobState> job = jobs.empty() ? std::nullopt : std::optional(jobs.front());
        ask_at_ = now + Seconds(cancelled_ ? 1 : ask_again_after(job, true, watch_.session_ended()));
        if (job && phase_of(*job) != Phase::over && phase_of(*job) != Phase::ending)
            if (const std::string text = state_text(*job); std::exchange(said_, text) != text) say(text);
        return act(job);
    }

    void unanswered(Seconds now, const Answer& answer) {
        ask_at_ = now + Seconds(ask_again_after(std::nullopt, false, false));
        if (!std::exchange(is_silent_, true)) say(failure_of("squeue", answer) + "; the job goes on");
    }

    std::optional<RunOutcome> act(const std::optional<JobState>& job) {
        using Next = Decision::Next;
        if (!job || phase_of(*job) == Phase::over) watch_.read();
        const Decision decision = decide({job, watch_.finished(), watch_.at_limit(), watch_.progressed()});
        switch (decision.next) {
            case Next::wait:
                return std::nullopt;
            case Next::submit_again:
                say("job " + id_ + ' ' + decision.why + ": submitting the next");
                place_next();
                ask_at_ = clock_.now();
                return std::nullopt;
            case Next::conclude:
                return ended(0, "");
            case Next::cancelled:
                return ended(cancelled_ ? SIGINT : SIGTERM, "job " + id_ + " was cancelled");
            case Next::fail:
                break;
        }
        const std::filesystem::path log = job_log(what_.folder.path);
        std::string why = "job " + id_ + ' ' + decision.why;
        if (decision.why == "failed") {
            const std::string complaint = last_message(log);
            why += complaint.empty() ? ", and says nothing: does each node see " + what_.folder.path.string() + '?'
                                     : ": " + complaint;
        }
        throw Fatal(why + " (" + log.string() + ")");
    }

    RunOutcome ended(int signal, const std::string& reason) {
        auto outcome = watch_.outcome();
        if (!outcome)
            throw Fatal(reason.empty() ? outcome.error().message : reason, signal ? exit_status_of(signal) : 1);
        outcome->signal = signal;
        if (!reason.empty()) outcome->reason = reason;
        return std::move(*outcome);
    }

    /// Cancels the job if the user wants that, and goes on until it has ended. Else throws, and leaves it running.
    void on_signal(int signal) {
        if (cancelled_) leave(signal);
        if (signal == SIGINT && ::isatty(STDIN_FILENO) && ::isatty(STDERR_FILENO) && asks_to_cancel()) {
            int further = 0;
            const Answer answer = cancel(further);
            if (answer.status == 0) {
                if (further != 0) leave(further);
                cancelled_ = true;
                ask_at_ = clock_.now();
                return;
            }
            observer_.answer("hpo: " + failure_of("scancel", answer) + '\n');
        }
        observer_.answer("hpo: job " + id_ + " goes on without this terminal; follow it: " + what_.again +
                         "; end it: scancel " + id_ + '\n');
        leave(signal);
    }

    [[noreturn]] void leave(int signal) {
        commands_.give_up();  // the end of this process waits for the question to Slurm
        throw Fatal("", exit_status_of(signal));
    }

    /// A further signal, which it returns in `further`, ends a scancel that hangs.
    Answer cancel(int& further) {
        auto answer = std::async(std::launch::async, [this] { return commands_.run({"scancel", id_}); });
        while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            if (const int signal = signals_->wait(Seconds(0.05)); signal != 0) {
                further = signal;
                commands_.give_up();
            }
        return answer.get();
    }

    /// A second Ctrl-C, or the end of the input, leaves the job running.
    bool asks_to_cancel() {
        observer_.answer("\nLeave job " + id_ + " running (Enter), or cancel it (c, Enter)? ");
        for (;;) {
            if (signals_->wait(Seconds(0.1)) != 0) {
                observer_.answer("\n");
                return false;
            }
            pollfd ready{STDIN_FILENO, POLLIN, 0};
            if (::poll(&ready, 1, 0) != 1) continue;
            char answer[256];
            const auto size = ::read(STDIN_FILENO, answer, sizeof answer);
            return size > 0 && (answer[0] == 'c' || answer[0] == 'C');
        }
    }

    RealCommands& commands_;
    const Following& what_;
    RunObserver& observer_;
    std::optional<Foreground> signals_;
    StudyWatch watch_;
    SteadyClock clock_;
    std::string id_, said_;
    std::future<Answer> question_;
    Seconds read_at_{}, ask_at_{};
    bool is_silent_ = false;  ///< Slurm did not answer the last question
    bool cancelled_ = false;  ///< by this process
};

}  // namespace

RunOutcome run_job(RealCommands& commands, const Following& following, RunObserver& observer) {
    return Follower(commands, following, observer).run();
}

}  // namespace hpo::slurm
