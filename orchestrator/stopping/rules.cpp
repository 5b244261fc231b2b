#include "orchestrator/stopping/rules.hpp"

#include <algorithm>

#include "orchestrator/stopping/registry.hpp"

namespace hpo {

using to_worker::Action;

Result<Rules> Rules::make(const Study& study) {
    Rules rules;
    for (const PartSpec& spec : study.stopping) {
        auto rule = make_rule(spec, study.objective, study.budget.epochs);
        if (!rule) return rule.error();
        rules.rules_.push_back(*std::move(rule));
    }
    return rules;
}

Verdict Rules::judge(const TrialRecord& trial) {
    Verdict verdict;
    for (const auto& rule : rules_) {
        Verdict other = rule->report(trial);
        const bool outranks = (other.action == Action::stop && verdict.action != Action::stop) ||
                              (other.action == Action::pause && verdict.action == Action::go_on);
        if (outranks) verdict = std::move(other);
    }
    return verdict;
}

void Rules::on_end(const TrialRecord& trial) {
    for (const auto& rule : rules_) rule->ended(trial);
}

void Rules::on_promotion(std::int64_t trial) {
    for (const auto& rule : rules_) rule->promoted(trial);
}

void Rules::expect_trials(bool more) {
    for (const auto& rule : rules_) rule->expect_trials(more);
}

/// With several pausing rules a trial goes on when none of them holds it: one that knows nothing of it does not.
std::vector<std::int64_t> Rules::promotions() const {
    std::vector<std::int64_t> promoted;
    for (const auto& rule : rules_)
        for (const std::int64_t trial : rule->promotions()) {
            const bool free = std::all_of(rules_.begin(), rules_.end(), [&](const auto& other) {
                if (other->verdict_on_paused(trial).empty()) return true;
                const auto theirs = other->promotions();
                return std::find(theirs.begin(), theirs.end(), trial) != theirs.end();
            });
            if (free && std::find(promoted.begin(), promoted.end(), trial) == promoted.end()) promoted.push_back(trial);
        }
    return promoted;
}

std::string Rules::verdict_on_paused(std::int64_t trial) const {
    for (const auto& rule : rules_)
        if (std::string reason = rule->verdict_on_paused(trial); !reason.empty()) return reason;
    return {};
}

}  // namespace hpo
