// hpo bench training: the time of a study's training by operation.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "hpo/study.hpp"
#include "orchestrator/calibration/calibration.hpp"

namespace hpo {

struct TrainingBench {
    const Study& study;
    std::int64_t updates = 20;
    bool json = false;
};

/// Trains the first configuration of the study in a worker with this environment, and prints the time of each
/// operation. `peaks`: the kept calibration of its device, or null. Returns the exit code. Throws Fatal.
int bench_training(const TrainingBench& arguments, const std::map<std::string, std::string>& environment,
                   const DeviceCalibration* peaks);

}  // namespace hpo
