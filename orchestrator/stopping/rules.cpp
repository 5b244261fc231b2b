#include "orchestrator/stopping/rules.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "hpo/step_name.hpp"
#include "orchestrator/stopping/registry.hpp"
#include "orchestrator/stopping/within.hpp"

namespace hpo {

using to_worker::Action;

namespace {

/// Returns the dimension within whose values a rule compares trials, or nullptr if it compares all.
Result<const Dimension*> compared_within(const PartSpec& spec, const Study& study) {
    const auto given = spec.options.find("within");
    if (given == spec.options.end() && (!study.native() || judges_alone(spec.type))) return nullptr;
    const std::string name = given == spec.options.end() ? "type" : to_text(given->second);
    for (const Dimension& dimension : study.space)
        if (dimension.name == name && dimension.kind == Kind::categorical) return &dimension;
    if (given == spec.options.end()) return nullptr;
    return Error{"stopping rule " + spec.type + ": within: \"" + name +
                 "\" is not a categorical parameter of the space"};
}

}  // namespace

Result<std::unique_ptr<StoppingRule>> make_rule(const PartSpec& spec, const Study& study) {
    const auto make = [spec, objective = study.objective, steps = study.budget.epochs, unit = step_name(study)](
                          std::int64_t first) { return make_rule(spec, objective, steps, unit, first); };
    auto rule = make(1);
    if (!rule) return rule;
    const auto within = compared_within(spec, study);
    if (!within) return within.error();
    if (!*within || (*within)->choices.size() < 2) return rule;
    return std::unique_ptr<StoppingRule>(
        std::make_unique<Within>((*within)->name, [make](std::int64_t first) { return *make(first); }));
}

Result<Rules> Rules::make(const Study& study) {
    Rules rules;
    for (const PartSpec& spec : study.stopping) {
        auto rule = make_rule(spec, study);
        if (!rule) return rule.error();
        rules.rules_.push_back(*std::move(rule));
        rules.alone_.push_back(judges_alone(spec.type));
    }
    return rules;
}

Verdict Rules::judge(const TrialRecord& trial) {
    Verdict verdict;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!judges(i, trial)) continue;
        Verdict other = rules_[i]->report(trial);
        const bool lasting = verdict.lasting || other.lasting;
        const bool outranks = (other.action == Action::stop && verdict.action != Action::stop) ||
                              (other.action == Action::pause && verdict.action == Action::go_on);
        if (outranks) verdict = std::move(other);
        verdict.lasting = lasting;
    }
    return verdict;
}

void Rules::went_back(std::int64_t trial) {
    for (const auto& rule : rules_) rule->went_back(trial);
}

void Rules::on_end(const TrialRecord& trial) {
    for (std::size_t i = 0; i < rules_.size(); ++i)
        if (judges(i, trial)) rules_[i]->ended(trial);
}

void Rules::on_promotion(std::int64_t trial) {
    for (const auto& rule : rules_) rule->promoted(trial);
}

void Rules::expect_trials(bool more) {
    for (const auto& rule : rules_) rule->expect_trials(more);
}

bool Rules::holds(std::int64_t trial) const {
    return std::any_of(rules_.begin(), rules_.end(), [&](const auto& rule) { return rule->holds(trial); });
}

/// Returns the trials that are promoted. If several rules have paused a trial, all of them must promote it.
std::vector<std::int64_t> Rules::promotions(std::size_t most) const {
    std::vector<std::vector<std::int64_t>> each;
    for (const auto& rule : rules_)
        if (auto theirs = rule->promotions(rules_.size() == 1 ? most : all); !theirs.empty())
            each.push_back(std::move(theirs));
    std::vector<std::int64_t> promoted;
    std::unordered_set<std::int64_t> added;
    for (const auto& theirs : each)
        for (const std::int64_t trial : theirs) {
            if (promoted.size() == most) return promoted;
            const auto holders = std::count_if(rules_.begin(), rules_.end(), [&](auto& r) { return r->holds(trial); });
            const auto promoters = holders < 2 ? holders : std::count_if(each.begin(), each.end(), [&](auto& list) {
                return std::find(list.begin(), list.end(), trial) != list.end();
            });
            if (holders == promoters && added.insert(trial).second) promoted.push_back(trial);
        }
    return promoted;
}

std::vector<Gate> Rules::gates() const {
    std::map<std::int64_t, Gate> by_step;
    for (const auto& rule : rules_)
        for (const Gate& gate : rule->gates()) {
            Gate& known = by_step.try_emplace(gate.step, gate).first->second;
            known.share = std::min(known.share, gate.share);
            known.certain |= gate.certain;
        }
    std::vector<Gate> gates;
    for (const auto& [step, gate] : by_step) gates.push_back(gate);
    return gates;
}

double Rules::least_full_share() const {
    double share = 0;
    for (const auto& rule : rules_) share = std::max(share, rule->least_full_share());
    return share;
}

std::optional<Forecast> Rules::forecast(std::int64_t trial) const {
    for (const auto& rule : rules_)
        if (auto known = rule->forecast(trial)) return known;
    return std::nullopt;
}

std::int64_t Rules::forecasts_made() const {
    std::int64_t sum = 0;
    for (const auto& rule : rules_) sum += rule->forecasts_made();
    return sum;
}

std::string Rules::verdict_on_paused(std::int64_t trial) const {
    for (const auto& rule : rules_)
        if (std::string reason = rule->verdict_on_paused(trial); !reason.empty()) return reason;
    return {};
}

}  // namespace hpo
