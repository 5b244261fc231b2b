// Tells which trials of a native study are predicted to be faster on the CPU, and which on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/preview/samples.hpp"

namespace hpo {

/// The seconds that a step of a sample is predicted to take on the CPU and on the study's first GPU, each with nothing
/// beside it.
struct SampleForecast {
    std::int64_t trial = 0;
    double cpu = 0, gpu = 0;

    [[nodiscard]] bool on_cpu() const { return cpu < gpu; }
};

struct BackendForecast {
    std::vector<SampleForecast> samples;  ///< empty: all trials compute on one backend, or a device is not calibrated
    std::string cpu, gpu;                 ///< names of the devices
};

/// Predicts the samples, planned on the GPU, by the calibrations of the machine. Samples that cannot be predicted on
/// both are left out.
BackendForecast forecast_backends(const Samples& samples, const SessionMachine& machine);

/// Plans the samples that are predicted to be faster on the CPU for the CPU, and sets their reservations. Throws Fatal
/// if no worker starts there.
void plan_on_cpu(const Study& study, const Programs& programs, const BackendForecast& forecast, Samples& samples);

}  // namespace hpo
