// A rule that compares each trial only with those of its kind: of the same value of one parameter, such as the type of
// a model. Curves of different kinds have different shapes: boosted trees are near their end after a few steps, where a
// network has hardly begun, so that neither ranks nor extrapolations tell anything across kinds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "orchestrator/stopping/rule.hpp"

namespace hpo {

class Within final : public StoppingRule {
   public:
    /// Creates the rule of a kind, given the number of its first trial.
    using Make = std::function<std::unique_ptr<StoppingRule>(std::int64_t first)>;

    /// `parameter` names the parameter whose values are the kinds. A trial without it is of a kind of its own.
    Within(std::string parameter, Make make);

    void expect_trials(bool more) override;
    /// Takes one trial of each kind in turn.
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most = all) const override;
    [[nodiscard]] bool holds(std::int64_t trial) const override;
    [[nodiscard]] std::vector<Gate> gates() const override;
    [[nodiscard]] std::string plan(const std::string& unit) const override;
    [[nodiscard]] double least_full_share() const override { return any_->least_full_share(); }
    [[nodiscard]] std::optional<Forecast> forecast(std::int64_t trial) const override;
    [[nodiscard]] std::int64_t forecasts_made() const override;
    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override;
    void went_back(std::int64_t trial) override;

   private:
    Verdict judge(const TrialRecord& trial) override;
    void on_end(const TrialRecord& trial) override;
    void on_promotion(std::int64_t trial) override;

    using Kinds = std::map<std::string, std::unique_ptr<StoppingRule>>;

    /// Returns the rule of the trial's kind, or nullptr if no trial of this number was reported.
    [[nodiscard]] StoppingRule* rule_of(std::int64_t trial) const;
    [[nodiscard]] std::string kind_of(const TrialRecord& trial) const;
    /// Names the trials that a verdict on a trial of `kind` compares it with.
    [[nodiscard]] std::string among(const std::string& kind, const std::string& reason) const;

    std::string parameter_;
    Make make_;
    std::unique_ptr<StoppingRule> any_;  ///< tells of plans; judges no trial
    Kinds rules_;
    std::unordered_map<std::int64_t, const Kinds::value_type*> trials_;  ///< the kinds of trials that have reported
    bool more_ = true;
};

}  // namespace hpo
