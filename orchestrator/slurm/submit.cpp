#include "orchestrator/slurm/submit.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "hpo/descriptor.hpp"
#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo::slurm {

namespace {

constexpr int submissions = 3;         ///< with a reply that is lost each time
constexpr int looks = 3;               ///< for a job after a lost reply, with longer pauses each time
constexpr int most_looks_at_end = 30;  ///< at a job that is ending, a second apart

std::vector<Partition> partitions_now(Commands& commands) {
    return partitions_of(commands.run({"sinfo", "-h", "-a", "-o", partition_format}).out);
}

std::vector<std::string> sbatch(const std::string& option, const Job& job, const std::string& script) {
    std::vector<std::string> command{"sbatch", option};
    command.insert(command.end(), job.words.begin(), job.words.end());
    command.push_back(script);
    return command;
}

/// Returns the study's job; `.job` is absent if there is none. Cancels those that are too many.
Found one_of(Commands& commands, const std::vector<JobState>& jobs, const std::vector<std::string>& known) {
    Found found = find_job(jobs, known);
    for (const std::string& id : found.surplus) (void)commands.run({"scancel", id});
    return found;
}

/// Looks several times, since a controller under load takes a job later than it lets sbatch wait.
Result<Found> look_patiently(Commands& commands, const std::string& name, const std::vector<std::string>& known) {
    Result<Found> found = Found{};
    for (int look = 1; look <= looks; ++look) {
        commands.pause(Seconds(look));
        const auto jobs = jobs_named(commands, name);
        found = jobs ? Result<Found>(one_of(commands, *jobs, known)) : Result<Found>(jobs.error());
        if (found && found->job) return found;
    }
    return found;
}

template <class T>
T or_nothing_started(Result<T> result) {
    if (!result) throw Fatal(result.error().message, 2);
    return std::move(*result);
}

/// Returns the study's job as `one_of`, and the ids of all. Waits a while for one that is ending: it is gone then, or
/// in the queue again.
Found job_to_follow(Commands& commands, const std::string& name, std::vector<std::string>& known, const Say& say) {
    for (int look = 1;; ++look) {
        const std::vector<JobState> jobs = or_nothing_started(jobs_named(commands, name));
        known = ids_of(jobs);
        Found found = one_of(commands, jobs, known);
        if (!found.job || phase_of(*found.job) != Phase::ending || look == most_looks_at_end) return found;
        if (look == 1) say("job " + found.job->id + " is ending: waiting for its end");
        commands.pause(Seconds(1));
    }
}

/// Held while this process looks for the job and submits it.
class SubmissionLock {
   public:
    /// Waits for others, but not for ever: a second job would wait for the first in any case. A file system without
    /// locks has none.
    SubmissionLock(Commands& commands, const std::filesystem::path& file)
        : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
        for (int wait = 0; wait < most_waits && file_; ++wait) {
            if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
            commands.pause(Seconds(0.2));
        }
    }

    /// Returns false if another process, whose job was refused, has removed the file with the study's folder.
    [[nodiscard]] bool in_place(const std::filesystem::path& file) const {
        struct stat open {
        }, named{};
        if (!file_) return ::stat(file.parent_path().c_str(), &named) == 0;
        return ::fstat(file_.get(), &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
               open.st_dev == named.st_dev;
    }

   private:
    static constexpr int most_waits = 1500;  // five minutes
    Descriptor file_;
};

/// Makes the study's folder, and removes it if the job is refused. Folders with other files stay.
class Traces {
   public:
    explicit Traces(const StudyFolder& folder) : folder_(folder.path) {
        std::error_code failed;
        is_new_ = !std::filesystem::exists(folder_, failed);
        has_runs_ = std::filesystem::exists(folder_.parent_path(), failed);
        std::filesystem::create_directories(folder_, failed);
        if (failed) throw Fatal(folder_.string() + ": cannot be made: " + failed.message(), 2);
    }
    ~Traces() {
        if (!is_new_) return;
        std::error_code ignored;
        for (const auto& path : {StudyFolder{folder_}.job_script(), lock(folder_), folder_})
            std::filesystem::remove(path, ignored);
        if (!has_runs_) std::filesystem::remove(folder_.parent_path(), ignored);
    }
    Traces(const Traces&) = delete;
    Traces& operator=(const Traces&) = delete;
    void keep() { is_new_ = false; }
    static std::filesystem::path lock(const std::filesystem::path& folder) { return folder / "slurm.lock"; }

   private:
    std::filesystem::path folder_;
    bool is_new_ = false, has_runs_ = false;
};

std::string text_of(const std::filesystem::path& file) {
    if (!check_regular(file)) return {};
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Returns the script of a job in the queue. The study's folder lacks it after --fresh; Slurm has it, too.
std::string script_of(Commands& commands, const std::string& job, const std::filesystem::path& script) {
    std::error_code ignored;
    if (!std::filesystem::exists(script, ignored))
        (void)commands.run({"scontrol", "write", "batch_script", job, script.string()});
    return text_of(script);
}

Placed find_or_submit_alone(Commands& commands, const SlurmJob& wanted, const Job& job, const StudyFolder& folder,
                            Traces& traces, const Say& say) {
    const std::filesystem::path script = folder.job_script();
    std::vector<std::string> known;
    const Found found = job_to_follow(commands, job.name, known, say);
    if (found.job) {
        traces.keep();
        const std::string earlier = script_of(commands, found.job->id, script);
        return {found.job->id, true, !earlier.empty() && asks_for_others(job.script, earlier)};
    }
    if (const auto holder = holder_of(folder))
        throw Fatal("study " + folder.name() + " is already being run by process " + std::to_string(holder->pid) +
                        " on " + printable(holder->host),
                    2);
    or_fail(replace_file(script, job.script));
    if (const std::string never = or_nothing_started(forecast(commands, wanted, job)).never; !never.empty())
        throw Fatal(never, 2);
    const auto id = submit(commands, wanted, job, script, known, say);
    if (id || commands.gave_up()) traces.keep();
    if (!id) throw Fatal(id.error().message, 2);
    return {*id};
}

}  // namespace

Placed find_or_submit(Commands& commands, const SlurmJob& wanted, const Job& job, const StudyFolder& folder,
                      const Say& say) {
    for (;;) {
        // The lock outlives the traces, so that who waits for it sees whether they are gone.
        std::optional<SubmissionLock> lock;
        Traces traces(folder);
        lock.emplace(commands, Traces::lock(folder.path));
        if (lock->in_place(Traces::lock(folder.path)))
            return find_or_submit_alone(commands, wanted, job, folder, traces, say);
        traces.keep();
    }
}

std::vector<std::string> ids_of(const std::vector<JobState>& jobs) {
    std::vector<std::string> ids;
    for (const JobState& job : jobs) ids.push_back(job.id);
    return ids;
}

Result<std::vector<JobState>> jobs_named(Commands& commands, const std::string& name) {
    const Answer answer = commands.run(
        {"squeue", "-h", "-a", "-t", "all", "-u", std::to_string(::getuid()), "--name", name, "-o", job_format});
    if (const std::string failure = failure_of("squeue", answer); !failure.empty()) return Error{failure};
    return jobs_of(answer.out);
}

Result<Forecast> forecast(Commands& commands, const SlurmJob& wanted, const Job& job) {
    const Answer tested = commands.run(sbatch("--test-only", job, "--wrap=exit"));
    const std::vector<Partition> partitions = partitions_now(commands);
    if (tested.status == 0) return Forecast{above_time_limit(wanted, partitions), message_of(tested.error)};
    const Reply reply = reply_of(tested);
    if (tested.missing || reply.kind != Reply::Kind::refused || is_unreachable(reply.text))
        return Error{failure_of("sbatch", tested)};
    return Forecast{refusal_text(reply.text, wanted, partitions), {}};
}

Result<std::string> submit(Commands& commands, const SlurmJob& wanted, const Job& job,
                           const std::filesystem::path& script, const std::vector<std::string>& known, const Say& say) {
    std::string last;
    for (int submission = 1; submission <= submissions; ++submission) {
        const Answer answer = commands.run(sbatch("--parsable", job, script.string()));
        const Reply reply = reply_of(answer);
        if (reply.kind == Reply::Kind::accepted && submission == 1) return reply.text;
        if (answer.missing || is_unreachable(reply.text)) return Error{failure_of("sbatch", answer)};
        if (reply.kind == Reply::Kind::refused)
            return Error{refusal_text(reply.text, wanted, partitions_now(commands))};
        if (reply.kind == Reply::Kind::unclear) say(reply.text + ": looking for job " + job.name + " in the queue");
        const auto found = look_patiently(commands, job.name, known);
        if (found && found->job) return found->job->id;
        if (reply.kind == Reply::Kind::accepted) return reply.text;
        if (!found) return found.error();
        last = reply.text;
    }
    return Error{"Slurm did not confirm the job (" + last + "), and its queue has no " + job.name +
                 ": run again in a minute"};
}

}  // namespace hpo::slurm
