// Runs a study: takes its folder, replays its ledger, and drives the engine with real processes, time,
// signals and the control socket until the study or the session ends.
#pragma once

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/engine/held_study.hpp"
#include "orchestrator/engine/run_observer.hpp"
#include "orchestrator/engine/site.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

/// Fails if a study cannot begin because its sampler or rules cannot be made or, if it runs `here`, its devices are
/// missing. Changes nothing.
Result<void> could_begin(const Study& study, const Programs& programs, bool here = true);

/// Runs a session. Fails before any launch, without a change of the study, if the folder cannot be written, another
/// process holds the study, the database is damaged, or a device is missing. `accepted` decides, while the study is
/// held, whether the stored study may continue as this one. Trials run on the site that `open_site` opens.
Result<RunOutcome> run_study(const Study& study, const StudyFolder& folder, const Programs& programs,
                             RunObserver& observer, const Acceptance& accepted,
                             const OpenSite& open_site = open_local_site);

}  // namespace hpo
