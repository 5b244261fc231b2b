#include "orchestrator/cli/run_slurm.hpp"

#include <filesystem>

#include "hpo/or_fail.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/slurm/allocation.hpp"
#include "orchestrator/slurm/follow.hpp"
#include "orchestrator/slurm/job.hpp"

namespace hpo {

namespace {

namespace fs = std::filesystem;

slurm::Job job_of(const RunArguments& arguments, const Study& study, const Programs& programs) {
    const SlurmJob& wanted = study.resources.slurm;
    RunArguments within = arguments;
    within.on = wanted.nodes > 1 ? "slurm" : "local";
    const fs::path runs = fs::absolute(runs_folder()).lexically_normal();
    return slurm::make_job(wanted,
                           {.study = study.name,
                            .runs = runs,
                            .folder = runs / study.name,
                            .here = fs::current_path(),
                            .command = shell_word(programs.hpo.string()) + " run " + resume_arguments(within, true),
                            .grace = study.resources.grace});
}

}  // namespace

bool runs_in_a_job(const RunArguments& arguments) { return arguments.on == "slurm" && !slurm::own_job(); }

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
                                     "hpo run " + resume_arguments(arguments, true)};
    return slurm::run_job(commands, following, observer);
}

}  // namespace hpo
