// Collects the facts for advice: the study's record, the telemetry, the calibrations of this machine, and the worker's
// answers and measurements for other configurations.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orchestrator/advice/advice.hpp"
#include "orchestrator/engine/one_worker.hpp"
#include "orchestrator/simulation/predict_study.hpp"

namespace hpo {

/// Asks native workers about configurations that differ from a trial's.
class OptionCollector {
   public:
    /// `measured` outlives it. With `measure`, each option is trained for a few iterations.
    OptionCollector(const MeasuredStudy& measured, bool measure);
    ~OptionCollector();

    /// Fills `options`, `step` and `largest_batch`. Throws Fatal if the worker cannot be asked.
    void collect(StudyFacts& facts);
    /// Adds the option that makes all these changes at once.
    void add_together(StudyFacts& facts, const std::vector<Change>& changes);

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Returns the known facts of the study; native options are added by OptionCollector.
StudyFacts facts_of(const StudySnapshot& snapshot, const MeasuredStudy& measured);

}  // namespace hpo
