#include "orchestrator/cli/repeat.hpp"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "hpo/interrupted.hpp"
#include "hpo/printable.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/runner.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/observers/run_observers.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/study/study_file.hpp"
#include "orchestrator/view/repeats.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {

namespace {

/// Throws Fatal if hpo cannot train the study's trials, or if repeats would not differ from each other.
void refuse_unrepeatable(const Study& study) {
    if (!study.has_worker())
        throw Fatal(
            "study " + study.name +
            " has no worker, so hpo cannot train its trials again; repeat them in the program that trained them");
    const bool searched = std::any_of(study.space.begin(), study.space.end(),
                                      [](const Dimension& dimension) { return dimension.name == "seed"; });
    if (searched || study.fixed.contains("seed"))
        throw Fatal("study " + study.name +
                    " sets the seed of its trials ('seed'), so that each repeat would be the same training; remove "
                    "that key to see how results vary");
}

/// Adds the missing repeats to the store of `again` as queued trials. Returns `again` with the matching budget. The
/// lock on the study's folder is released on return.
Study prepare(const StudyFolder& folder, Study again, const std::vector<const TrialRecord*>& configurations,
              std::int64_t repeats, const Acceptance& accepted) {
    const auto warn = [](const std::string& message) { std::fprintf(stderr, "hpo: %s\n", printable(message).c_str()); };
    const auto held = HeldStudy::take(again, folder, accepted, warn);
    if (!held) throw Fatal(held.error().message);
    const StudyRecord& record = (*held)->ledger.record();
    const auto missing = missing_repeats(record, configurations, repeats);
    again.budget.trials = std::max<std::int64_t>(1, static_cast<std::int64_t>(record.trials.size() + missing.size()));
    again.source = write_study(again);
    if (const auto begun = (*held)->begin(again, folder, warn); !begun) throw Fatal(begun.error().message);
    for (const event::Proposed& trial : missing)
        if (const auto stored = (*held)->store->append(trial); !stored) throw Fatal(stored.error().message);
    return again;
}

void print_json(const Study& study, const std::vector<Repeated>& ranked) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    const auto or_null = [](const std::optional<double>& number) {
        return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
    };
    for (const Repeated& repeated : ranked) {
        nlohmann::ordered_json values = nlohmann::ordered_json::array();
        for (const double value : repeated.values) values.push_back(value);
        list.push_back({{"trial", repeated.first->number},
                        {"params", nlohmann::ordered_json(wire::from(repeated.first->params))},
                        {"was", wire::from(*repeated.first->value)},
                        {"mean", or_null(values.empty() ? std::nullopt : std::optional(repeated.mean))},
                        {"deviation", or_null(repeated.deviation)},
                        {"values", std::move(values)},
                        {"failed", repeated.failed},
                        {"tied", repeated.tied}});
    }
    const nlohmann::ordered_json json{{"schema", json_schema},
                                      {"study", study.name},
                                      {"repeats", repeat_study(study).name},
                                      {"metric", study.objective.metric},
                                      {"best", std::move(list)}};
    print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace

int repeat_best(const StudySnapshot& snapshot, const std::vector<const TrialRecord*>& configurations,
                std::int64_t repeats, bool json) {
    refuse_unrepeatable(snapshot.study);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const StudyFolder folder = study_folder(repeat_study(snapshot.study).name);
    const auto accepted = [&](const std::string& before, const std::function<bool()>& valued) {
        return may_go_on(repeat_study(snapshot.study), before, valued,
                         "Move " + folder.path.string() + " away to start again.");
    };
    const Study again = prepare(folder, repeat_study(snapshot.study), configurations, repeats, accepted);
    const auto observer = make_run_observer(json ? RunStyle::quiet : RunStyle::automatic, again);
    const auto outcome = run_study(again, folder, installed_programs(), *observer, accepted);
    if (!outcome) throw Fatal(outcome.error().message, exit_status_of_failure());
    if (outcome->end == Engine::End::failed && !outcome->lock_given_up) throw Fatal(outcome->reason);
    const auto ranked = rank_repeats(outcome->record, configurations, snapshot.study.objective.direction);
    if (json)
        print_json(snapshot.study, ranked);
    else
        print(view::draw_repeats(snapshot.study, ranked, view::screen_of_stdout()));
    if (outcome->signal != 0) std::fprintf(stderr, "hpo: interrupted; the same command resumes it\n");
    if (outcome->signal == SIGINT) return 130;
    if (outcome->signal != 0) return 143;
    return ranked.front().values.empty() ? 1 : 0;
}

}  // namespace hpo
