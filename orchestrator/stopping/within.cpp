#include "orchestrator/stopping/within.hpp"

#include <algorithm>
#include <utility>

namespace hpo {

Within::Within(std::string parameter, Make make)
    : parameter_(std::move(parameter)), make_(std::move(make)), any_(make_(1)) {}

Verdict Within::judge(const TrialRecord& trial) {
    const auto [kind, first] = rules_.try_emplace(kind_of(trial));
    if (first) {
        kind->second = make_(trial.number);
        kind->second->expect_trials(more_);
    }
    trials_.try_emplace(trial.number, &*kind);
    Verdict verdict = kind->second->report(trial);
    verdict.lasting |= first;  // this step determines which trial is the first of its kind
    if (!verdict.reason.empty()) verdict.reason = among(kind->first, verdict.reason);
    return verdict;
}

void Within::on_end(const TrialRecord& trial) {
    // A trial that ends without a report has taken no part in a comparison.
    if (StoppingRule* rule = rule_of(trial.number)) rule->ended(trial);
}

void Within::on_promotion(std::int64_t trial) {
    if (StoppingRule* rule = rule_of(trial)) rule->promoted(trial);
}

void Within::went_back(std::int64_t trial) {
    if (StoppingRule* rule = rule_of(trial)) rule->went_back(trial);
}

void Within::expect_trials(bool more) {
    more_ = more;
    for (const auto& [kind, rule] : rules_) rule->expect_trials(more);
}

std::vector<std::int64_t> Within::promotions(std::size_t most) const {
    std::vector<std::vector<std::int64_t>> each;
    for (const auto& [kind, rule] : rules_) each.push_back(rule->promotions(most));
    std::vector<std::int64_t> promoted;
    for (std::size_t turn = 0; promoted.size() < most; ++turn) {
        const std::size_t before = promoted.size();
        for (const auto& theirs : each)
            if (turn < theirs.size() && promoted.size() < most) promoted.push_back(theirs[turn]);
        if (promoted.size() == before) break;
    }
    return promoted;
}

bool Within::holds(std::int64_t trial) const {
    const StoppingRule* rule = rule_of(trial);
    return rule && rule->holds(trial);
}

std::vector<Gate> Within::gates() const {
    std::vector<Gate> gates = any_->gates();
    for (const auto& [kind, rule] : rules_) {
        const std::vector<Gate> theirs = rule->gates();
        for (std::size_t i = 0; i < std::min(gates.size(), theirs.size()); ++i) gates[i].certain |= theirs[i].certain;
    }
    return gates;
}

std::string Within::plan(const std::string& unit) const {
    const std::string text = any_->plan(unit);
    return text.empty() ? text : text + "; trials of each " + parameter_ + " among their own";
}

std::optional<Forecast> Within::forecast(std::int64_t trial) const {
    const StoppingRule* rule = rule_of(trial);
    return rule ? rule->forecast(trial) : std::nullopt;
}

std::int64_t Within::forecasts_made() const {
    std::int64_t sum = 0;
    for (const auto& [kind, rule] : rules_) sum += rule->forecasts_made();
    return sum;
}

std::string Within::verdict_on_paused(std::int64_t trial) const {
    const auto found = trials_.find(trial);
    if (found == trials_.end()) return {};
    const std::string reason = found->second->second->verdict_on_paused(trial);
    return reason.empty() ? reason : among(found->second->first, reason);
}

StoppingRule* Within::rule_of(std::int64_t trial) const {
    const auto found = trials_.find(trial);
    return found == trials_.end() ? nullptr : found->second->second.get();
}

std::string Within::kind_of(const TrialRecord& trial) const {
    const auto found = trial.params.find(parameter_);
    return found == trial.params.end() ? std::string() : to_text(found->second);
}

std::string Within::among(const std::string& kind, const std::string& reason) const {
    return (kind.empty() ? "no " + parameter_ : parameter_ + " " + kind) + ": " + reason;
}

}  // namespace hpo
