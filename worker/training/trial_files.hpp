// The two checkpoint files of a trial, and its exported model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/device_data.hpp"
#include "worker/models/model.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/safetensors.hpp"
#include "worker/training/trial_progress.hpp"

namespace hpo {

class TrialFiles {
   public:
    /// With an empty folder the trial has no files, and nothing may be read or written. `binding` is a text of
    /// everything that the content of the files follows from.
    TrialFiles(const std::string& folder, std::string_view binding);

    [[nodiscard]] bool enabled() const { return !folder_.empty(); }
    [[nodiscard]] std::string last() const { return folder_ / "last.ckpt"; }
    [[nodiscard]] std::string best() const { return folder_ / "best.ckpt"; }

    Result<void> write_last(const TrialProgress& progress, std::span<const float> state);
    Result<void> read_last(TrialProgress& progress, std::span<float> state);
    Result<void> write_best(std::span<const float> weights, std::int64_t step);
    /// The file must be of progress.best_step or of the step after the last checkpoint. In the second case the trial
    /// was interrupted between writing its two files; it repeats that step and writes the same file again.
    Result<void> read_best(std::span<float> weights, const TrialProgress& progress);

   private:
    std::filesystem::path folder_;
    std::uint64_t binding_;
};

/// The tensors of a network's file: its parameters, and the scale of its input. They refer to `fold` and `weights`.
std::vector<NamedTensor> tensors_of(const Model& model, const FoldFacts& fold, std::span<const float> weights);

/// Exports a model in the format of safetensors.hpp. The error names the file and the reason.
Result<void> save_model(const std::filesystem::path& file, const Configuration& configuration, const DeviceData& data,
                        std::span<const NamedTensor> tensors, std::int64_t step);

}  // namespace hpo
