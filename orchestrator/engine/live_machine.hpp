// The machine as a study may use it, read live: the host, and the accelerators that the study's resources name.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/clock.hpp"
#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/devices/tree_meter.hpp"
#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

class LiveMachine final : public SessionMachine {
   public:
    /// Takes the first reading (first_wait() at most; `tell` gets each step that takes longer than a second). Fails if
    /// `resources` name a device that does not exist, or if the study asks for GPUs (`backend: cuda` or `opencl`) and
    /// may use none; the reason lists the devices.
    ///
    /// `backend: auto` takes the GPUs that CUDA knows, else (the native worker) those of OpenCL, else none. A CPU that
    /// OpenCL offers is used where the study says `opencl` and there is no GPU, or where it is named.
    static Result<LiveMachine> make(const Study& study, const std::filesystem::path& hpo,
                                    const std::function<void(const DeviceNotice&)>& tell = {});

    /// Makes the machine of trials on the host, regardless of `resources.backend`.
    static LiveMachine on_cpu(const Study& study, const std::filesystem::path& hpo) {
        return {study, DeviceMonitor({.program = hpo})};
    }

    [[nodiscard]] const Host& host() const override { return host_; }
    [[nodiscard]] bool on_device() const override { return !devices_.empty(); }
    [[nodiscard]] Target target(std::span<const int> devices) const override;
    [[nodiscard]] Target target(int device) const { return target({&device, 1}); }
    [[nodiscard]] const DeviceReadings& readings() const override { return monitor_.latest(); }

    [[nodiscard]] bool host_too() const override { return host_too_; }
    [[nodiscard]] std::map<int, DeviceCalibration> calibrations() const override;
    /// Lets trials compute on the host, too.
    void use_host_too() { host_too_ = true; }

    std::vector<DeviceNotice> poll(Seconds now) override;
    std::vector<DeviceNotice> take_notices() override { return monitor_.take_notices(); }
    void take_other_sessions(std::vector<SessionReservations> sessions) override;
    void worker_started(WorkerIndex worker, std::int64_t pid) override { processes_[worker] = {.pid = pid}; }
    void worker_ended(WorkerIndex worker) override { processes_.erase(worker); }
    [[nodiscard]] Machine read(std::span<const WorkerIndex> workers = {}, std::optional<WorkerIndex> reusable = {},
                               std::span<const Reservation> reserved = {}) const override;
    [[nodiscard]] std::vector<Footprint> usage(std::span<const WorkerIndex> workers) const override;
    [[nodiscard]] std::optional<ThreadTime> thread_time(WorkerIndex worker, Seconds now) override;
    [[nodiscard]] std::vector<DeviceReservation> to_publish(
        const Machine& now, std::span<const HeldResources> held_resources) const override;

   private:
    LiveMachine(const Study& study, DeviceMonitor monitor);
    [[nodiscard]] std::int64_t promised(const std::string& device, const DeviceReading* reading = nullptr) const;
    /// Processes and bytes of each tree, as last measured; of a single process as of this moment.
    [[nodiscard]] std::vector<TreeReading> read_trees(std::span<const std::int64_t> roots) const;
    [[nodiscard]] Accelerator accelerator(std::size_t index, std::span<const std::int64_t> ours,
                                          std::span<const std::int64_t> reusable,
                                          std::span<const Reservation> reserved) const;

    /// The process of a worker, with its thread times as of the last reading.
    struct Process {
        std::int64_t pid = 0;
        std::optional<Seconds> read;
        std::optional<ThreadTime> time;
    };
    [[nodiscard]] std::vector<std::int64_t> pids_of(std::span<const WorkerIndex> workers) const;

    Resources resources_;
    bool native_, host_too_ = false;
    Host host_;
    DeviceMonitor monitor_;
    std::vector<Target> targets_;               ///< of `devices_`
    std::vector<std::string> devices_;          ///< UUIDs of those that the study uses, in its order
    std::map<WorkerIndex, Process> processes_;  ///< of workers
    std::unique_ptr<TreeWatch> watch_ = std::make_unique<TreeWatch>();
    std::vector<std::filesystem::path> memory_groups_ = memory_groups();  ///< as of the last poll
    std::vector<SessionReservations> other_sessions_;                     ///< as other sessions published them last
    std::vector<std::vector<std::int64_t>> their_trees_;                  ///< processes of each; empty: not known (yet)
};

/// LiveMachine::make, and for the native worker under `backend: auto` also a check whether a worker starts on the GPU:
/// where it does not, the study computes on the CPU, and `tell` is called with the reason. If `hpo bench devices` has
/// measured both the CPU and the GPU, each trial may compute on either (SessionMachine::host_too).
Result<LiveMachine> open_machine(const Study& study, const Programs& programs,
                                 const std::function<void(const DeviceNotice&)>& tell);

}  // namespace hpo
