#include <unistd.h>

#include <string>

#include "hpo/result.hpp"
#include "orchestrator/cli/best_arguments.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/repeat.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/trial_choice.hpp"
#include "orchestrator/output/best_config.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/sampling/posterior_ranking.hpp"
#include "orchestrator/view/posterior.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/terminal.hpp"
#include "orchestrator/view/trial_list.hpp"

namespace hpo::commands {

namespace {

StudySnapshot read_study(const BestArguments& arguments, const StudyFolder& folder) {
    if (arguments.by == "model" || arguments.repeat > 0) return snapshot_or_fail(folder, TrialParts::all);
    StudySnapshot snapshot = snapshot_or_fail(folder, TrialParts::standing);
    if (snapshot.study.objective.further.empty()) return snapshot;
    return snapshot_or_fail(folder, TrialParts::shown);
}

/// The trial of that number. Ends the command if there is none, or it has no value.
const TrialRecord& trial_of(const StudySnapshot& snapshot, std::int64_t number) {
    const auto& trials = snapshot.record.trials;
    if (number < 1 || number > static_cast<std::int64_t>(trials.size()))
        throw Fatal("study " + snapshot.study.name + " has no trial " + std::to_string(number));
    const TrialRecord& trial = snapshot.record.trial(number);
    if (!trial.value)
        throw Fatal("trial " + std::to_string(number) + " has no value of " + snapshot.study.objective.metric);
    return trial;
}

/// Returns the reason why the study has no best trial.
std::string no_best(const StudySnapshot& snapshot) {
    const Objective& objective = snapshot.study.objective;
    const std::string broken = view::constraints_text(snapshot.record, objective);
    if (!broken.empty()) return "study " + snapshot.study.name + ": " + broken;
    return "study " + snapshot.study.name + " has no trial with a value of " + objective.metric + " yet";
}

/// Ranks the study's configurations by a model. Throws Fatal if they are too few.
PosteriorRanking ranking_by_model(const StudySnapshot& snapshot) {
    const auto ranking = posterior_ranking(snapshot.study, snapshot.record);
    if (!ranking) throw Fatal(ranking.error().message);
    if (ranking->configurations.empty())
        throw Fatal("--by model: study " + snapshot.study.name + ' ' + ranking->why_empty);
    return *ranking;
}

/// Returns the `top` best trials, by their values or in the order of `model`.
std::vector<const TrialRecord*> best_trials(const StudySnapshot& snapshot, std::int64_t top,
                                            const std::optional<PosteriorRanking>& model) {
    std::vector<const TrialRecord*> trials;
    if (model)
        for (const Expected& one : model->configurations) trials.push_back(&snapshot.record.trial(one.trial));
    else
        trials = ranking(snapshot.record, snapshot.study.objective);
    trials.resize(std::min(trials.size(), static_cast<std::size_t>(top)));
    return trials;
}

int print_config(const BestArguments& arguments, StudySnapshot& snapshot, const TrialRecord& trial,
                 const std::optional<Expected>& expected = {}) {
    if (arguments.format == "table")
        throw Fatal("--format table is for the Pareto front of several objectives, and for --by model", 2);
    if (const auto read = snapshot.read_parameters(trial.number); !read) throw Fatal(read.error().message);
    print(best_config(snapshot.study, trial, arguments.format.empty() ? "yaml" : arguments.format, expected));
    return 0;
}

int print_front(const BestArguments& arguments, const StudySnapshot& snapshot) {
    const std::string& name = snapshot.study.name;
    if (arguments.by == "model")
        throw Fatal("--by model ranks trials by one objective, and study " + name + " has " +
                        std::to_string(1 + snapshot.study.objective.further.size()),
                    2);
    if (arguments.repeat > 0)
        throw Fatal("--repeat ranks trials by one objective; the front of " + name +
                    " has no first: write one of it with hpo best " + name + "/NUMBER");
    // In a pipe or a file, a configuration is expected: a table would become best.yaml.
    const bool table = arguments.format == "table" || (arguments.format.empty() && view::is_terminal(STDOUT_FILENO));
    if (!table && arguments.format != "json") {
        const auto front = front_of(snapshot.record, snapshot.study.objective);
        throw Fatal("study " + name + " has several objectives: none of the " + std::to_string(front.size()) +
                    " trials of its Pareto front is the best in all. Name one: hpo best " + name + '/' +
                    std::to_string(front.front()->number) + "; hpo best " + name + " --format table lists them");
    }
    print(table ? view::draw_front(snapshot.study, snapshot.record, view::screen_of_stdout()) : front_json(snapshot));
    return 0;
}

int print_best(const BestArguments& arguments) {
    const std::string& named = arguments.study;
    const TrialChoice choice = is_study(named) ? TrialChoice{named, {}} : split_trial(named, "", false);
    refuse_conflicts(arguments, choice);
    StudySnapshot snapshot = read_study(arguments, choose_study(choice.study));
    if (choice.trial) return print_config(arguments, snapshot, trial_of(snapshot, *choice.trial));
    const Objective& objective = snapshot.study.objective;
    const TrialRecord* trial = best_trial(snapshot.record, objective);
    if (!trial) throw Fatal(no_best(snapshot));
    if (!objective.further.empty()) return print_front(arguments, snapshot);
    std::optional<PosteriorRanking> model;
    if (arguments.by == "model") model = ranking_by_model(snapshot);
    if (arguments.repeat > 0)
        return repeat_best(snapshot, best_trials(snapshot, arguments.top, model), arguments.repeat, arguments.json);
    if (!model) return print_config(arguments, snapshot, *trial);
    const Expected& first = model->configurations.front();
    if (arguments.format != "table")
        return print_config(arguments, snapshot, snapshot.record.trial(first.trial), first);
    print(view::draw_posterior(snapshot.study, snapshot.record, *model, static_cast<std::size_t>(arguments.top),
                               view::screen_of_stdout()));
    return 0;
}

}  // namespace

CommandAction best(CLI::App& app) {
    return [arguments = add_best_options(app)] { return print_best(arguments()); };
}

}  // namespace hpo::commands
