// The process that runs a study, known by its lock on the file `lock` in the study's folder. The kernel drops the lock
// when the process ends in any way. The file stays, and means nothing without a lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/result.hpp"
#include "orchestrator/store/study_folder.hpp"

namespace hpo {

struct Holder {
    std::int64_t pid = 0;
    std::string host;
    std::string socket;  ///< path of the control socket; empty: none yet
};

/// The lock of a study, held until destruction. Programs that the holder starts do not inherit it.
class HolderLock {
   public:
    /// Takes the lock for this process. Fails with the holder's pid and host if another process (or another HolderLock)
    /// has it (after up to 5 s if that process has ended), if the study's folder is missing, or if the lock file is a
    /// symbolic link. If several processes try at once, one succeeds.
    static Result<HolderLock> take(const StudyFolder& study);

    /// Stores the path of the control socket for viewers.
    Result<void> publish(const std::string& socket);

    /// Returns true if the study's folder still has the locked file. If the folder was moved or removed, another
    /// process can take the study.
    [[nodiscard]] bool in_place() const;

    HolderLock(HolderLock&& other) noexcept;
    HolderLock& operator=(HolderLock&& other) noexcept;
    HolderLock(const HolderLock&) = delete;
    HolderLock& operator=(const HolderLock&) = delete;
    ~HolderLock();

   private:
    HolderLock(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
    int fd_;
    std::filesystem::path path_;
};

/// Returns the present holder of the study; nullopt if there is none. Takes no lock itself, so that viewers never block
/// a holder.
std::optional<Holder> holder_of(const StudyFolder& study);

}  // namespace hpo
