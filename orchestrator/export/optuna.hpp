// Writes a study as a database of Optuna 3.1 (its RDBStorage on SQLite: schema version 12, alembic revision v3.0.0.d).
// `optuna.load_study` opens it, and Optuna can continue it. Newer versions require `optuna storage upgrade` first.
//
// States: complete -> COMPLETE; stopped by a rule, and paused at a rung -> PRUNED; diverged, failed, and complete
// without a value of the objective -> FAIL; running -> RUNNING; queued -> WAITING, which `study.ask()` returns with its
// parameters before it proposes anything new. One exception: the best of all trials that have ended is COMPLETE even if
// a rule stopped it, since Optuna's best_trial considers only COMPLETE. For the same reason a further seed of a
// configuration (`repeats`) is PRUNED, and the first has the mean of all as its value. The user attribute `state` has
// hpo's state.
//
// Optuna counts trials from 0: number = trial - 1. Intermediate values are the objective's, by step. A WAITING trial
// has none, since Optuna does not accept a second report of a step. An inactive parameter (`when`) is absent. The user
// attributes of a trial are trial, state, steps, seed, attempt, and if known best_step, values (all metrics of the step
// that determines the trial's value), closing (metrics reported after the last step), rule, reason, device,
// peak_host_bytes, peak_device_bytes.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/registry.hpp"

namespace hpo::exporting {

/// Creates `file`, which must not exist, in one transaction. Error messages contain the path `shown` instead of `file`.
Result<void> write_optuna(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const std::filesystem::path& file, const std::filesystem::path& shown);

/// Fails if there is a journal next to `path`. SQLite would take it for the new database's journal and undo the export.
Result<void> no_journal_beside(const std::filesystem::path& path);

/// Returns a dimension as Optuna's distribution_to_json writes it: {"name": "FloatDistribution", "attributes": {...}}.
std::string distribution_json(const Dimension& dimension);

/// Returns the number that Optuna stores for a value. For a category it is the index of the choice.
double internal_value(const Dimension& dimension, const Value& value);

}  // namespace hpo::exporting
