#include "orchestrator/stopping/halving.hpp"

#include <algorithm>
#include <iterator>

#include "orchestrator/stopping/promotion.hpp"

namespace hpo {

std::vector<std::int64_t> rung_steps(std::int64_t first, std::int64_t factor, std::int64_t steps) {
    std::vector<std::int64_t> all;
    for (std::int64_t step = first; step < steps; step *= factor) all.push_back(step);
    return all;
}

std::string rungs_text(const std::vector<std::int64_t>& steps, const std::string& unit) {
    std::string text = unit + (steps.size() == 1 ? " " : "s ");
    for (std::size_t i = 0; i < steps.size(); ++i)
        text += (i == 0 ? "" : i + 1 == steps.size() ? " and " : ", ") + std::to_string(steps[i]);
    return text;
}

Halving::Halving(std::string name, const Objective& objective, const std::vector<std::int64_t>& steps,
                 std::size_t factor, std::string unit)
    : name_(std::move(name)),
      unit_(std::move(unit)),
      objective_(objective),
      metric_{objective.metric, objective.direction},
      factor_(factor),
      best_({.metric = metric_, .value = {}}) {
    for (const std::int64_t step : steps) rungs_.push_back({step, {}, {}, 0});
}

std::vector<std::int64_t> Halving::promotions(std::size_t most) const {
    std::vector<std::int64_t> promotable;
    for (std::size_t i = rungs_.size(); i-- > 0;) {
        const Rung& rung = rungs_[i];
        if (is_edge(i) && more_) continue;
        const std::size_t places = is_edge(i) ? 1 : more_ ? quota(rung) : std::max<std::size_t>(quota(rung), 1);
        if (rung.paused.empty() || places == 0) continue;
        const Entry& last = rung.ranking[places - 1];
        std::size_t free = more_ ? free_places(rung) : places;
        for (auto entry = rung.paused.begin(); entry != rung.paused.end() && *entry <= last && free > 0; ++entry) {
            if (promotable.size() == most) return promotable;
            promotable.push_back(entry->trial);
            --free;
        }
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
    const auto value = value_of(trial);
    if (!value) return {.lasting = true};  // A repetition of this step counts as judged.
    const Entry entry{metric_.direction == Direction::minimize ? *value : -*value, trial.number};
    std::size_t& reached = reached_[trial.number];
    const std::size_t before = reached;
    for (; reached < rungs_.size() && rungs_[reached].step <= trial.steps(); ++reached) {
        auto& ranking = rungs_[reached].ranking;
        ranking.insert(std::lower_bound(ranking.begin(), ranking.end(), entry), entry);
    }
    if (reached == before) return {};
    const Waiting here{reached - 1, entry};
    arrived(trial, here.rung);
    Rung& rung = rungs_[here.rung];
    const bool has_place = place(here) < quota(rung) && fewer_before(rung.paused, entry, free_places(rung));
    if (here.rung >= in_force() || (has_place && !is_edge(here.rung))) {
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
    best_.forget(trial.number);
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

std::size_t Halving::place(const Waiting& at) const {
    const auto& ranking = rungs_[at.rung].ranking;
    return static_cast<std::size_t>(std::lower_bound(ranking.begin(), ranking.end(), at.entry) - ranking.begin());
}

/// Returns the objective's value so far, or nothing if the last report has none.
std::optional<double> Halving::value_of(const TrialRecord& trial) {
    const auto last = metric_(trial.curve.back());
    if (objective_.at == Objective::At::last) return last;
    // A resumed study does not read all steps of ended trials, but their records contain the value.
    return !last ? last : trial.value ? trial.value : best_.at(trial).value;
}

/// Returns a text such as "7th of 21 at rung 2 (3 steps); the best 6 are promoted". `past` is true when the study has
/// ended: "...; the best 6 were promoted".
std::string Halving::standing(const Waiting& at, bool past) const {
    const Rung& rung = rungs_[at.rung];
    const std::size_t number = place(at) + 1;
    const std::string where = ordinal(number) + " of " + std::to_string(rung.ranking.size()) + " at rung " +
                              std::to_string(at.rung + 1) + " (" + counted(rung.step, unit_) + "); ";
    if (is_edge(at.rung))
        return where +
               (past ? "the last rung that was used" : "the last rung unless its ranks differ from the rung before");
    return where + promotion_text(number, quota(rung), factor_, past);
}

}  // namespace hpo
