// The answer of a worker to the question how much memory, time and data a trial takes.
#pragma once

#include "hpo/messages.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {

/// The answer to `plan`, which also carries errors. Reads headers and labels of the data, but not the samples.
from_worker::PlanAnswer answer_plan(const to_worker::Plan& question, WorkerContext& context);

}  // namespace hpo
