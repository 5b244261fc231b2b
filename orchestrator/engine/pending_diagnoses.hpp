// Attempts that ended on an accelerator and whose cause is known only when readings have come that are newer than their
// end: was the device lost, did other programs take its memory? Their memory stays reserved until then.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/engine/device_health.hpp"
#include "orchestrator/engine/worker_pool.hpp"

namespace hpo {

/// Time after which a new reading shows the memory that other programs use of a device.
inline constexpr Seconds read_anew_after{2};

struct PendingDiagnosis {
    Job job;
    Seconds until{0};
    std::string reason;
    bool out_of_memory =
        false;  ///< the attempt ran out of memory, and the trial is already queued again; else its worker died
    bool device_failed = false;  ///< the worker reported a failed device, or fell silent
    Footprint others{0, 0, 0};   ///< largest use by other programs since the end of the attempt
};

class PendingDiagnoses {
   public:
    /// `placement` outlives the object.
    explicit PendingDiagnoses(Placement& placement) : placement_(placement) {}

    void add(PendingDiagnosis diagnosis);
    /// Drops the diagnosis of a trial that a user has ended.
    void drop(std::int64_t trial);
    void clear();

    /// Takes in the memory that other programs use.
    void read(const Machine& machine);
    /// A diagnosis that can be made now, because its device is gone or its time has come.
    struct Due {
        PendingDiagnosis diagnosis;
        bool device_lost = false;
    };
    std::optional<Due> take_due(const DeviceHealth& health, Seconds now);
    /// Removes and returns the diagnoses of workers that died on the same device within moments of `first`. `running`
    /// returns true if the trial is still running in the store.
    std::vector<PendingDiagnosis> take_deaths_with(const PendingDiagnosis& first,
                                                   const std::function<bool(std::int64_t trial)>& running);

    [[nodiscard]] bool empty() const { return pending_.empty(); }
    [[nodiscard]] const std::vector<PendingDiagnosis>& all() const { return pending_; }

   private:
    Placement& placement_;
    std::vector<PendingDiagnosis> pending_;
};

}  // namespace hpo
