#include "worker/ranks/rank_cores.hpp"

#include "os/process.hpp"

namespace hpo {

RankCores::RankCores() : all_(os::allowed_cores()) {}

void RankCores::bind(std::span<const int> cores) const {
    os::bind_to_cores(cores.empty() ? std::span<const int>(all_) : cores);
}

}  // namespace hpo
