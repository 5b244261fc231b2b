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
    /// wins. Needs the study's folder. Pid and host are this process's.
    static Result<HolderLock> take(const StudyFolder& study);

    /// Tells viewers where the control socket listens.
    Result<void> publish(const std::string& socket);

    HolderLock(HolderLock&& other) noexcept;
    HolderLock& operator=(HolderLock&& other) noexcept;
    HolderLock(const HolderLock&) = delete;
    HolderLock& operator=(const HolderLock&) = delete;
    ~HolderLock();

   private:
    explicit HolderLock(int fd) : fd_(fd) {}
    int fd_;
};

/// Who holds the study now; nullopt: nobody. Takes no lock itself: a viewer is never in a holder's way.
std::optional<Holder> holder_of(const StudyFolder& study);

}  // namespace hpo
