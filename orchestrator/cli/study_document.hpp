// All that the page of hpo report and hpo serve shows of a study.
#pragma once

#include <cstdint>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/page/study_parts.hpp"

namespace hpo {

/// Returns the document that orchestrator/page/src/study.ts reads. Reads the steps of the trials that are analysed into
/// the snapshot. Throws Fatal if something cannot be read.
page::Json study_document(StudySnapshot& snapshot);

/// Makes the document of a study repeatedly while it runs: reads only new events, asks Git once, and computes the
/// importance of parameters when further trials have ended, unless they have very many steps. Leaves the snapshot
/// without further steps.
class LiveDocument {
   public:
    page::Json of(const StudySnapshot& snapshot);

   private:
    static constexpr std::int64_t most_steps = 50'000;  ///< steps that are analysed at most: some 50 MB

    page::KeptParts kept_;
    std::int64_t ended_ = -1;  ///< trials, when `importance_` was computed; -1: never
    page::Json git_, machine_, importance_;
};

}  // namespace hpo
