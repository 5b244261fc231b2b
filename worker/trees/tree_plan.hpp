// Answers `plan` for a trial of trees: its memory and its steps.
#pragma once

#include "hpo/messages.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {

/// Never throws: the answer's error tells why the trial is impossible.
from_worker::PlanAnswer answer_tree_plan(const to_worker::Plan& question, const WorkerContext& context);

}  // namespace hpo
