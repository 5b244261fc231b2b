// The precision of matrix products that `training.precision` resolves to on a device. A named one must be supported by
// the device. `auto` is measured: short trainings of the trial's bucket on its data, in float32 and in the narrow
// precision that the device has (bfloat16, otherwise float16; tf32 is used only where it is named). The narrow one is
// taken where it is faster at an equal validation loss. The choice is kept for the device and the bucket, in memory and
// in a file of $XDG_CACHE_HOME/hpo (~/.cache/hpo), so that trials of similar shape are trained in the same precision. A
// trial that resumes keeps the precision of its checkpoint, on another device too (trial_group.cpp).
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hpo/clock.hpp"
#include "hpo/result.hpp"
#include "hpo/user_cache.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/trainer.hpp"

namespace hpo {

/// The precisions that `auto` may resolve to.
inline constexpr std::array auto_precisions{Precision::float32, Precision::bfloat16, Precision::float16};

/// The configuration as if it named the precision.
Configuration with_precision(Configuration configuration, Precision precision);

/// The result of a short training in one precision.
struct PrecisionRun {
    Precision precision = Precision::float32;
    std::int64_t updates = 0;          ///< number of trained updates
    double iterations_per_second = 0;  ///< 0: not measured
    double validation_loss = 0;
};

/// The narrow precision if it is at least a tenth faster and its loss is at most a fiftieth above that of float32;
/// otherwise float32.
Precision better_precision(const PrecisionRun& float32, const PrecisionRun& narrow);

/// The narrow precision that `auto` tries on a device; nothing: `auto` means float32.
std::optional<Precision> narrow_precision(const Device& device);

/// Remembers choices by a key of everything that they depend on.
class PrecisionChoices {
   public:
    /// `folder`: where the choices are kept; empty: in memory only.
    explicit PrecisionChoices(std::filesystem::path folder) : folder_(std::move(folder)) {}
    PrecisionChoices() : PrecisionChoices(user_cache()) {}

    /// Returns the configuration with a precision that the device has, if it is known without measuring: a named one,
    /// or an earlier choice. Where `auto` has yet to be measured, `measured_precision` stays true, and `precision` is
    /// the one that takes more memory. The error names the key.
    Result<Configuration> resolve(Configuration configuration, const Device& device);

    /// Resolves as resolve() does, but measures where necessary; `line` then gets a line for the log. Throws
    /// OutOfMemory, and the exceptions of `should_continue`.
    Result<Configuration> measure(Configuration configuration, Device& device, const DeviceData& data,
                                  const Clock& clock, const ShouldContinue& should_continue, std::string& line);

   private:
    [[nodiscard]] std::optional<Precision> known(const std::string& key);
    void keep(const std::string& key, Precision precision);

    [[nodiscard]] std::filesystem::path file_of(const std::string& key) const;

    std::filesystem::path folder_;
    std::map<std::string, Precision> known_;
};

}  // namespace hpo
