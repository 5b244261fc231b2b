// The machine that a session's trials share, read live.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/event.hpp"
#include "orchestrator/calibration/calibration.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/worker_pool.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/scheduling/machine.hpp"
#include "orchestrator/scheduling/throughput_meter.hpp"

namespace hpo {

class SessionMachine {
   public:
    virtual ~SessionMachine() = default;

    [[nodiscard]] virtual const Host& host() const = 0;
    /// Returns true if each trial needs an accelerator.
    [[nodiscard]] virtual bool on_device() const = 0;
    /// Returns the target of a worker on accelerators of read() (by index), or on the host alone.
    [[nodiscard]] virtual Target target(std::span<const int> devices) const = 0;

    /// Returns true if each trial may compute on an accelerator or on the host, as predicted.
    [[nodiscard]] virtual bool host_too() const { return false; }
    /// Returns the calibrations of accelerators of read() and of the host (`host_only`) for native trials. They may be
    /// out of date, which a worker's identity shows.
    [[nodiscard]] virtual std::map<int, DeviceCalibration> calibrations() const { return {}; }

    /// Reads the devices. Returns notices for the user. Call it about once a second.
    virtual std::vector<DeviceNotice> poll(Seconds now) = 0;
    /// Returns the notices since the last poll(), without a reading and without any effect on hosts. Call it when the
    /// session ends.
    virtual std::vector<DeviceNotice> take_notices() = 0;
    /// Returns the devices as of the last poll().
    [[nodiscard]] virtual const DeviceReadings& readings() const = 0;
    /// Sets the reservations of other sessions, which read() counts as used.
    virtual void take_other_sessions(std::vector<SessionReservations> sessions) = 0;

    /// A worker has started as this process of the first host, or has ended. Later calls name it by its index.
    virtual void worker_started(WorkerIndex worker, std::int64_t pid) = 0;
    virtual void worker_ended(WorkerIndex worker) = 0;

    /// Returns the present machine within the study's limits; accelerators as of the last poll(). Memory of the process
    /// trees of `workers` does not count as used by other programs; that of `reusable` also counts as free. `reserved`
    /// has their reservations, for drivers that hide the memory of each process.
    [[nodiscard]] virtual Machine read(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable,
                                       std::span<const Reservation> reserved) const = 0;
    /// Returns the memory of the process tree of each of `workers`. Its device memory is the largest on any one device;
    /// 0 if the driver hides the memory of each process.
    [[nodiscard]] virtual std::vector<Footprint> usage(std::span<const WorkerIndex> workers) const = 0;
    /// Returns the times of the threads of a worker and its descendants, if readable.
    [[nodiscard]] virtual std::optional<ThreadTime> thread_time(WorkerIndex worker, Seconds now) = 0;
    /// Returns why no host is left for any trial; empty while one is, or may come back.
    [[nodiscard]] virtual std::string gone() const { return {}; }
    /// Names the hosts without which the session does not begin yet; empty: it can begin.
    [[nodiscard]] virtual std::string waits_to_begin() const { return {}; }
    /// Says that a session which has begun has no host at the moment, and how one joins; empty: it has one.
    [[nodiscard]] virtual std::string waits_for_hosts() const { return {}; }
    /// Returns true if a host that has not answered yet may join.
    [[nodiscard]] virtual bool awaits_hosts() const { return false; }
    /// The session ends, which may be said several times: agents that joined are told, and workers on silent hosts
    /// are not waited for if trials are cut short.
    virtual void session_ends(SessionEnd, const std::string& /*reason*/) {}
    /// Returns the reservations that a session with these resources publishes (devices/session_registry.hpp).
    [[nodiscard]] virtual std::vector<DeviceReservation> to_publish(
        const Machine& now, std::span<const HeldResources> held_resources) const = 0;
};

}  // namespace hpo
