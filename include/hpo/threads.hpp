// Starts threads beside the first one of the process.
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "os/process.hpp"

namespace hpo {

inline constexpr const char* out_of_memory_message =
    "out of memory: the system gives this process no more; free some, then run the same command again\n";

/// Starts a thread that runs `work`, under a name of at most 15 characters, which is no temporary. No signal is
/// delivered to it: signals are for the thread that the process began with. Returns a thread that is not joinable if
/// the system has none left (RLIMIT_NPROC, pids.max of the control group). The caller then does the work itself, or
/// tries again later. If `work` throws std::bad_alloc, the process ends with status 1 and a message.
template <class Work>
std::thread start_thread(const char* name, Work work) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread;
    try {
        thread = std::thread([name, work = std::move(work)]() mutable {
            os::name_thread(name);
            try {
                work();
            } catch (const std::bad_alloc&) {
                std::fputs(out_of_memory_message, stderr);
                std::_Exit(1);
            }
        });
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace hpo
