#include "orchestrator/slurm/follow.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <vector>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/execution/child_program.hpp"
#include "orchestrator/slurm/job_log.hpp"
#include "orchestrator/slurm/study_watch.hpp"
#include "orchestrator/slurm/submit.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo::slurm {

namespace {

constexpr Seconds draw_every{0.25};
constexpr Seconds read_every{1};
constexpr Seconds soon{1};  ///< a signal waits for a job that is being placed

class Follower {
   public:
    Follower(RealCommands& commands, const Following& what, RunObserver& observer)
        : commands_(commands),
          what_(what),
          observer_(observer),
          watch_(what.study, what.folder, observer),
          warnings_(job_log(what.folder.path)) {}

    RunOutcome run() {
        place();
        watch_.read();
        for (;;) {
            const int signal = pending_ != 0 ? std::exchange(pending_, 0) : signals_.wait(draw_every);
            if (signal != 0) on_signal(signal);
            const Seconds now = clock_.now();
            if (now >= read_at_) {
                read_at_ = now + read_every;
                if (watch_.read()) ask_at_ = now;  // a session has begun or ended: its job, too
                tell_warnings();
            }
            watch_.draw();
            if (auto outcome = look_at_job(now)) return *std::move(outcome);
        }
    }

   private:
    void say(const std::string& text) { observer_.notice({Notice::Level::news, 0, "hpo: " + text}); }

    void tell_warnings() {
        for (const std::string& warning : warnings_.read()) observer_.notice({Notice::Level::warning, 0, warning});
    }

    void place() {
        const Placed placed = find_or_submit_unless_signalled();
        id_ = placed.id;
        watch_.submitted();
        if (!placed.found)
            say("job " + id_ + " is submitted; it goes on without this terminal, and writes to " +
                job_log(what_.folder.path).string());
        else
            say("job " + id_ + " of this study is in Slurm's queue already: following it");
        if (placed.other)
            say("warning: job " + id_ +
                " was submitted with other options, another study file or another resources.slurm, and keeps them; for "
                "these, end it (scancel " +
                id_ + ") and run again");
    }

    /// Finds the job in the queue, or submits it, in a thread of its own, since Slurm may hang. A signal that comes
    /// meanwhile applies to the job if the job is there soon. Otherwise it ends this process; the next one finds the
    /// job.
    Placed find_or_submit_unless_signalled() {
        using namespace std::chrono_literals;
        std::mutex mutex;
        std::vector<std::string> told;
        auto placed = std::async(std::launch::async, [&] {
            return find_or_submit(commands_, what_.study.resources.slurm, what_.job, what_.folder,
                                  [&](const std::string& text) {
                                      const std::scoped_lock lock(mutex);
                                      told.push_back(text);
                                  });
        });
        const auto tell = [&] {
            const std::scoped_lock lock(mutex);
            for (const std::string& text : std::exchange(told, {})) say(text);
        };
        std::optional<Seconds> patience;
        while (placed.wait_for(0s) != std::future_status::ready) {
            const int signal = signals_.wait(Seconds(0.05));
            tell();
            const bool again = signal != 0 && pending_ != 0;
            if (signal != 0 && pending_ == 0) pending_ = signal, patience = clock_.now() + soon;
            if (again || (patience && clock_.now() > *patience)) leave_unplaced();
        }
        tell();
        return placed.get();
    }

    [[noreturn]] void leave_unplaced() {
        observer_.answer("hpo: Slurm has not confirmed the job, and may have it: " + what_.again +
                         " follows it, and scancel --name=" + what_.job.name + " ends it\n");
        leave(pending_);
    }

    /// Returns the outcome if Slurm refuses the job. The study has begun.
    std::optional<RunOutcome> place_next() {
        try {
            place();
            return std::nullopt;
        } catch (const Fatal& refused) {
            if (!*refused.what()) throw;  // a signal
            return ended(SessionEnd::failed, 0, refused.what());
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
                if (auto outcome = place_next()) return outcome;
                ask_at_ = clock_.now();
                return std::nullopt;
            case Next::conclude:
                return ended(SessionEnd::none, 0, "");
            case Next::cancelled:
                return ended(SessionEnd::interrupted, cancelled_ ? SIGINT : SIGTERM, "job " + id_ + " was cancelled");
            case Next::fail:
                return ended(SessionEnd::failed, 0, "job " + id_ + ' ' + decision.why + in_log());
            case Next::failed:
                break;
        }
        const Complaint complaint = complaint_of(job_log(what_.folder.path), id_);
        const std::string why =
            !complaint.text.empty() ? ": " + complaint.text
            : complaint.began       ? " without a message"
                              : " before its script began: does each node see " + what_.folder.path.string() + '?';
        return ended(SessionEnd::failed, 0, "job " + id_ + " failed" + why + in_log());
    }

    [[nodiscard]] std::string in_log() const { return " (" + job_log(what_.folder.path).string() + ")"; }

    /// `how` is none if the study's last session tells how it ended.
    RunOutcome ended(SessionEnd how, int signal, const std::string& reason) {
        tell_warnings();
        auto stored = watch_.outcome();
        if (!stored && how == SessionEnd::none) throw Fatal(stored.error().message);
        RunOutcome outcome = stored ? std::move(*stored) : RunOutcome{};
        outcome.has_begun = outcome.store != nullptr;
        outcome.signal = signal;
        if (how != SessionEnd::none) outcome.end = how;
        if (!reason.empty()) outcome.reason = reason;
        return outcome;
    }

    /// Cancels the job if the user wants to, and follows it to its end. Otherwise throws, and leaves the job running.
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
            if (const int signal = signals_.wait(Seconds(0.05)); signal != 0) {
                further = signal;
                commands_.give_up();
            }
        return answer.get();
    }

    /// A second Ctrl-C, or the end of the input, leaves the job running.
    bool asks_to_cancel() {
        observer_.answer("\nLeave job " + id_ + " running (Enter), or cancel it (c, Enter)? ");
        for (;;) {
            if (signals_.wait(Seconds(0.1)) != 0) {
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
    Foreground signals_;
    StudyWatch watch_;
    LogWarnings warnings_;
    SteadyClock clock_;
    std::string id_, said_;
    std::future<Answer> question_;
    Seconds read_at_{}, ask_at_{};
    int pending_ = 0;         ///< a signal that came while the job was placed
    bool is_silent_ = false;  ///< Slurm did not answer the last question
    bool cancelled_ = false;  ///< by this process
};

}  // namespace

RunOutcome run_job(RealCommands& commands, const Following& following, RunObserver& observer) {
    return Follower(commands, following, observer).run();
}

}  // namespace hpo::slurm
