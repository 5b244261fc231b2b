// The search for the number of trials at once in a session: its start, and the stored and reported findings.
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

/// Returns the key of findings about one kind of trial on this machine. `device`: a UUID; empty: the host.
ConcurrencyKey concurrency_key(const Host& host, const std::string& device, std::string kind);

/// Returns the start of the search, from findings of earlier sessions about this machine, its devices and this kind of
/// trial. Returns nothing if the number of trials at once is not searched.
std::optional<ConcurrencyPlan> concurrency_plan(const Study& study, const WorkerPlan& plan,
                                                const SessionMachine& machine);

/// Stores the findings for later sessions. A failure costs the next session only time.
Result<void> keep_findings(const Study& study, const SessionMachine& machine,
                           std::span<const ConcurrencyFinding> findings);

/// Returns a line per device with the number of trials at once: "2, by their throughput: 2 at once: 1.93 times the work
/// of one; 3: 1.90 times".
std::vector<std::string> finding_lines(std::span<const ConcurrencyFinding> findings);

}  // namespace hpo
