#include "orchestrator/engine/published_session.hpp"

#include <unistd.h>

#include <utility>

namespace hpo {

namespace {

std::optional<SessionRegistry> open_registry() {
    auto registry = SessionRegistry::open();
    if (!registry) return std::nullopt;
    return *std::move(registry);
}

}  // namespace

Machine machine_of(const Engine& engine, const SessionMachine& machine) {
    std::vector<Reservation> reserved;
    for (const HeldResources& held : engine.held_resources()) reserved.push_back(held.reservation);
    return machine.read(engine.workers(), {}, reserved);
}

std::string waits_of(const Engine& engine, const SessionMachine& machine) {
    const std::string hosts = machine.waits_for_hosts();
    return hosts.empty() ? engine.waits() : hosts;
}

PublishedSession::PublishedSession(boost::asio::io_context& loop, std::string study, SessionMachine& machine,
                                   ControlActions actions)
    : loop_(loop),
      study_(std::move(study)),
      machine_(machine),
      actions_(std::move(actions)),
      registry_(open_registry()) {}

Result<void> PublishedSession::listen(const SessionExecutor& executor, HolderLock& lock) {
    const auto folder = executor.folder();
    control_.reset();
    auto control = ControlServer::open(loop_, folder / "control", study_, actions_);
    if (!control) return Error{"no control socket: " + control.error().message};
    control_.emplace(*std::move(control));
    if (auto published = lock.publish((folder / "control").string()); !published) return published;
    folder_ = folder;  // set last, so that a failure is retried
    return {};
}

std::string PublishedSession::keep_folders(SessionExecutor& executor, HolderLock& lock) {
    if (!registry_ || registry_->lost()) {
        registry_.reset();
        if (auto opened = open_registry()) registry_.emplace(*std::move(opened));
    }
    auto kept = executor.keep_folder();
    if (kept && executor.folder() != folder_) kept = listen(executor, lock);
    if (kept || std::exchange(problem_, kept.error().message) == kept.error().message) return {};
    return "hpo stop cannot reach this study: " + problem_;
}

void PublishedSession::lock_registry() {
    if (std::exchange(locked_, true)) return;
    if (registry_) lock_ = registry_->lock();
    machine_.take_other_sessions(registry_ ? registry_->others() : read_sessions());
}

void PublishedSession::settle(const Engine& engine) {
    const bool due = std::exchange(due_, false);
    if (due) lock_registry();
    if (due || !now_) now_ = machine_of(engine, machine_);
    if (std::exchange(locked_, false)) {
        std::vector<DeviceReservation> holds = machine_.to_publish(*now_, engine.held_resources());
        if (due || has_grown(holds, published_))
            publish(std::move(holds), waits_of(engine, machine_), engine.predicted_ends());
    }
    lock_.reset();
}

void PublishedSession::publish(std::vector<DeviceReservation> holds, const std::string& waits,
                               std::map<std::int64_t, double> ends) {
    published_ = holds;
    if (registry_) (void)registry_->publish({study_, getpid(), std::move(holds), waits, std::move(ends)});
}

}  // namespace hpo
