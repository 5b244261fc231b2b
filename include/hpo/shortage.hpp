// Failures of the system that pass by themselves.
#pragma once

#include <cerrno>

namespace hpo {

/// Returns true for an errno that tells of a shortage that may end soon, of processes, descriptors, buffers or memory
/// of the kernel, of a program that is being written, and of a call that a signal has interrupted. Whoever meets one
/// waits and tries again.
constexpr bool is_shortage(int error) {
    for (const int one : {EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS, ETXTBSY, EINTR})
        if (error == one) return true;
    return false;
}

}  // namespace hpo
