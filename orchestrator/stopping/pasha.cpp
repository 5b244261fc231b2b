// PASHA: successive halving whose highest rung is found by the study (Bohdal, Balles, Wistuba, Ermis, Archambeau,
// Zappella: "PASHA: efficient HPO and NAS with progressive resource allocation", ICLR 2023).
//
// Two rungs are in force at first. When a trial reaches the highest rung in force, the ranking there is compared with
// the ranking at the rung below. If they agree, more steps would give no new information, and no trial continues. If
// they do not, the next rung comes into force. When the study ends, the best trial is trained to its end.
//
// Rankings agree if no two trials have swapped their order with values that differ by more than the noise. As in the
// paper, the noise is the 90th percentile of the differences between trials whose curves cross repeatedly, that is, at
// least twice. It is 0 if there are no such pairs.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "orchestrator/stopping/halving.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array pasha_options{
    first_rung_option,
    factor_option,
    within_option,
};

constexpr std::size_t first_rungs = 2;
constexpr double noisy_share = 0.9;

/// The values of a curve, one for each report that has a value.
struct CurveValues {
    WatchedMetric metric;
    std::vector<double> values;

    void add(const Report& report) {
        if (const auto found = metric(report)) values.push_back(*found);
    }
};

class Pasha final : public Halving {
   public:
    Pasha(const RuleSetup& setup, std::int64_t grace, std::int64_t factor)
        : Halving("pasha", setup.objective, rung_steps(grace, factor, setup.steps), static_cast<std::size_t>(factor),
                  setup.unit),
          curves_({.metric = metric(), .values = {}}),
          in_force_(std::min(first_rungs, rungs().size())) {}

    [[nodiscard]] std::string plan(const std::string& unit) const override {
        if (rungs().size() <= first_rungs) return Halving::plan(unit);
        std::vector<std::int64_t> now, later;
        for (std::size_t i = 0; i < rungs().size(); ++i) (i < first_rungs ? now : later).push_back(rungs()[i].step);
        return "one trial in " + std::to_string(factor()) + " continues after " + rungs_text(now, unit) +
               "; while ranks change also after " + rungs_text(later, unit) + ", else the best one alone at the end";
    }

   private:
    [[nodiscard]] std::size_t in_force() const override { return in_force_; }

    /// Marks all steps as lasting, since all of them are needed to find out whether curves cross.
    Verdict judge(const TrialRecord& trial) override {
        (void)curves_.at(trial);
        Verdict verdict = Halving::judge(trial);
        verdict.lasting = true;
        return verdict;
    }

    void arrived(const TrialRecord& trial, std::size_t rung) override {
        if (rung + 1 != in_force_) return;
        at_edge_[trial.number] = curves_.at(trial).values;
        while (in_force_ < rungs().size() && in_force_ >= 2 && ranks_change()) ++in_force_;
    }

    void went_back(std::int64_t trial) override {
        Halving::went_back(trial);
        curves_.forget(trial);
    }
    void on_end(const TrialRecord& trial) override {
        Halving::on_end(trial);
        curves_.forget(trial.number);
    }

    /// Returns true if trials at the highest rung in force were ordered differently at the rung below, beyond noise.
    [[nodiscard]] bool ranks_change() const {
        const std::vector<Ranked>& now = rungs()[in_force_ - 1].ranking;
        std::map<std::int64_t, double> before;
        for (const Ranked& entry : rungs()[in_force_ - 2].ranking) before[entry.trial] = entry.value;
        const double tolerance = noise(now);
        for (std::size_t i = 0; i < now.size(); ++i)
            for (std::size_t j = i + 1; j < now.size(); ++j)
                if (now[j].value - now[i].value > tolerance && before[now[i].trial] > before[now[j].trial]) return true;
        return false;
    }

    /// Returns the difference of values up to which the order of two trials is not significant.
    [[nodiscard]] double noise(const std::vector<Ranked>& now) const {
        std::vector<double> apart;
        for (std::size_t i = 0; i < now.size(); ++i)
            for (std::size_t j = i + 1; j < now.size(); ++j)
                if (crossings(now[i].trial, now[j].trial) >= 2) apart.push_back(now[j].value - now[i].value);
        if (apart.empty()) return 0;
        const auto at = static_cast<std::size_t>(noisy_share * static_cast<double>(apart.size() - 1) + 0.5);
        std::nth_element(apart.begin(), apart.begin() + static_cast<std::ptrdiff_t>(at), apart.end());
        return apart[at];
    }

    /// Returns how often the curves of two trials have crossed.
    [[nodiscard]] int crossings(std::int64_t a, std::int64_t b) const {
        const auto one = at_edge_.find(a), other = at_edge_.find(b);
        if (one == at_edge_.end() || other == at_edge_.end()) return 0;
        int changes = 0;
        double last = 0;
        for (std::size_t i = 0; i < std::min(one->second.size(), other->second.size()); ++i) {
            const double difference = one->second[i] - other->second[i];
            if (difference == 0) continue;
            changes += last * difference < 0 ? 1 : 0;
            last = difference;
        }
        return changes;
    }

    Followed<CurveValues> curves_;
    std::map<std::int64_t, std::vector<double>> at_edge_;  ///< the curves of trials up to their highest rung
    std::size_t in_force_;
};

}  // namespace

constinit const RuleRow pasha_row{
    {"pasha", "as asha; adds a rung only while ranks differ between the last two", pasha_options, true},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> {
        return std::make_unique<Pasha>(
            setup, static_cast<std::int64_t>(number_option(setup.options, pasha_options, "grace")),
            static_cast<std::int64_t>(number_option(setup.options, pasha_options, "factor")));
    }};

}  // namespace hpo
