// The speeds of running studies, for the telemetry of the machine.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/telemetry/sample.hpp"

namespace hpo {

/// The training speeds of the studies in this folder that are running on this machine.
class StudyRates {
   public:
    /// Adds the steps per second of each study that trains now.
    void add_to(TelemetrySample& sample);

   private:
    StudySnapshot* find(const SessionReservations& session);

    std::map<std::string, std::optional<StudySnapshot>> studies_;  ///< by name; nothing if it is not in this folder
};

}  // namespace hpo
