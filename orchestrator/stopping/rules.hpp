// Combines the rules of a study into one. The first rule that stops a trial takes precedence, then the first one that
// pauses it. Every rule gets every report, so the state of one rule does not depend on the others. Further seeds of a
// configuration are left to the rules that judge a trial by itself: its first seed has passed the comparison with
// others, and seeds that were trained for different times could not be averaged.
#pragma once

#include <memory>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/stopping/rule.hpp"

namespace hpo {

/// Creates one rule of a study. A rule that compares trials does so within the values of its option `within`, by
/// default of `type` if the study searches over types of models. Fails as make_rule of registry.hpp does, and if
/// `within` names no categorical parameter of the space.
Result<std::unique_ptr<StoppingRule>> make_rule(const PartSpec& spec, const Study& study);

class Rules final : public StoppingRule {
   public:
    /// Creates the rules of a study. Fails as make_rule does.
    static Result<Rules> make(const Study& study);

    void expect_trials(bool more) override;
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most = all) const override;
    [[nodiscard]] bool holds(std::int64_t trial) const override;
    /// Returns the gates of all rules. Where several rules pause at one step, the smallest share applies.
    [[nodiscard]] std::vector<Gate> gates() const override;
    [[nodiscard]] double least_full_share() const override;
    /// Returns the forecast of the first rule that has one.
    [[nodiscard]] std::optional<Forecast> forecast(std::int64_t trial) const override;
    [[nodiscard]] std::int64_t forecasts_made() const override;
    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override;

    void went_back(std::int64_t trial) override;

   private:
    Verdict judge(const TrialRecord& trial) override;
    void on_end(const TrialRecord& trial) override;
    void on_promotion(std::int64_t trial) override;

    [[nodiscard]] bool judges(std::size_t rule, const TrialRecord& trial) const {
        return trial.repeat_of == 0 || alone_[rule];
    }

    std::vector<std::unique_ptr<StoppingRule>> rules_;
    std::vector<bool> alone_;  ///< for each rule, whether it judges a trial by itself
};

}  // namespace hpo
