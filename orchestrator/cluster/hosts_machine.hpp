// The machine of a session on several hosts, from the readings of their agents.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orchestrator/cluster/hosts.hpp"

namespace hpo::cluster {

class HostsMachine final : public SessionMachine {
   public:
    HostsMachine(std::shared_ptr<Hosts> hosts, const Resources& resources)
        : hosts_(std::move(hosts)), resources_(resources) {}

    /// Returns how many trials run at once.
    [[nodiscard]] int workers() const;
    [[nodiscard]] std::string name_of(int host) const {
        return hosts_->all().at(static_cast<std::size_t>(host)).address.name;
    }
    /// Returns the launch of a worker on these accelerators, or on the cores of a host.
    [[nodiscard]] LaunchSpec spec(std::span<const int> devices) const;

    [[nodiscard]] const hpo::Host& host() const override { return here_; }
    [[nodiscard]] bool on_device() const override { return hosts_->on_device(); }
    [[nodiscard]] Target target(std::span<const int>) const override { return {}; }
    std::vector<DeviceNotice> poll(Seconds) override {
        hosts_->poll();
        return hosts_->take_notices();
    }
    std::vector<DeviceNotice> take_notices() override { return hosts_->take_notices(); }
    [[nodiscard]] const DeviceReadings& readings() const override { return none_; }
    [[nodiscard]] std::string gone() const override { return hosts_->gone(); }
    [[nodiscard]] std::string waits_to_begin() const override { return hosts_->waits_to_begin(); }
    [[nodiscard]] std::string waits_for_hosts() const override { return hosts_->waits_for_hosts(); }
    [[nodiscard]] bool awaits_hosts() const override { return hosts_->awaits(); }
    void session_ends(SessionEnd end, const std::string& reason) override { hosts_->session_ends(end, reason); }

    // The agents know of these.
    void take_other_sessions(std::vector<SessionReservations>) override {}
    void worker_started(WorkerIndex, std::int64_t) override {}
    void worker_ended(WorkerIndex) override {}

    [[nodiscard]] Machine read(std::span<const WorkerIndex> workers, std::optional<WorkerIndex> reusable,
                               std::span<const Reservation> reserved) const override;
    [[nodiscard]] std::vector<Footprint> usage(std::span<const WorkerIndex> workers) const override;
    [[nodiscard]] std::optional<ThreadTime> thread_time(WorkerIndex, Seconds) override { return std::nullopt; }
    /// Returns the reservations to publish, and tells the agents of them, for other sessions there.
    [[nodiscard]] std::vector<DeviceReservation> to_publish(const Machine& now,
                                                            std::span<const HeldResources> held) const override;

   private:
    [[nodiscard]] std::vector<DeviceReservation> reservations_of(std::size_t index, const Machine& now,
                                                                 std::span<const HeldResources> held) const;

    std::shared_ptr<Hosts> hosts_;
    const Resources& resources_;
    hpo::Host here_ = read_host();  ///< of the orchestrator, for its telemetry
    DeviceReadings none_;
};

}  // namespace hpo::cluster
