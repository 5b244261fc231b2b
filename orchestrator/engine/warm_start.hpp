// Reads the studies that another one learns from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/sampling/prior_study.hpp"

namespace hpo {

/// Returns the present trials of the studies in `study.warm_start`, in that order, or with `warm_start: auto` of up to
/// three that are alike (alike_studies.hpp) and have at least eight ended trials in this space. Fails with the place
/// and the cure if a study is missing or unreadable, or if none of its ended trials lies in this space; `auto` leaves
/// these studies out. Does not change any of them. Warns of a study of which reported results are missing.
Result<std::vector<PriorStudy>> load_prior_studies(const Study& study,
                                                   const std::function<void(const std::string&)>& warn = {});

/// Returns the names of the studies from which `study` would learn by `warm_start: auto`, with commas between them.
std::string names_of_alike(const Study& study);

/// Returns a clause that names the studies from which a study without a warm start could learn: "'warm_start: auto'
/// learns from phase1, wide". Empty if there are none.
std::string warm_start_offer(const Study& study);

/// Returns the trials of other studies that the next session of `study` learns from: those stored at its beginning, if
/// it has begun, even if the other studies have changed. Do not call it while this process holds the study.
Result<std::vector<PriorStudy>> prior_studies_of(const Study& study);

}  // namespace hpo
