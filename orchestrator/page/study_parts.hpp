// Reads the parts of a page that its record does not hold: curves, attempts, failures, the machine.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/page/columns.hpp"

namespace hpo::page {

/// The parts read of a study, so that the next page of the same study reads only new ones.
struct KeptParts {
    struct Curve {
        std::int64_t trained = 0;  ///< steps of the trial when it was read
        std::size_t most = 0;      ///< points
        CurvePoints points;
    };
    std::map<std::int64_t, Curve> curves;  ///< by trial
    AttemptColumns attempts;
    std::vector<Json> sessions;
    std::int64_t sequence = 0;  ///< of the last event in `attempts` and `sessions`
};

/// Returns the curves of the trials that have one: of all, or of a large study the best and others at equal distances.
Json curves_of(const StudySnapshot& snapshot, KeptParts& kept);

/// Returns the state of the code; null outside a repository.
Json git_json(const CodeState& code);
/// Reads where and when trials ran, and the sessions.
void read_events(const StudySnapshot& snapshot, KeptParts& kept);
/// Adds where and when trials ran, and the sessions.
void add_events(Json& json, const StudySnapshot& snapshot, KeptParts& kept);

/// Returns the trials that failed or diverged, the last ones first, with their reasons and the ends of their logs.
Json failures_of(const StudySnapshot& snapshot);

/// Returns the machine on which the page is written, which the study may have run on.
Json machine();

}  // namespace hpo::page
