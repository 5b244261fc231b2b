// A profile of training by operation, for `hpo bench training`: the same updates as in a trial, with a wait for the
// device after each operation.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "hpo/messages.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {

/// Trains `run` for three times `updates` updates: to load code, to time whole updates, and to time their operations.
/// Gives each result to `emit` as one JSON object (docs/protocol.md, "Profile"). Of a run with folds, one model is
/// trained on its first fold. Throws InvalidTrial and OutOfMemory.
void profile_training(WorkerContext& context, const to_worker::Run& run, std::int64_t updates,
                      const std::function<void(const nlohmann::json&)>& emit);

}  // namespace hpo
