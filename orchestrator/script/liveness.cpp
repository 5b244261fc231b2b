#include "orchestrator/script/liveness.hpp"

#include <unistd.h>

#include <cmath>

#include "orchestrator/execution/process_table.hpp"

namespace hpo::script {

namespace {

constexpr double busy_share = 0.01;  ///< of processor time since the last check, from which on the command is alive

double seconds_of_ended_children() {
    const rusage usage = usage_of_ended_children();
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

rusage usage_of_ended_children() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    return usage;
}

bool Liveness::shows(Time now) {
    if (now - checked_ < every_) return false;
    checked_ = now;
    // The sum can also shrink, namely when a process ends without being waited for.
    const double computed = processor_seconds_below(::getpid()) + seconds_of_ended_children();
    if (!acted_ && std::abs(computed - computed_) < busy_share * every_.count()) return false;
    computed_ = computed;
    acted_ = false;
    return true;
}

}  // namespace hpo::script
