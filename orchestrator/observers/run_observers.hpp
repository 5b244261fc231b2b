// The output of `hpo run` while it runs: a live block on a terminal, plain lines elsewhere, JSON lines, or nothing.
#pragma once

#include <memory>

#include "orchestrator/engine/run_observer.hpp"

namespace hpo {

enum class RunStyle { automatic, json, quiet };

/// Creates the observer for `style`. `automatic` selects the live block if stdout is a terminal. `study` must outlive
/// the observer.
std::unique_ptr<RunObserver> make_run_observer(RunStyle style, const Study& study);

}  // namespace hpo
