// hpo run: searches and prints the best configuration.
#include <cmath>
#include <csignal>
#include <optional>
#include <string>

#include "hpo/interrupted.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/run_arguments.hpp"
#include "orchestrator/cli/run_examination.hpp"
#include "orchestrator/cli/run_place.hpp"
#include "orchestrator/cli/run_slurm.hpp"
#include "orchestrator/engine/set_aside.hpp"
#include "orchestrator/engine/warm_start.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/observers/notify.hpp"
#include "orchestrator/observers/run_end.hpp"
#include "orchestrator/observers/run_observers.hpp"
#include "orchestrator/output/best_config.hpp"
#include "orchestrator/slurm/allocation.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::commands {

namespace {

/// Returns a decision whether a stored study may go on as this one.
Acceptance acceptance_of(const Study& study) {
    return [&study](const std::string& before, const auto& valued) {
        return may_go_on(study, before, valued,
                         "Give the study another name, or start again with --fresh." + learning_from(study));
    };
}

/// Returns the study with the settings of its trials.
Study study_of(const Study& study, const RunOutcome& outcome) {
    if (!outcome.kept_stored) return study;
    auto stored = parse_stored_study(outcome.store->source(), "the stored study", known_parts());
    return stored ? *std::move(stored) : study;
}

/// Prints how the session ended, and returns the exit code.
int conclude(const RunArguments& arguments, const Study& study, const StudyFolder& folder, RunOutcome& outcome,
             bool in_its_job) {
    const int code = exit_code(outcome);
    if (outcome.signal == SIGHUP) return code;  // the terminal is gone
    if (outcome.folder_lost && !arguments.json) throw Fatal(outcome.reason);
    if (arguments.json) {
        print(end_line(study, outcome));
    } else if (!arguments.quiet) {
        RunArguments again = arguments;
        if (in_its_job) again.on = "slurm";
        // With the same limit the study would end at once.
        if (outcome.end == SessionEnd::out_of_time && study.budget.seconds)
            again.time = std::to_string(std::llround(2 * *study.budget.seconds)) + 's';
        print(end_report(study_of(study, outcome), folder, outcome, resume_arguments(again)));
    } else if (const TrialRecord* best = best_trial(outcome.record, study.objective)) {
        print(best_config(study, *best, "yaml"));
    }
    refuse_without_result(study, outcome);
    return code;
}

int run_command(const RunArguments& arguments) {
    const Programs programs = installed_programs();
    std::optional<OwnJob> own_job = OwnJob::find();
    if (runs_in_a_job(arguments)) refuse_study_for_a_job(arguments);
    Study written = load_study(arguments.file, overrides(arguments));
    if (arguments.dry_run) return print_job(arguments, written, programs);
    const RunPlace place = place_of(arguments, written, programs);
    const Study study = adapted_to(place, std::move(written));
    const StudyFolder folder = study_folder(study.name);
    examine(arguments, study, place, programs);
    const auto aside = arguments.fresh ? move_aside(study, folder, programs, place.here()) : std::filesystem::path();
    // A closed pipe and a limit on file sizes should make the write fail, not kill the process.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);

    const RunStyle style = arguments.json ? RunStyle::json : arguments.quiet ? RunStyle::quiet : RunStyle::automatic;
    std::optional<Notifier> notifier;
    if (!arguments.notify.empty() && !place.in_a_job) notifier.emplace(arguments.notify, folder.path / "notify.log");
    if (own_job)
        if (const auto status = own_job->await_turn(folder)) return *status;
    Result<RunOutcome> outcome = Error{};
    std::string output_problem;
    try {
        auto observer = make_run_observer(style, study);
        if (notifier) observer = notifying(std::move(observer), study, folder, *notifier);
        outcome = run_there(place, arguments, study, folder, programs, *observer, acceptance_of(study));
        output_problem = observer->output_problem();
    } catch (...) {
        move_back(aside, folder);
        throw;
    }
    if (!outcome || !outcome->has_begun) move_back(aside, folder);
    if (!outcome) throw Fatal(outcome.error().message, exit_status_of_failure());

    if (own_job)
        if (const auto status = own_job->queue_again(*outcome, folder)) return *status;
    if (!outcome->has_begun) {
        if (arguments.json) print(end_line(study, *outcome));
        throw Fatal(outcome->reason, outcome->signal ? exit_status_of(outcome->signal) : 1);
    }
    if (notifier) notify_end(*notifier, study, folder, *outcome);
    if (!output_problem.empty()) return 1;  // the problem has already been printed
    return conclude(arguments, study, folder, *outcome, own_job && slurm::is_job_of(folder));
}

/// Prefixes all errors with "hpo: " in a job, where no reader jumps to the location of an error; slurm/job_log finds
/// errors by this prefix.
int run_anywhere(const RunArguments& arguments) {
    try {
        return run_command(arguments);
    } catch (const Refusal& refusal) {
        if (!slurm::own_job()) throw;
        throw Fatal(refusal.what(), refusal.exit_code());
    }
}

}  // namespace

CommandAction run(CLI::App& app) {
    return [arguments = add_run_options(app)] { return run_anywhere(arguments()); };
}

}  // namespace hpo::commands
