// The rules of a study as one: what the engine asks. The first rule of the list that says stop wins over those that say
// pause, and these over going on; every rule sees every report, so that their states do not depend on each other.
#pragma once

#include <memory>
#include <vector>

#include "hpo/result.hpp"
#include "hpo/study.hpp"
#include "orchestrator/stopping/rule.hpp"

namespace hpo {

class Rules final : public StoppingRule {
   public:
    static Result<Rules> make(const Study& study);

    void expect_trials(bool more) override;
    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most = all) const override;
    [[nodiscard]] bool holds(std::int64_t trial) const override;
    /// Of all rules; where several pause at one step the smallest share.
    [[nodiscard]] std::vector<Gate> gates() const override;
    [[nodiscard]] double least_full_share() const override;
    /// The first rule's that has one.
    [[nodiscard]] std::optional<Forecast> forecast(std::int64_t trial) const override;
    [[nodiscard]] std::int64_t forecasts_made() const override;
    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override;

    void went_back(std::int64_t trial) override;

   private:
    Verdict judge(const TrialRecord& trial) override;
    void on_end(const TrialRecord& trial) override;
    void on_promotion(std::int64_t trial) override;

    std::vector<std::unique_ptr<StoppingRule>> rules_;
};

}  // namespace hpo
