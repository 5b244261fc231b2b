// hpo run: searches and prints the best configuration.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/notify.hpp"
#include "orchestrator/cli/run_arguments.hpp"
#include "orchestrator/cli/run_observers.hpp"
#include "orchestrator/cluster/hosts_site.hpp"
#include "orchestrator/engine/live_machine.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/engine/set_aside.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/best_config.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/preview/samples.hpp"
#include "orchestrator/preview/script_ready.hpp"
#include "orchestrator/study/batch_sizes.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/report.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo::commands {

namespace {

/// Rejects `--trials --fresh`, which lacks the value of --trials. Returns the error, or an empty text.
std::string refuse_option_as_value(const std::string& value) {
    return value.empty() || value.starts_with("--") ? "a value is missing" : "";
}

/// Asks a worker for the number of training samples, if policy.min_batch_size depends on it, and refuses batches that
/// are too small before anything runs. Data that cannot be read are left to the trials.
void refuse_by_data(const Study& study, const std::string& file, bool as_written, const Programs& programs) {
    if (!batch_sizes_depend_on_data(study)) return;
    const auto machine = open_machine(study, programs, [](const DeviceNotice&) {});
    if (!machine) return;
    auto worker = OneWorker::start(study, programs, machine->target(machine->on_device() ? 0 : host_only));
    if (!worker) return;
    if (const auto answer = (*worker)->plan(study.fixed, study.budget.epochs, study.seed))
        refuse_small_batches({study, file, as_written}, answer->training_samples);
}

int exit_code(const RunOutcome& outcome) {
    if (outcome.end == Engine::End::failed) return 1;
    if (outcome.signal == SIGINT) return 130;
    return outcome.signal ? 143 : 0;
}

void print_json_end(const Study& study, const RunOutcome& outcome) {
    const TrialRecord* best = best_trial(outcome.record, study.objective);
    nlohmann::ordered_json end{{"schema", json_schema},
                               {"event", "ended"},
                               {"study", study.name},
                               {"time", utc_text(outcome.record.last_time)},
                               {"reason", outcome.reason},
                               {"seconds", outcome.seconds},
                               {"begun", outcome.record.trials.size()},
                               {"ended", count_ended(outcome.record)},
                               {"best", best ? trial_json(*best) : nlohmann::ordered_json(nullptr)}};
    add_front(end, outcome.record, study.objective);
    print(end.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

void notify_end(Notifier& notifier, const Study& study, const StudyFolder& folder, const RunOutcome& outcome) {
    const TrialRecord* best = best_trial(outcome.record, study.objective);
    const std::string value = best ? ", best " + study.objective.metric + ' ' + short_number(*best->value) +
                                         " (trial " + std::to_string(best->number) + ')'
                                   : "";
    Facts facts = notification("ended", study, folder, study.name + ": " + outcome.reason + value);
    facts["reason"] = outcome.reason;
    facts["seconds"] = outcome.seconds;
    facts["begun"] = outcome.record.trials.size();
    facts["ended"] = count_ended(outcome.record);
    facts["best"] = best ? trial_json(*best) : nlohmann::ordered_json(nullptr);
    notifier.tell(facts);
}

/// Returns the reason why the last trial failed, in parentheses, for a study in which no trial has a value.
std::string last_failure(const StudyRecord& record) {
    for (auto trial = record.trials.rbegin(); trial != record.trials.rend(); ++trial)
        if (const std::string first = trial->reason.substr(0, trial->reason.find('\n')); !first.empty())
            return " (trial " + std::to_string(trial->number) + ": " + printable(first) + ")";
    return {};
}

/// Returns the hosts of --on, those of the study, or of the allocation in which this process runs; empty: this machine.
std::vector<cluster::Address> hosts_of(const RunArguments& arguments, const Study& study, const Programs& programs) {
    const auto environment = [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    std::string on = arguments.on;
    for (const std::string& host : arguments.on.empty() ? study.resources.hosts : std::vector<std::string>())
        on += (on.empty() ? "ssh:" : ",") + host;
    if (on.empty() && cluster::in_allocation_of_several(environment)) on = "slurm";
    if (on.empty() || on == "local") return {};
    auto hosts = cluster::addresses_of(on, programs.hpo, environment);
    if (!hosts) throw Fatal(hosts.error().message, 2);
    return *std::move(hosts);
}

/// The study as it runs on these hosts.
Study adapted(Study study, const std::vector<cluster::Address>& hosts) {
    if (hosts.empty()) return study;
    auto several = cluster::for_several_hosts(std::move(study));
    if (!several) throw Fatal(several.error().message, 2);
    return *std::move(several);
}

int run_command(const RunArguments& arguments) {
    const Overrides changes = overrides(arguments);
    const Programs programs = installed_programs();
    Study written = load_study(arguments.file, changes);
    const std::vector<cluster::Address> hosts = hosts_of(arguments, written, programs);
    const Study study = adapted(std::move(written), hosts);
    refuse_unready_script(study, changes.set.empty() ? arguments.file : "", hosts.empty());
    if (arguments.on.starts_with("local:") && hosts.size() > 1)
        std::fprintf(stderr,
                     "hpo: --on %s counts the cores and the memory of this machine %zu times: it is for tests\n",
                     printable(arguments.on).c_str(), hosts.size());
    std::fputs(warnings_of(arguments.file, changes).c_str(), stderr);
    for (const std::string& warning : shadowed_files(study))
        std::fputs(("hpo: warning: " + warning + '\n').c_str(), stderr);
    const StudyFolder folder = study_folder(study.name);
    refuse_by_data(study, arguments.file, changes.set.empty(), programs);
    const auto aside = arguments.fresh ? move_aside(study, folder, programs, hosts.empty()) : std::filesystem::path();
    // A closed pipe and a limit on file sizes should make the write fail, not kill the process.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);

    const RunStyle style = arguments.json ? RunStyle::json : arguments.quiet ? RunStyle::quiet : RunStyle::automatic;
    std::optional<Notifier> notifier;
    if (!arguments.notify.empty()) notifier.emplace(arguments.notify, folder.path / "notify.log");
    Result<RunOutcome> outcome = Error{};
    std::string output_problem;
    try {
        auto observer = make_run_observer(style, study);
        if (notifier) observer = notifying(std::move(observer), study, folder, *notifier);
        const auto accepted = [&](const std::string& before, const auto& valued) {
            return may_go_on(study, before, valued,
                             "Give the study another name, or start again with --fresh." + learning_from(study));
        };
        outcome = run_study(study, folder, programs, *observer, accepted,
                            hosts.empty() ? OpenSite(open_local_site) : cluster::open_hosts(hosts));
        output_problem = observer->output_problem();
    } catch (...) {
        move_back(aside, folder);
        throw;
    }
    if (!outcome) {
        move_back(aside, folder);
        throw Fatal(outcome.error().message);
    }

    const TrialRecord* best = best_trial(outcome->record, study.objective);
    const int code = exit_code(*outcome);
    if (notifier) notify_end(*notifier, study, folder, *outcome);
    if (!output_problem.empty()) return 1;       // which it has said
    if (outcome->signal == SIGHUP) return code;  // the terminal is gone
    if (outcome->folder_lost && !arguments.json) throw Fatal(outcome->reason);
    if (arguments.json) {
        print_json_end(study, *outcome);
    } else if (arguments.quiet) {
        if (best) print(best_config(study, *best, "yaml"));
    } else {
        const view::Moment moment{outcome->seconds, 1, false};
        // More trials can follow if the study was interrupted or ran out of time, but not if its space or its patience
        // is exhausted.
        const auto& trials = outcome->record.trials;
        const bool can_resume =
            outcome->end != Engine::End::finished ||
            (study.budget.seconds && outcome->seconds >= *study.budget.seconds &&
             count_ended(outcome->record) < study.budget.trials) ||
            std::any_of(trials.begin(), trials.end(), [](const TrialRecord& trial) { return !is_final(trial.state); });
        // The reason of a failure is said once, at the end.
        const bool failed = outcome->end == Engine::End::failed;
        view::ReportFacts facts{folder.path.string(), failed ? "interrupted" : outcome->reason, can_resume,
                                resume_arguments(arguments, outcome->end != Engine::End::finished)};
        if (!outcome->signal && !outcome->folder_lost) {
            StudySnapshot snapshot{folder, study, std::move(outcome->record), std::nullopt, std::move(outcome->store)};
            facts.insights = insights_of(snapshot);
            outcome->record = std::move(snapshot.record);
            for (const std::string& found : outcome->concurrency)
                for (std::string& line : labelled_lines("At once", found)) facts.insights.push_back(std::move(line));
        }
        print(view::draw_report(study, outcome->record, moment, facts, view::screen_of_stdout()));
    }
    if (outcome->end == Engine::End::failed) throw Fatal(outcome->reason, outcome->no_host_worked ? 2 : 1);
    if (const std::string broken = view::constraints_text(outcome->record, study.objective);
        !best && code == 0 && !broken.empty())
        throw Fatal(broken + "; see hpo ls " + study.name);
    if (!best && code == 0)
        throw Fatal("no trial completed or was stopped with a value of " + study.objective.metric +
                    last_failure(outcome->record) + "; see hpo ls " + study.name);
    return code;
}

}  // namespace

CommandAction run(CLI::App& app) {
    const auto arguments = std::make_shared<RunArguments>();
    app.add_option("file", arguments->file, "The study file, or the name of a study that has run")->required();
    app.add_option("--trials", arguments->trials, "Trials in all (budget.trials)")->check(refuse_option_as_value);
    app.add_option("--time", arguments->time, "Time in all, as 90s, 30m or 2h (budget.time)")
        ->check(refuse_option_as_value);
    app.add_option("--backend", arguments->backend, "Device of trials (resources.backend): auto, cpu, cuda or opencl")
        ->check(refuse_option_as_value);
    app.add_option("-j,--jobs", arguments->jobs, "Trials at once (resources.parallel)")->check(refuse_option_as_value);
    app.add_option("--on", arguments->on,
                   "Hosts of the trials: ssh:HOST,HOST, slurm (the nodes of this allocation), local:2 (this one twice, "
                   "for tests), "
                   "or local. Default: resources.hosts, else slurm in an allocation of several nodes, else local")
        ->check(refuse_option_as_value);
    app.add_option("--seed", arguments->seed, "The study's seed (seed)")->check(refuse_option_as_value);
    app.add_option("--set", arguments->set, "Override one key: --set space.lr.high=0.1")
        ->take_all()
        ->type_name("KEY=VALUE");
    app.add_option("--notify", arguments->notify,
                   "Run this command at the end, on a new best and on trouble, with the facts as JSON on its stdin")
        ->check(refuse_option_as_value)
        ->type_name("COMMAND");
    app.add_flag("--fresh", arguments->fresh, "Start from scratch; the existing study is moved to runs/.old");
    const auto json = app.add_flag("--json", arguments->json, "One JSON object per line, for programs");
    app.footer(
        app.get_footer() +
        "\nExit codes: 0 the study ended and at least one trial completed, or was stopped with a value;\n"
        "1 it failed, or no trial has a value; 2 usage; 130 interrupted; 143 terminated.\n"
        "SIGQUIT (kill -QUIT PID, or Ctrl-\\ in the terminal) prints what the session waits for, and does not end it.");
    app.add_flag("-q,--quiet", arguments->quiet, "Print only the best configuration, as YAML")->excludes(json);
    return [arguments] { return run_command(*arguments); };
}

}  // namespace hpo::commands
