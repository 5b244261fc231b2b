#include "worker/ranks/rank_cores.hpp"

namespace hpo {

RankCores::RankCores() {
    CPU_ZERO(&all_);
    known_ = ::sched_getaffinity(0, sizeof all_, &all_) == 0;
}

void RankCores::bind(std::span<const int> cores) const {
    if (!known_) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores)
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
    (void)::sched_setaffinity(0, sizeof set, CPU_COUNT(&set) > 0 ? &set : &all_);
}

}  // namespace hpo
