// Which precision of matrix products `training.precision` comes to on a device. A named one must be the device's.
// `auto` is measured: short trainings of the trial, or of its bucket, on its own data, in float32 and in the narrow
// precision that the device has (bfloat16, else float16; never tf32, which is had by its name alone), and the narrow
// one is taken where it is faster at an equal validation loss. What was measured is kept for the device and the bucket
// of shapes, in memory and in a file of $XDG_CACHE_HOME/hpo (~/.cache/hpo), so that trials that are alike in shape are
// trained alike.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hpo/clock.hpp"
#include "hpo/result.hpp"
#include "worker/data/device_data.hpp"
#include "worker/training/configuration.hpp"
#include "worker/training/trainer.hpp"

namespace hpo {

/// What a short training in one precision showed.
struct PrecisionRun {
    Precision precision = Precision::float32;
    std::int64_t updates = 0;          ///< trained
    double iterations_per_second = 0;  ///< 0: not measured
    double validation_loss = 0;
};

/// The narrow one if it is a tenth faster at least, and its loss is at most a fiftieth above float32's.
Precision better_precision(const PrecisionRun& float32, const PrecisionRun& narrow);

/// The narrow precision that `auto` tries on a device; none: it is float32.
std::optional<Precision> narrow_precision(const Device& device);

/// $XDG_CACHE_HOME/hpo, else ~/.cache/hpo; empty where neither is known.
std::filesystem::path user_cache();

/// Choices by what they depend on.
class PrecisionChoices {
   public:
    /// `folder`: where they are kept; empty: in memory alone.
    explicit PrecisionChoices(std::filesystem::path folder) : folder_(std::move(folder)) {}
    PrecisionChoices() : PrecisionChoices(user_cache()) {}

    /// The configuration with a precision that the device has, if that is known without measuring: a named one, or an
    /// earlier choice. Where `auto` is yet to be measured, `measured_precision` stays true, and precision is the one
    /// that takes more memory. An error names the key.
    Result<Configuration> settle(Configuration configuration, const Device& device);

    /// The same, measured if need be; `said` gets a line for people then. Throws OutOfMemory, and what `go_on` throws.
    Result<Configuration> measure(Configuration configuration, Device& device, const DeviceData& data,
                                  const Clock& clock, const GoOn& go_on, std::string& said);

   private:
    [[nodiscard]] std::optional<Precision> known(const std::string& words);
    void keep(const std::string& words, Precision precision);

    [[nodiscard]] std::filesystem::path file_of(const std::string& words) const;

    std::filesystem::path folder_;
    std::map<std::string, Precision> known_;
};

}  // namespace hpo
