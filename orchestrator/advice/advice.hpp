// Finds the bottleneck of a study, and changes that make it faster, from its measurements. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/messages.hpp"
#include "hpo/study.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/calibration/step_time.hpp"
#include "orchestrator/scheduling/concurrency_search.hpp"
#include "orchestrator/telemetry/summary.hpp"

namespace hpo {

/// The use of most of the time.
enum class Bound {
    unknown,
    data,      ///< waiting for data
    cpu,       ///< the host's cores, of which more is asked than there is
    launches,  ///< the start of operations, and all other costs of an update that do not depend on its size
    memory,    ///< moving memory
    compute,   ///< matrix products
};

std::string_view to_text(Bound bound);  ///< "data-bound", ..., "limited by nothing that was measured"

/// A configuration of the native worker, with the known facts of its speed.
struct TrainingOption {
    std::vector<std::pair<std::string, std::string>>
        changes;          ///< of the study: dotted key and value as YAML; none: as it is
    std::string backend;  ///< as in DeviceCalibration::device: "cpu", "cuda 0"
    StepWork work;        ///< of the typical trial
    std::int64_t batch_size = 0;
    std::optional<double> measured;  ///< seconds of a step, alone on the device, measured just now
    std::string group;               ///< options of one group exclude each other: "batch", "precision", ...
    std::string why;                 ///< a sentence for users: the change and its consequences
};

/// The known facts of a study.
struct StudyFacts {
    bool native = true;
    bool on_device = false;
    std::int64_t at_once = 1;
    double cores = 1;            ///< cores that its trials may use
    double busy = 1;             ///< share of the workers' time in which they trained steps
    std::optional<double> step;  ///< seconds of a step of the typical trial, in the study
    TelemetrySummary telemetry;
    std::vector<DeviceCalibration> devices;
    std::vector<TrainingOption> options;        ///< the first one is the typical trial as it is
    std::optional<std::int64_t> largest_batch;  ///< the largest batch size that fits and is known to work
    std::string largest_batch_limit;      ///< the limit that the next larger one meets; empty: none larger was tried
    std::vector<std::string> refused;     ///< measurements that cannot be used, a sentence each
    FoundConcurrency found_at_once;       ///< the result of `parallel: auto` for trials of this kind on this machine
    std::optional<std::int64_t> threads;  ///< threads of a script's trial, as its study sets them; absent: not known
    std::string threads_key;              ///< the study's key that sets them
    std::optional<std::int64_t> loaders;  ///< loader processes of a trial; absent: not known
    std::string loaders_key;
};

/// A change of the study.
struct Change {
    std::vector<std::pair<std::string, std::string>> keys;  ///< dotted key and value as YAML
    std::string group;                                      ///< the group of the option; empty: it has none
    std::optional<double> gain;  ///< the factor by which work per second grows; absent: not known
    std::string basis;           ///< "measured", "predicted from the calibration", ...
    std::string why;             ///< a sentence
};

struct Advice {
    Bound bound = Bound::unknown;
    std::vector<std::string> evidence;    ///< sentences with figures
    std::vector<Change> changes;          ///< the largest gain first; those without a known one last
    std::vector<std::string> to_measure;  ///< unknown facts, and how to find them
};

/// A change is given if it gains a tenth at least.
Advice advise(const StudyFacts& facts);

/// Returns the largest number from `fits` (which does) to `most` for which `refuses` returns an empty text, and the
/// text of `refuses` for the next larger one; the text is empty if `most` fits. A number above a refused one must be
/// refused, too.
std::pair<std::int64_t, std::string> largest_that_fits(std::int64_t fits, std::int64_t most,
                                                       const std::function<std::string(std::int64_t)>& refuses);

/// Returns the calibration of a backend ("cpu", "cuda", "cuda 0", "opencl"), or nullptr.
const DeviceCalibration* calibration_for(const std::vector<DeviceCalibration>& devices, std::string_view backend);

}  // namespace hpo
