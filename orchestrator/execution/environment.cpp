#include "orchestrator/execution/environment.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {

std::map<std::string, std::string> worker_environment(double cores) {
    const std::string threads = std::to_string(std::max(1L, std::lround(cores)));
    std::map<std::string, std::string> environment;
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                             "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "VECLIB_MAXIMUM_THREADS"})
        environment[name] = threads;
    environment["MALLOC_TRIM_THRESHOLD_"] = environment["MALLOC_MMAP_THRESHOLD_"] = "4000000000";
    environment["PYTHONUNBUFFERED"] = "1";
    return environment;
}

}  // namespace hpo
