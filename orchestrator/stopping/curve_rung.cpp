#include "orchestrator/stopping/curve_rung.hpp"

#include <algorithm>
#include <cmath>

namespace hpo {

void CurveRung::add(const Foretold& entry) {
    ranking.insert(std::lower_bound(ranking.begin(), ranking.end(), entry), entry);
}

void CurveRung::remove(std::int64_t trial) {
    std::erase_if(ranking, [&](const Foretold& entry) { return entry.trial == trial; });
}

std::size_t CurveRung::place(const Foretold& entry) const {
    return static_cast<std::size_t>(
        std::distance(ranking.begin(), std::lower_bound(ranking.begin(), ranking.end(), entry)));
}

std::vector<CurveRung> rungs_of(std::int64_t steps, std::int64_t grace, std::size_t factor) {
    const auto by = static_cast<double>(factor);
    std::vector<CurveRung> rungs;
    for (double at = static_cast<double>(steps) / by;; at /= by) {
        const auto step = static_cast<std::int64_t>(std::lround(at));
        if (step < std::max<std::int64_t>(grace, 2)) break;
        rungs.insert(rungs.begin(), {step, factor, {}, {}, 0});
    }
    if (grace <= 1 && steps > 1) rungs.insert(rungs.begin(), {1, factor, {}, {}, 0});
    return rungs;
}

}  // namespace hpo
