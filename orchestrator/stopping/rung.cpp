#include "orchestrator/stopping/rung.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hpo {

namespace {

/// Returns true if fewer than `count` entries are ordered before `entry`. Takes time linear in `count`, regardless of
/// the number of entries.
bool fewer_before(const std::set<Ranked>& entries, const Ranked& entry, std::size_t count) {
    auto next = entries.begin();
    for (; count > 0; --count, ++next)
        if (next == entries.end() || !(*next < entry)) return true;
    return false;
}

}  // namespace

void Rung::add(const Ranked& entry) { ranking.insert(std::lower_bound(ranking.begin(), ranking.end(), entry), entry); }

void Rung::remove(std::int64_t trial) {
    std::erase_if(ranking, [&](const Ranked& entry) { return entry.trial == trial; });
}

std::size_t Rung::place(const Ranked& entry) const {
    return static_cast<std::size_t>(
        std::distance(ranking.begin(), std::lower_bound(ranking.begin(), ranking.end(), entry)));
}

bool Rung::has_place_for(const Ranked& entry) const {
    return place(entry) < quota() && fewer_before(paused, entry, free_places());
}

void Rung::add_promotable(std::size_t places, std::size_t free, std::size_t most,
                          std::vector<std::int64_t>& trials) const {
    if (paused.empty() || places == 0) return;
    const Ranked& last = ranking[places - 1];
    for (auto entry = paused.begin(); entry != paused.end() && *entry <= last && free > 0 && trials.size() < most;
         ++entry, --free)
        trials.push_back(entry->trial);
}

std::vector<Rung> rungs_at(const std::vector<std::int64_t>& steps, std::size_t factor) {
    std::vector<Rung> rungs;
    for (const std::int64_t step : steps) rungs.push_back({step, factor, {}, {}, 0});
    return rungs;
}

std::vector<std::int64_t> rung_steps(std::int64_t first, std::int64_t factor, std::int64_t steps) {
    std::vector<std::int64_t> all;
    for (std::int64_t step = first; step < steps; step *= factor) all.push_back(step);
    return all;
}

std::vector<std::int64_t> rung_steps_from_end(std::int64_t steps, std::int64_t grace, std::size_t factor) {
    const auto by = static_cast<double>(factor);
    std::vector<std::int64_t> all;
    for (double at = static_cast<double>(steps) / by;; at /= by) {
        const auto step = static_cast<std::int64_t>(std::lround(at));
        if (step < std::max<std::int64_t>(grace, 2)) break;
        all.insert(all.begin(), step);
    }
    if (grace <= 1 && steps > 1) all.insert(all.begin(), 1);
    return all;
}

std::string rungs_text(const std::vector<std::int64_t>& steps, const std::string& unit) {
    std::string text = unit + (steps.size() == 1 ? " " : "s ");
    for (std::size_t i = 0; i < steps.size(); ++i)
        text += (i == 0 ? "" : i + 1 == steps.size() ? " and " : ", ") + std::to_string(steps[i]);
    return text;
}

}  // namespace hpo
