// Attempts that ended on an accelerator and whose cause is known only when readings have come that are newer than their
// end: was the device lost, did other programs take its memory? What they held stays reserved until then.
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

/// So soon what other programs use of a device has been read anew.
inline constexpr Seconds read_anew_after{2};

struct PendingDiagnosis {
    Job job;
    Seconds until{0};
    std::string reason;
    bool out_of_memory = false;  ///< it is queued again already, with no other record of how; else: its worker died
    bool device_failed = false;  ///< as its worker reported, or it fell silent
    Footprint others{0, 0, 0};   ///< most that other programs were seen to use since
};

class PendingDiagnoses {
   public:
    /// `placement` outlives it.
    explicit PendingDiagnoses(Placement& placement) : placement_(placement) {}

    void add(PendingDiagnosis diagnosis);
    /// The trial was ended by a user: nothing follows any more.
    void drop(std::int64_t trial);
    void clear();

    /// A reading of the machine: what other programs use.
    void read(const Machine& machine);
    /// One that can be made now, which is removed: its device is gone, or its time has come.
    struct Due {
        PendingDiagnosis diagnosis;
        bool device_lost = false;
    };
    std::optional<Due> take_due(const DeviceHealth& health, Seconds now);
    /// Those whose workers died on the same device within moments of this one's, which are removed. `running`: the
    /// store has their trials as running still.
    std::vector<PendingDiagnosis> take_deaths_with(const PendingDiagnosis& first,
                                                   const std::function<bool(std::int64_t trial)>& running);

    [[nodiscard]] bool empty() const { return pending_.empty(); }
    [[nodiscard]] const std::vector<PendingDiagnosis>& all() const { return pending_; }

   private:
    Placement& placement_;
    std::vector<PendingDiagnosis> pending_;
};

}  // namespace hpo
