#include "orchestrator/execution/system.hpp"

#include <sys/time.h>

#include <cerrno>

namespace hpo::system {

bool adopt_orphans() { return false; }

bool die_with_parent() { return false; }

Descriptor open_process(pid_t) {
    errno = ENOSYS;
    return {};
}

bool signal_process(const Descriptor&, int) {
    errno = ENOSYS;
    return false;
}

bool close_at_exec_from(int) { return false; }

bool close_from(int) { return false; }

bool make_alarm() { return true; }

void ring_alarm_in(std::chrono::milliseconds time) {
    itimerval when{};
    when.it_value.tv_sec = static_cast<time_t>(time.count() / 1000);
    when.it_value.tv_usec = static_cast<suseconds_t>(time.count() % 1000 * 1000);
    (void)::setitimer(ITIMER_REAL, &when, nullptr);
}

void remove_alarm() {
    constexpr itimerval never{};
    (void)::setitimer(ITIMER_REAL, &never, nullptr);
}

}  // namespace hpo::system
