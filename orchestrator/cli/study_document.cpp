#include "orchestrator/cli/study_document.hpp"

#include <chrono>

#include "hpo/or_fail.hpp"
#include "hpo/step_name.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/engine/code_state.hpp"
#include "orchestrator/insights/importance_json.hpp"
#include "orchestrator/insights/insights.hpp"
#include "orchestrator/output/best_config.hpp"
#include "orchestrator/output/study_json.hpp"
#include "orchestrator/page/columns.hpp"
#include "orchestrator/page/study_parts.hpp"
#include "orchestrator/view/report.hpp"

namespace hpo {

namespace {

using page::Json;

Json text_or_nothing(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Returns the configuration of a trial as `hpo best` prints it.
Json configuration_of(const Study& study, const TrialRecord& trial) {
    return {{"trial", trial.number},
            {"yaml", best_config(study, trial, "yaml")},
            {"deviation", wire::from(deviation_of_seeds(trial))},
            {"environment", trial.allocation->environment}};
}

/// Returns the texts of the answer; `configuration` is that of the best trial, or of the front's first.
Json answer_of(const StudySnapshot& snapshot) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto moment = view::moment_of(snapshot.record, now, snapshot.holder.has_value());
    const std::string& reason = snapshot.record.end_reason;
    const TrialRecord* best = best_trial(snapshot.record, snapshot.study.objective);
    return {
        {"written", utc_text(now)},
        {"seconds", moment.seconds},
        {"end", snapshot.holder ? "running" : reason.substr(0, reason.find('\n'))},
        {"step", step_name(snapshot.study)},
        {"states", view::states_text(snapshot.record)},
        {"stopping", view::savings_text(snapshot.study, snapshot.record)},
        {"limit", text_or_nothing(limit_of_machine(snapshot))},
        {"constraints", text_or_nothing(view::constraints_text(snapshot.record, snapshot.study.objective))},
        {"front", snapshot.study.objective.further.empty() ? Json(nullptr)
                                                           : Json(view::front_text(snapshot.study, snapshot.record))},
        {"configuration", best == nullptr ? Json(nullptr) : configuration_of(snapshot.study, *best)}};
}

/// Returns all parts of the document but those that take long and seldom change.
Json quick_parts(const StudySnapshot& snapshot, page::KeptParts& kept) {
    Json json{{"schema", json_schema},
              {"version", version},
              {"study", study_json(snapshot)},
              {"answer", answer_of(snapshot)},
              {"space", page::space_columns(snapshot.study)},
              {"trials", page::trial_columns(snapshot.study, snapshot.record)},
              {"curves", page::curves_of(snapshot, kept)}};
    page::add_events(json, snapshot, kept);
    json["load"] = page::load_columns(or_fail(snapshot.store->telemetry()));
    json["failures"] = page::failures_of(snapshot);
    json["source"] = snapshot.study.source;
    json["remarks"] = remarks_of_trials(snapshot);
    return json;
}

}  // namespace

page::Json study_document(StudySnapshot& snapshot) {
    page::KeptParts nothing;
    Json json = quick_parts(snapshot, nothing);
    json["git"] = page::git_json(code_state(snapshot.study));
    json["machine"] = page::machine();
    json["importance"] = importance_json(snapshot);  // last, as it reads steps into the snapshot
    return json;
}

page::Json LiveDocument::of(const StudySnapshot& snapshot) {
    Json json = quick_parts(snapshot, kept_);
    if (ended_ < 0) {
        git_ = page::git_json(code_state(snapshot.study));
        machine_ = page::machine();
    }
    if (const std::int64_t ended = count_ended(snapshot.record); ended != ended_) {
        StudySnapshot apart = snapshot_or_fail(snapshot.folder);  // a copy, since its steps are not kept
        importance_ = importance_json(apart, most_steps);
        ended_ = ended;
    }
    json["git"] = git_;
    json["machine"] = machine_;
    json["importance"] = importance_;
    return json;
}

}  // namespace hpo
