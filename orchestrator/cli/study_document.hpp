// All that the page of hpo report and hpo serve shows of a study.
#pragma once

#include <cstdint>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/page/packed.hpp"

namespace hpo {

/// Returns the document that orchestrator/page/src/study.ts reads. Reads the steps of the trials that are analysed into
/// the snapshot. Throws Fatal if something cannot be read.
page::Json study_document(StudySnapshot& snapshot);

/// Makes the document again and again while a study runs. It asks Git once, and computes the importance of parameters
/// again when further trials have ended. Leaves the snapshot without further steps.
class LiveDocument {
   public:
    page::Json of(const StudySnapshot& snapshot);

   private:
    std::int64_t ended_ = -1;  ///< trials, when `importance_` was computed; -1: never
    page::Json git_, machine_, importance_;
};

}  // namespace hpo
