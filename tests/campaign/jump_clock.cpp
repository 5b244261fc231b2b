// A library for LD_PRELOAD: the wall clock of a program jumps once. CAMPAIGN_JUMP has two numbers: the instant of the
// jump, in nanoseconds of the monotonic clock, and the seconds that the wall clock is ahead from then on (may be
// negative). All other clocks go on.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

std::int64_t jump_at = INT64_MAX, ahead = 0;

[[gnu::constructor]] void read_environment() {
    if (const char* text = std::getenv("CAMPAIGN_JUMP")) std::sscanf(text, "%ld %ld", &jump_at, &ahead);
}

/// Returns the seconds that the wall clock is ahead now.
std::int64_t seconds_ahead() {
    timespec now{};
    ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec >= jump_at ? ahead : 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long failed = ::syscall(SYS_clock_gettime, clock, time);
    if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += seconds_ahead();
    return static_cast<int>(failed);
}

extern "C" int gettimeofday(timeval* time, void*) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    *time = {now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

extern "C" std::time_t time(std::time_t* result) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (result != nullptr) *result = now.tv_sec;
    return now.tv_sec;
}
