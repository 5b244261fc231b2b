// Makes a running session visible to other processes: its reservations in the session registry, and its control socket.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"
#include "orchestrator/devices/session_registry.hpp"
#include "orchestrator/engine/control.hpp"
#include "orchestrator/engine/engine.hpp"
#include "orchestrator/engine/session_machine.hpp"
#include "orchestrator/execution/session_executor.hpp"
#include "orchestrator/store/holder_lock.hpp"

namespace hpo {

/// Returns the machine as of its last poll, in which memory of this session's processes is its own.
Machine machine_of(const Engine& engine, const SessionMachine& machine);
/// Says why a trial, or the whole session, waits; empty: none does.
std::string waits_of(const Engine& engine, const SessionMachine& machine);

class PublishedSession {
   public:
    /// All references outlive this object. A session continues without a registry if none can be opened.
    PublishedSession(boost::asio::io_context& loop, std::string study, SessionMachine& machine, ControlActions actions);

    /// Listens to control requests in the executor's folder, and names the socket in the study's lock.
    Result<void> listen(const SessionExecutor& executor, HolderLock& lock);
    /// Recreates the folders of the registry and of the socket, since folders below $XDG_RUNTIME_DIR are removed when
    /// their user logs out. Returns a problem for the user, once; empty: none.
    std::string keep_folders(SessionExecutor& executor, HolderLock& lock);

    /// Locks the registry and takes in the reservations of others, so that no other session decides until settle().
    void lock_registry();
    /// Makes the next settle() read the machine and publish.
    void publication_is_due() { due_ = true; }
    /// Releases the registry. Publishes the reservations before if that is due, or if they have grown since they were
    /// published.
    void settle(const Engine& engine);
    void publish(std::vector<DeviceReservation> holds, const std::string& waits,
                 std::map<std::int64_t, double> ends = {});

   private:
    boost::asio::io_context& loop_;
    std::string study_;
    SessionMachine& machine_;
    ControlActions actions_;

    std::optional<SessionRegistry> registry_;
    bool locked_ = false;  ///< the registry was read since the last settle()
    Descriptor lock_;      ///< from then on
    bool due_ = false;
    std::optional<Machine> now_;                ///< as of the last publication that was due
    std::vector<DeviceReservation> published_;  ///< reservations in the session registry

    std::filesystem::path folder_;  ///< the folder of the control socket
    std::optional<ControlServer> control_;
    std::string problem_;  ///< the last one that was returned
};

}  // namespace hpo
