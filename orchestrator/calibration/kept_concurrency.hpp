// Keeps the number of trials at once that sessions have found best, per machine, device and kind of trial. The file
// lies beside the calibrations (calibration.hpp).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/scheduling/device_concurrency.hpp"

namespace hpo {

/// The key of stored numbers. They are used again only if all three members are equal.
struct ConcurrencyKey {
    std::string machine;  ///< host, CPU and cores
    std::string device;   ///< UUID, or "host"
    std::string kind;     ///< kind_of_trial()
};

/// Returns the native model that a trial with these parameters trains, such as "mlp".
std::string model_kind(const Study& study, const Params& params);

/// Returns a text that is equal for trials that load a machine alike: the model family of the native worker and its
/// backend, or the command of a script and its folder.
std::string kind_of_trial(const Study& study, std::string_view backend);

/// Returns the path of the file for this key in the folder `cache`.
std::filesystem::path concurrency_file(const std::filesystem::path& cache, const ConcurrencyKey& key);
/// Returns the kept numbers. Returns nothing if there is no file, or if the file is damaged, has impossible numbers or
/// was written for another key, which happens with a shared home folder.
std::optional<RememberedConcurrency> load_concurrency(const std::filesystem::path& file, const ConcurrencyKey& key);
/// Replaces the file atomically and creates its folders. The error names the file.
Result<void> save_concurrency(const std::filesystem::path& file, const ConcurrencyKey& key,
                              const RememberedConcurrency& found);

}  // namespace hpo
