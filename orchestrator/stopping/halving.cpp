#include "orchestrator/stopping/halving.hpp"

#include <algorithm>

#include "orchestrator/stopping/promotion.hpp"

namespace hpo {

Halving::Halving(std::string name, const Objective& objective, const std::vector<std::int64_t>& steps,
                 std::size_t factor, std::string unit)
    : name_(std::move(name)),
      unit_(std::move(unit)),
      value_(objective),
      factor_(factor),
      rungs_(rungs_at(steps, factor)) {}

std::vector<std::int64_t> Halving::promotions(std::size_t most) const {
    std::vector<std::int64_t> promotable;
    for (std::size_t i = rungs_.size(); i-- > 0;) {
        const Rung& rung = rungs_[i];
        if (is_edge(i) && more_) continue;
        const std::size_t places = is_edge(i) ? 1 : more_ ? rung.quota() : std::max<std::size_t>(rung.quota(), 1);
        rung.add_promotable(places, more_ ? rung.free_places() : places, most, promotable);
    }
    return promotable;
}

std::vector<Gate> Halving::gates() const {
    std::vector<Gate> gates;
    for (std::size_t i = 0; i < rungs_.size(); ++i)
        gates.push_back({rungs_[i].step, 1 / static_cast<double>(factor_), i < in_force()});
    return gates;
}

std::string Halving::verdict_on_paused(std::int64_t trial) const {
    const auto found = waiting_.find(trial);
    return found == waiting_.end() ? std::string() : standing(found->second, true);
}

std::string Halving::plan(const std::string& unit) const {
    std::vector<std::int64_t> steps;
    for (const Rung& rung : rungs_) steps.push_back(rung.step);
    if (steps.empty()) return "no rung lies below the budget: every trial runs to its end";
    return "one trial in " + std::to_string(factor_) + " continues after " + rungs_text(steps, unit);
}

Verdict Halving::judge(const TrialRecord& trial) {
    leave(trial.number);
    const auto value = value_.of(trial);
    if (!value) return {.lasting = true};  // A repetition of this step counts as judged.
    const Ranked entry{value_.oriented(*value), trial.number};
    std::size_t& reached = reached_[trial.number];
    const std::size_t before = reached;
    for (; reached < rungs_.size() && rungs_[reached].step <= trial.steps(); ++reached) rungs_[reached].add(entry);
    if (reached == before) return {};
    const Waiting here{reached - 1, entry};
    arrived(trial, here.rung);
    Rung& rung = rungs_[here.rung];
    if (here.rung >= in_force() || (rung.has_place_for(entry) && !is_edge(here.rung))) {
        ++rung.gone_on;
        return {.lasting = true};
    }
    rung.paused.insert(entry);
    waiting_[trial.number] = here;
    return {to_worker::Action::pause, name_, standing(here, false), true};
}

void Halving::on_end(const TrialRecord& trial) {
    leave(trial.number);
    reached_.erase(trial.number);
    value_.forget(trial.number);
}

void Halving::on_promotion(std::int64_t trial) {
    if (const auto found = waiting_.find(trial); found != waiting_.end()) ++rungs_[found->second.rung].gone_on;
    leave(trial);
}

void Halving::leave(std::int64_t trial) {
    const auto found = waiting_.find(trial);
    if (found == waiting_.end()) return;
    rungs_[found->second.rung].paused.erase(found->second.entry);
    waiting_.erase(found);
}

/// Returns a text such as "7th of 21 at rung 2 (3 steps); the best 6 are promoted". `past` is true when the study has
/// ended: "...; the best 6 were promoted".
std::string Halving::standing(const Waiting& at, bool past) const {
    const Rung& rung = rungs_[at.rung];
    const std::size_t number = rung.place(at.entry) + 1;
    const std::string where = ordinal(number) + " of " + std::to_string(rung.ranking.size()) + " at rung " +
                              std::to_string(at.rung + 1) + " (" + counted(rung.step, unit_) + "); ";
    if (is_edge(at.rung))
        return where +
               (past ? "the last rung that was used" : "the last rung unless its ranks differ from the rung before");
    return where + promotion_text(number, rung.quota(), factor_, past);
}

}  // namespace hpo
