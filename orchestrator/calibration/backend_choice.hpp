// Chooses between the CPU and a GPU for the trials of a study, by what was measured of both. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/calibration/step_time.hpp"

namespace hpo {

struct BackendChoice {
    double cpu = 0, gpu = 0;  ///< predicted steps per second of all trials at once
    /// Returns true if the CPU is so much faster that the error of a prediction is unlikely to be the reason.
    [[nodiscard]] bool prefers_cpu() const { return cpu > 1.5 * gpu; }
    /// Returns "predicted 41 steps per second on the CPU, 9.5 on the GPU (hpo bench devices)".
    [[nodiscard]] std::string text() const;
};

/// Predicts the total rate of trials with this work, on the CPU with `cpu_trials` trials at once and on the GPU with
/// `fused` trials side by side in one worker. On the CPU, trials of one thread each are assumed not to slow each other
/// down. On the GPU, fused trials gain as much as the products of several models at once do, as far as measured.
/// Returns nothing if `work` is empty or any of it cannot be predicted on either device.
std::optional<BackendChoice> compare_backends(const DeviceCalibration& cpu, std::int64_t cpu_trials,
                                              const DeviceCalibration& gpu, std::int64_t fused,
                                              std::span<const StepWork> work);

}  // namespace hpo
