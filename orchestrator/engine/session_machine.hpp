// The machine that a session's trials share, read live.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/worker_pool.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

class SessionMachine {
   public:
    virtual ~SessionMachine() = default;

    [[nodiscard]] virtual const Host& host() const = 0;
    /// Trials need an accelerator each.
    [[nodiscard]] virtual bool on_device() const = 0;
    /// What a worker on accelerators of read(), or on the host alone, is to compute on.
    [[nodiscard]] virtual Target target(std::span<const int> devices) const = 0;

    /// Each trial may compute on an accelerator or on the host, whichever is predicted to be the better one for it.
    [[nodiscard]] virtual bool host_too() const { return false; }
    /// What was measured of accelerators of read() and of the host (`host_only`), for the trials of a native study. It
    /// may be out of date: a worker's identity tells.
    [[nodiscard]] virtual std::map<int, DeviceCalibration> calibrations() const { return {}; }

    /// New readings of the devices, about once a second; what is worth telling.
    virtual std::vector<DeviceNotice> poll(Seconds now) = 0;
    /// The devices as of the last poll().
    [[nodiscard]] virtual const DeviceReadings& readings() const = 0;
    /// What other sessions have reserved at this moment; read() counts it as used.
    virtual void take_other_sessions(std::vector<SessionReservations> sessions) = 0;

    /// What there is at this moment, within the study's limits; accelerators as of the last poll. Memory held by the
    /// process trees of `workers` (pids) is not others' use; that of `reusable` (0: none) is free besides. `reserved`:
    /// what was reserved for them, where a driver hides who uses what.
    [[nodiscard]] virtual Machine read(std::span<const std::int64_t> workers, std::int64_t reusable,
                                       std::span<const Reservation> reserved) const = 0;
    /// Memory that the process trees of `workers` hold, one by one; of devices the most on one of them, 0 where the
    /// driver hides who uses what.
    [[nodiscard]] virtual std::vector<Footprint> usage(std::span<const std::int64_t> workers) const = 0;
    /// What a session that holds all this publishes to others (devices/session_registry.hpp).
    [[nodiscard]] virtual std::vector<DeviceReservation> to_publish(
        const Machine& now, std::span<const HeldResources> held_resources) const = 0;
};

}  // namespace hpo
