#include "orchestrator/calibration/backend_choice.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/units.hpp"

namespace hpo {

std::string BackendChoice::text() const {
    return "predicted " + short_number(cpu) + " steps per second on the CPU, " + short_number(gpu) +
           " on the GPU (hpo bench devices)";
}

std::optional<BackendChoice> compare_backends(const DeviceCalibration& cpu, std::int64_t cpu_trials,
                                              const DeviceCalibration& gpu, std::int64_t fused,
                                              std::span<const StepWork> work) {
    double cpu_seconds = 0, gpu_seconds = 0;
    for (const StepWork& one : work) {
        const auto on_cpu = predict_step(cpu, one), on_gpu = predict_step(gpu, one);
        if (!on_cpu || !on_gpu) return std::nullopt;
        cpu_seconds += on_cpu->seconds() / static_cast<double>(std::max<std::int64_t>(1, cpu_trials));
        gpu_seconds += on_gpu->seconds() / fusing_gain(gpu, precision_on(gpu, one), fused);
    }
    if (!(cpu_seconds > 0 && gpu_seconds > 0)) return std::nullopt;
    const auto steps = static_cast<double>(work.size());
    return BackendChoice{steps / cpu_seconds, steps / gpu_seconds};
}

}  // namespace hpo
