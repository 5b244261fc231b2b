// macOS has no open-file-description locks for programs. Those of flock() are as good, but a question for one takes it
// for a moment. A holder that meets that moment tries again (take_from_the_living() in holder_lock.cpp).
#include "orchestrator/store/file_lock.hpp"

#include <sys/file.h>

#include <cerrno>

namespace hpo {

bool lock_file(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

bool is_file_locked(int descriptor) {
    if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    ::flock(descriptor, LOCK_UN);
    return false;
}

bool knows_file_locks(int descriptor) {
    if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    ::flock(descriptor, LOCK_UN);
    return true;
}

}  // namespace hpo
