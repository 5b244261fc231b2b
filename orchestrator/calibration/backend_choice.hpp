// Chooses for each trial of a study between the host and the accelerators, by when it is predicted to end. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/calibration/step_time.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// The present load: computing trials and their ends. All times are seconds from now.
struct ComputeLoad {
    /// A trial on an accelerator.
    struct Trial {
        double ends = 0;
        std::string fusion_key;  ///< empty: it shares its worker with no other
    };
    struct Device {
        int index = 0;          ///< in Machine::accelerators
        double free_bytes = 0;  ///< of its memory
        std::vector<Trial> trials;
    };
    std::vector<double> cores;    ///< when each core of the hosts has nothing more to do
    std::vector<Device> devices;  ///< the devices that may be used
};

/// A trial that is to be given the host or an accelerator.
struct TrialToPlace {
    double steps = 0;  ///< steps left to train
    bool may_use_host = true, may_use_device = true;
    std::string fusion_key;              ///< on an accelerator; empty if it is not known
    std::optional<Footprint> on_device;  ///< the footprint on an accelerator; absent: not known
    /// Returns the seconds of a step on a device, or on the host; nothing if they cannot be predicted.
    std::function<std::optional<double>(int device, const StepSharing& sharing)> step;
};

/// A place for a trial, with its predictions. Times are seconds from now.
struct PredictedEnd {
    int device = host_only;
    double step = 0;    ///< seconds
    double begins = 0;  ///< when the cores and the memory that it needs are free
    double ends = 0;    ///< after all of its steps
};

struct BackendChoice {
    std::optional<PredictedEnd> host, device;  ///< on the host, and on the best accelerator; absent: not possible

    [[nodiscard]] bool takes_host() const { return host && (!device || host->ends < device->ends); }
    [[nodiscard]] const PredictedEnd& taken() const { return takes_host() ? *host : *device; }
};

/// Predicts when the trial ends on the host and on each accelerator, beside the trials that compute there already, and
/// adds it to the load where it ends first. A trial takes a core of the host on either: on an accelerator, one thread
/// drives the device for all trials of a worker, and a trial joins a worker that trains others of its fusion key. Both
/// members of the result are absent if nothing can be predicted; the load is then as before.
BackendChoice choose_backend(ComputeLoad& load, const TrialToPlace& trial);

}  // namespace hpo
