// Collects the input of a prediction of a study's time: the study, its measurements, and the hardware.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/lookup/study_snapshot.hpp"
#include "orchestrator/simulation/predict.hpp"

namespace hpo {

struct PredictionQuestion {
    std::string study;             ///< a name or a file
    std::vector<std::string> set;  ///< overrides
    /// The value of --devices; absent: the hardware on which the study ran.
    std::optional<std::string> devices;
    std::string from;             ///< the study whose measurements are used; empty: the study itself
    bool takes_from = false;      ///< the command has --from
    std::optional<double> price;  ///< of an hour
    PredictionPlan plan;
};

/// A study that was measured.
struct MeasuredStudy {
    Study study;
    RecordedRun run;
};

/// Reads all events of a study. Throws Fatal if none of its trials took a step, or if another program trains them.
MeasuredStudy read_measured(const StudySnapshot& snapshot);

/// Throws Fatal or Refusal with the reason.
PredictionReport predict_study(const PredictionQuestion& question);

nlohmann::ordered_json to_json(const PredictionReport& answer);

}  // namespace hpo
