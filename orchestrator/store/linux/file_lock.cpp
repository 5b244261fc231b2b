#include "orchestrator/store/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace hpo {

namespace {

/// An open-file-description lock. Unlike that of flock() it can be queried without being taken.
struct flock whole_file(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

}  // namespace

bool lock_file(int descriptor) {
    auto lock = whole_file(F_WRLCK);
    return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

bool is_file_locked(int descriptor) {
    auto lock = whole_file(F_WRLCK);
    return ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool knows_file_locks(int descriptor) {
    auto lock = whole_file(F_RDLCK);
    return ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0;
}

}  // namespace hpo
