#include "os/process.hpp"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

namespace hpo::os {

std::string own_program() { return "/proc/self/exe"; }

Result<std::filesystem::path> own_program_file() {
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
        return Error{"/proc is not there (" + failed.message() +
                     "), and hpo finds its own program, its workers and their memory by it; mount it first: "
                     "mount -t proc proc /proc"};
    return self;
}

void name_thread(const char* name) { (void)::prctl(PR_SET_NAME, name); }

void die_with_parent() { (void)::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void reset_signal_actions() {
    // By the system call: posix_spawn leaves two signals ignored that signal() refuses to change.
    struct {
        void (*handler)(int) = nullptr;
        unsigned long flags = 0;
        void (*restorer)() = nullptr;
        std::uint64_t mask = 0;
    } by_default;
    for (int signal = 1; signal <= 64; ++signal)
        (void)::syscall(SYS_rt_sigaction, signal, &by_default, nullptr, sizeof by_default.mask);
}

const char* signal_abbreviation(int number) { return ::sigabbrev_np(number); }

std::vector<int> allowed_cores() {
    std::vector<int> cores;
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(static_cast<unsigned>(core), &set)) cores.push_back(core);
    return cores;
}

void bind_to_cores(std::span<const int> cores) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores)
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(core), &set);
    (void)::sched_setaffinity(0, sizeof set, &set);
}

std::int64_t largest_resident(const rusage& usage) { return std::int64_t{1024} * usage.ru_maxrss; }

void limit_arenas() { (void)::mallopt(M_ARENA_MAX, 2); }

}  // namespace hpo::os
