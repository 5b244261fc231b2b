// Who runs a study: one process at a time, known by a lock on the file `lock` in the study's folder. The kernel drops
// the lock with the process, however it ends; the file stays, and without a lock it means nothing.
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

/// Held until destruction. Not inherited by programs that the holder starts.
class HolderLock {
   public:
    /// Refused with the holder's pid and host when another process (or another HolderLock) has it. Of many at once, one
    /// wins. Needs the study's folder; a lock file that is a symbolic link is refused. Pid and host are this process's.
    static Result<HolderLock> take(const StudyFolder& study);

    /// Tells viewers where the control socket listens.
    Result<void> publish(const std::string& socket);

    /// Whether the study's folder still has the file that is locked: where it was moved or removed, somebody else can
    /// take the study.
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

/// Who holds the study now; nullopt: nobody. Takes no lock itself: a viewer is never in a holder's way.
std::optional<Holder> holder_of(const StudyFolder& study);

}  // namespace hpo
