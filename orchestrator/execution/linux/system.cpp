#include "orchestrator/execution/system.hpp"

#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

namespace hpo::system {

namespace {

timer_t alarm_clock;

bool close_range(int first, unsigned flags) {
    return ::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, flags) == 0;
}

}  // namespace

bool adopt_orphans() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; }

bool die_with_parent() { return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0; }

Descriptor open_process(pid_t pid) { return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool signal_process(const Descriptor& handle, int signal) {
    return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

bool close_at_exec_from(int first) { return close_range(first, CLOSE_RANGE_CLOEXEC); }

bool close_from(int first) { return close_range(first, 0); }

bool make_alarm() {
    sigevent rings{};
    rings.sigev_notify = SIGEV_SIGNAL;
    rings.sigev_signo = SIGALRM;
    return ::timer_create(CLOCK_MONOTONIC, &rings, &alarm_clock) == 0;
}

void ring_alarm_in(std::chrono::milliseconds time) {
    itimerspec when{};
    when.it_value.tv_sec = time.count() / 1000;
    when.it_value.tv_nsec = time.count() % 1000 * 1'000'000;
    ::timer_settime(alarm_clock, 0, &when, nullptr);
}

void remove_alarm() { ::timer_delete(alarm_clock); }

}  // namespace hpo::system
