// The search for the number of trials at once in a session: what it begins with, and what it keeps and reports.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/calibration/kept_concurrency.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/engine/context.hpp"
#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/engine/workers.hpp"

namespace hpo {

/// What is found about trials of a kind on this machine is kept for this key. `device`: a UUID; empty: the host.
ConcurrencyKey concurrency_key(const Host& host, const std::string& device, std::string kind);

/// Returns where the search begins, with what is remembered of this machine, its devices and this kind of trial.
/// Returns nothing if the number of trials at once is not searched.
std::optional<ConcurrencyPlan> concurrency_plan(const Study& study, const WorkerPlan& plan,
                                                const SessionMachine& machine);

/// Keeps the findings for later sessions. Returns an Error if that fails, which costs the next session only time.
Result<void> keep_findings(const Study& study, const SessionMachine& machine,
                           std::span<const ConcurrencyFinding> findings);

/// Returns a line per device with what was found: "2, by their throughput: 2 at once: 1.93 times the work of one; 3:
/// 1.90 times".
std::vector<std::string> finding_lines(std::span<const ConcurrencyFinding> findings);

}  // namespace hpo
