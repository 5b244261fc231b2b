#include "orchestrator/cli/run_slurm.hpp"

#include <filesystem>
#include <iterator>

#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/slurm/allocation.hpp"
#include "orchestrator/slurm/follow.hpp"
#include "orchestrator/slurm/job.hpp"
#include "orchestrator/slurm/study_job.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

/// Returns the study file without links; empty: the study is given by its name. Throws Fatal for a file that a job
/// cannot read, such as a pipe of this process.
std::string study_file_of(const std::string& argument) {
    std::error_code failed;
    const auto type = fs::status(argument, failed).type();
    if (type == fs::file_type::not_found) return {};
    const fs::path path = fs::absolute(argument).lexically_normal();
    const std::string top = path.begin() == path.end() ? "" : std::next(path.begin())->string();
    if (type != fs::file_type::regular || top == "dev" || top == "proc")
        throw Fatal(
            printable(argument) +
                ": a job of Slurm reads the study file itself, on its node: save the study as a file, and run that",
            2);
    const fs::path real = fs::canonical(path, failed);
    return failed ? path.string() : real.string();
}

slurm::Job job_of(const RunArguments& arguments, const Study& study, const Programs& programs) {
    const SlurmJob& wanted = study.resources.slurm;
    RunArguments within = arguments;
    within.on = wanted.nodes > 1 ? "slurm" : "local";
    const fs::path runs = fs::absolute(runs_folder()).lexically_normal();
    const StudyFolder folder{runs / study.name};
    auto job = slurm::make_job(wanted, {.name = slurm::job_name_of(folder),
                                        .runs = runs,
                                        .folder = folder.path,
                                        .here = fs::current_path(),
                                        .program = shell_word(programs.hpo.string()),
                                        .file = shell_word(arguments.file),
                                        .options = option_words(within),
                                        .same_file = study_file_of(arguments.file),
                                        .grace = study.resources.grace});
    if (!job) throw Fatal(job.error().message, 2);
    return *std::move(job);
}

}  // namespace

bool runs_in_a_job(const RunArguments& arguments) { return arguments.on == "slurm" && !slurm::own_job(); }

void refuse_study_for_a_job(const RunArguments& arguments) { (void)study_file_of(arguments.file); }

int print_job(const RunArguments& arguments, const Study& study, const Programs& programs) {
    if (arguments.on != "slurm") throw Fatal("--dry-run prints the script of a job: it goes with --on slurm", 2);
    print(job_of(arguments, study, programs).script);
    return 0;
}

slurm::Forecast forecast_on_slurm(const RunArguments& arguments, const Study& study, const Programs& programs) {
    slurm::RealCommands commands(slurm::command_limit());
    auto forecast = slurm::forecast(commands, study.resources.slurm, job_of(arguments, study, programs));
    if (!forecast) throw Fatal(forecast.error().message, 2);
    return *std::move(forecast);
}

RunOutcome run_on_slurm(const RunArguments& arguments, const Study& study, const StudyFolder& folder,
                        const Programs& programs, RunObserver& observer, const Acceptance& accepted) {
    const StudyFolder absolute{fs::absolute(folder.path).lexically_normal()};
    if (auto stored = take_snapshot(absolute)) {
        const auto valued = [&] { return best_trial(stored->record, study.objective) != nullptr; };
        or_fail(accepted(stored->store->source(), valued));
        if (!stored->holder && slurm::is_finished(study, stored->record, stored->store->source()))
            return or_fail(slurm::StudyWatch(study, absolute, observer).outcome());
    }
    slurm::RealCommands commands(slurm::command_limit());
    const slurm::Following following{study, absolute, job_of(arguments, study, programs),
                                     "hpo run " + resume_arguments(arguments)};
    return slurm::run_job(commands, following, observer);
}

std::optional<OwnJob> OwnJob::find() {
    auto id = slurm::own_job();
    if (!id) return std::nullopt;
    slurm::heed_time_limit();
    return OwnJob(*std::move(id));
}

std::optional<int> OwnJob::await_turn(const StudyFolder& folder) {
    if (slurm::awaits_others(folder)) {
        slurm::RealCommands commands(slurm::command_limit());
        if (!slurm::await_end_of_others(commands, folder)) {
            before_ = slurm::progress_of(folder);
            return slurm::queue_again(commands, id_, folder, before_, {}, limit_reason);
        }
    }
    before_ = slurm::progress_of(folder);
    return std::nullopt;
}

std::optional<int> OwnJob::queue_again(const RunOutcome& outcome, const StudyFolder& folder) {
    const auto why = slurm::why_next_job(outcome, folder);
    if (why.empty()) return std::nullopt;
    slurm::RealCommands commands(slurm::command_limit());
    return slurm::queue_again(commands, id_, folder, before_, outcome, why);
}

}  // namespace hpo
