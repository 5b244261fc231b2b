// Writes a study as a database of Optuna 3.1 (its RDBStorage on SQLite: schema version 12, alembic revision v3.0.0.d).
// `optuna.load_study` opens it, and Optuna can continue it. Newer versions ask for `optuna storage upgrade` first.
//
// States: complete -> COMPLETE; stopped by a rule, and paused at a rung -> PRUNED; diverged, failed, and complete
// without a value of the objective -> FAIL; running -> RUNNING; queued -> WAITING, which `study.ask()` hands out before
// anything new, with its parameters. One exception: the best of all trials that have ended is COMPLETE even if a rule
// stopped it, because Optuna's best_trial looks at COMPLETE alone. The user attribute `state` has hpo's state.
//
// Optuna counts trials from 0: number = trial - 1. Intermediate values are the objective's, by step; a WAITING trial
// has none, because what was reported already could not be reported again. A parameter that is not active (`when`) is
// absent. User attributes of a trial: trial, state, steps, seed, attempt, and where there are any best_step, values
// (all metrics of the step that counts), rule, reason, device, peak_host_bytes, peak_device_bytes.
#pragma once

#include <filesystem>
#include <string>

#include "hpo/event.hpp"
#include "hpo/study.hpp"
#include "orchestrator/export/registry.hpp"

namespace hpo::exporting {

/// Makes `file`, which must not exist, in one transaction. Errors name `shown`.
Result<void> write_optuna(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                          const std::filesystem::path& file, const std::filesystem::path& shown);

/// Returns an Error if there is a journal next to `path`: SQLite would take it for the new database's own and undo the
/// export.
Result<void> no_journal_beside(const std::filesystem::path& path);

/// Returns a dimension as Optuna's distribution_to_json writes it: {"name": "FloatDistribution", "attributes": {...}}.
std::string distribution_json(const Dimension& dimension);

/// Returns the number that Optuna stores for a value; for a category it is the index.
double internal_value(const Dimension& dimension, const Value& value);

}  // namespace hpo::exporting
