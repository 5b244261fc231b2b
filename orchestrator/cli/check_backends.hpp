// Tells for `hpo check` which trials of a native study are predicted to be faster on the CPU, and which on a GPU.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orchestrator/cli/check_samples.hpp"
#include "orchestrator/engine/session_machine.hpp"

namespace hpo {

/// The seconds that a step of a sample is predicted to take on the CPU and on the study's first GPU, each with nothing
/// beside it.
struct PredictedSample {
    std::int64_t trial = 0;
    double cpu = 0, gpu = 0;

    [[nodiscard]] bool on_cpu() const { return cpu < gpu; }
};

/// Predicts the samples, planned on the GPU, by the calibrations of the machine. Those that cannot be predicted on both
/// are left out.
std::vector<PredictedSample> predict_samples(const Samples& samples, const SessionMachine& machine);

/// Plans the samples that are predicted to be faster on the CPU for the CPU, and sets what they reserve. Throws Fatal
/// if no worker starts there.
void plan_on_cpu(const Study& study, const std::vector<PredictedSample>& predicted, Samples& samples);

/// Returns "4 of 32 sampled trials on cpu, 28 on cuda 0", and the range of both.
std::string describe_backends(const std::vector<PredictedSample>& predicted, std::size_t samples,
                              const SessionMachine& machine);

nlohmann::ordered_json to_json(const std::vector<PredictedSample>& predicted);

}  // namespace hpo
