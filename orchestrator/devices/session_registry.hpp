// The session registry: what each running session of this user has reserved, for other sessions, `hpo devices` and `hpo
// top`. One small file a session in a folder that is this user's alone: $XDG_RUNTIME_DIR/hpo, or /tmp/hpo-UID. The
// kernel drops a session's lock with its process, so that nobody believes the dead. Nothing here waits for anybody.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/descriptor.hpp"
#include "hpo/result.hpp"

namespace hpo {

/// What a session holds of one device. Bytes.
struct DeviceReservation {
    std::string device;                 ///< a DeviceReading's id, or "host"
    std::int64_t reserved = 0;          ///< predicted upper bounds, or what was measured
    std::int64_t capacity = 0;          ///< of the device
    std::int64_t reserve = 0;           ///< left free on purpose
    std::int64_t others = 0;            ///< used by what the session did not start
    std::int64_t used = 0;              ///< by its trials, measured
    double cores = 0;                   ///< reserved; of the host
    std::int64_t trials = 0;            ///< running there
    std::optional<std::int64_t> limit;  ///< of what the session may book; absent: all but the reserve
};

struct SessionReservations {
    std::string study;
    std::int64_t pid = 0;
    std::vector<DeviceReservation> devices;  ///< the host, then the accelerators it may use, in its order
    std::string waits;                       ///< why a trial waits for memory that others use; empty: none does
};

class SessionRegistry {
   public:
    /// Registers this session until destruction. Fails, and says why, where the folder cannot be made or
    /// is somebody else's; a session does without then.
    static Result<SessionRegistry> open();

    /// Replaces what this session said before; readers see the one or the other.
    Result<void> publish(const SessionReservations& reservations);

    /// One session at a time looks at the session registry, decides and publishes: whoever holds the lock (until it is
    /// destroyed) sees all that others have decided. It waits for it a tenth of a second at most (its holder may be
    /// suspended); empty then, and one goes on without.
    [[nodiscard]] Descriptor lock() const;
    /// Somebody has removed the folder (at logout $XDG_RUNTIME_DIR goes away): nobody sees this session any more.
    [[nodiscard]] bool lost() const;

    SessionRegistry(SessionRegistry&&) noexcept = default;
    SessionRegistry& operator=(SessionRegistry&&) = delete;
    ~SessionRegistry();

   private:
    SessionRegistry(Descriptor folder, Descriptor lock, std::string name)
        : folder_(std::move(folder)), lock_(std::move(lock)), name_(std::move(name)) {}
    Descriptor folder_, lock_;
    std::string name_;
    std::string said_;
};

/// What the living sessions say; what dead ones left is removed. Files that are not what a session writes are no
/// sessions.
std::vector<SessionReservations> read_sessions();

/// Where the session registry is, or would be.
std::filesystem::path registry_folder();

}  // namespace hpo
