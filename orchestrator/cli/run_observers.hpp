// How `hpo run` shows a session: a live block on a terminal, plain lines elsewhere, JSON lines for programs, or
// nothing.
#pragma once

#include <memory>

#include "orchestrator/engine/runner.hpp"

namespace hpo {

enum class RunStyle { automatic, json, quiet };

/// `study` outlives the observer.
std::unique_ptr<RunObserver> make_run_observer(RunStyle style, const Study& study);

}  // namespace hpo
