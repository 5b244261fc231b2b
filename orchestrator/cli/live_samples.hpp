// Shows samples of the machine's load while they are taken.
#pragma once

#include <optional>

#include "orchestrator/telemetry/sample.hpp"
#include "orchestrator/view/terminal.hpp"

namespace hpo {

/// Shows samples in place on a terminal and otherwise as lines. A silent view shows nothing; it serves --json, and
/// programs that write to the terminal themselves.
class LiveSamples {
   public:
    explicit LiveSamples(bool silent);
    void show(const TelemetrySample& sample, double seconds);
    void end();

   private:
    bool silent_;
    std::optional<view::LiveBlock> block_;
};

}  // namespace hpo
