// The session registry: the reservations of each running session of this user, for other sessions, `hpo devices` and
// `hpo top`. Each session has a small file in a folder of this user: $XDG_RUNTIME_DIR/hpo or /tmp/hpo-UID. The kernel
// drops a session's lock when its process ends, so that files of dead sessions are not believed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// Reservations of a session on one device. Sizes are in bytes.
struct DeviceReservation {
    std::string device;                   ///< a DeviceReading's id, or "host"; of another machine after "NAME/"
    std::int64_t reserved = 0;            ///< predicted upper bounds, or measured sizes
    std::int64_t capacity = 0;            ///< memory of the device
    std::int64_t reserve = 0;             ///< left free by resources.gpu_reserve
    std::int64_t others = 0;              ///< used by processes that the session did not start
    std::int64_t used = 0;                ///< measured use of its trials
    double cores = 0;                     ///< reserved cores, for the host
    std::int64_t trials = 0;              ///< running there
    std::optional<std::int64_t> limit;    ///< most that it may reserve; absent: all but `reserve`
    std::string state = {}, reason = {};  ///< of another machine: up, silent, awaited or set aside, and why
};

struct SessionReservations {
    std::string study;
    std::int64_t pid = 0;
    std::vector<DeviceReservation> devices;  ///< the host, then its accelerators in its order
    std::string waits;                       ///< why a trial waits for memory that others use; empty if none does
    std::map<std::int64_t, double> ends{};   ///< of running trials by number, as a stopping rule predicts them
};

/// Returns true if more memory or cores are reserved on a device than before, or if the devices are others.
bool has_grown(const std::vector<DeviceReservation>& now, const std::vector<DeviceReservation>& before);

class SessionRegistry {
   public:
    /// Registers this session until destruction. Fails if the folder cannot be made or belongs to another user; a
    /// session goes on without a registry then.
    static Result<SessionRegistry> open();

    /// Replaces this session's earlier publication atomically.
    Result<void> publish(const SessionReservations& reservations);

    /// Returns the reservations of the other running sessions, as read_sessions() does.
    [[nodiscard]] std::vector<SessionReservations> others() const;

    /// Takes the lock under which a session reads the registry, decides and publishes, so that it sees the decisions of
    /// all others. The lock is held until it is destroyed. Waits at most a tenth of a second, because the holder may be
    /// suspended, and returns an empty descriptor then; the caller goes on without the lock.
    [[nodiscard]] Descriptor lock() const;
    /// Returns true if the folder was removed ($XDG_RUNTIME_DIR goes away at logout): other sessions do not see this
    /// one then.
    [[nodiscard]] bool lost() const;

    SessionRegistry(SessionRegistry&&) noexcept = default;
    SessionRegistry& operator=(SessionRegistry&&) = delete;
    ~SessionRegistry();

   private:
    SessionRegistry(Descriptor folder, Descriptor lock, std::string name)
        : folder_(std::move(folder)), lock_(std::move(lock)), name_(std::move(name)) {}
    Descriptor folder_, lock_;
    std::string name_;
    std::string published_;
};

/// Returns the reservations of running sessions, and removes the files of dead ones. Files that no session could
/// have written are ignored.
std::vector<SessionReservations> read_sessions();

/// Returns the path of the registry's folder, whether or not it exists.
std::filesystem::path registry_folder();

}  // namespace hpo
