// ASHA: asynchronous successive halving, by promotion (Li et al.: "A system for massively parallel hyperparameter
// tuning", MLSys 2020).
//
// Rungs stand at grace, grace factor, grace factor^2, ... steps, below the budget of a trial. Of the n trials that have
// reached a rung so far floor(n / factor) have places above it. A trial that reaches it goes on if it is among the best
// so many and a place is free that no better one waits for; else it pauses, and is promoted when there is one. Nobody
// waits for a rung to fill.
//
// That the places are counted is the delay of D-ASHA (Li, Shen, Jiang, Zhang et al.: "Hyper-Tune: towards efficient
// hyper-parameter tuning at scale", PVLDB 15(6), 2022). A sampler that learns proposes ever better trials: nearly each
// of them is among the best when it comes, and without the count more than half of all went on, not a third.
//
// The end of a study: while further trials are expected, a rung of fewer than `factor` trials promotes nobody. When
// none is expected any more, the rankings are final: all of the best floor(n / factor) of a rung may go on, whoever had
// the places before, and the best of every rung. So each rung's best moves up, and the best trial of the last rung is
// trained to the full budget however small the study is.
//
// A trial's value at a rung is the objective's up to there: the best of its steps, or the last one (`at`). A trial
// whose report has no value goes on and is ranked when one does.

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>

#include "orchestrator/stopping/followed.hpp"
#include "orchestrator/stopping/metric.hpp"
#include "orchestrator/stopping/promotion.hpp"
#include "orchestrator/stopping/registry.hpp"

namespace hpo {

namespace {

constexpr std::array asha_options{
    Option{"grace", OptionType::integer, 1, 1e9, {}, "1", "steps to the first rung"},
    Option{"factor",
           OptionType::integer,
           2,
           1000,
           {},
           "3",
           "one in so many goes on, the best; rungs lie as many times apart"},
};

/// A trial at a rung, with its value oriented so that smaller is better.
struct Entry {
    double loss = 0;
    std::int64_t trial = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
};

struct Rung {
    std::int64_t step = 0;
    std::vector<Entry> ranking;  ///< all that reached it, best first
    std::set<Entry> paused;      ///< those of them that wait here
    std::size_t gone_on = 0;     ///< those of them that went on, at once or promoted
};

/// The best value of a curve.
struct Best {
    WatchedMetric metric;
    std::optional<double> value;

    void add(const Report& report) {
        if (const auto found = metric(report); found && (!value || metric.better(*found, *value))) value = found;
    }
};

class Asha final : public StoppingRule {
   public:
    explicit Asha(const RuleSetup& setup)
        : objective_(setup.objective),
          metric_{setup.objective.metric, setup.objective.direction},
          factor_(static_cast<std::size_t>(number_option(setup.options, asha_options, "factor"))),
          best_({.metric = metric_, .value = {}}) {
        const auto factor = static_cast<std::int64_t>(factor_);
        for (auto step = static_cast<std::int64_t>(number_option(setup.options, asha_options, "grace"));
             step < setup.steps; step *= factor)
            rungs_.push_back({step, {}, {}, 0});
    }

    void expect_trials(bool more) override { more_ = more; }

    [[nodiscard]] std::vector<std::int64_t> promotions(std::size_t most) const override {
        std::vector<std::int64_t> promotable;
        for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung) {
            const std::size_t places = more_ ? quota(*rung) : std::max<std::size_t>(quota(*rung), 1);
            if (rung->paused.empty() || places == 0) continue;
            const Entry& last = rung->ranking[places - 1];
            std::size_t free = more_ ? free_places(*rung) : places;
            for (auto entry = rung->paused.begin(); entry != rung->paused.end() && *entry <= last && free > 0;
                 ++entry) {
                if (promotable.size() == most) return promotable;
                promotable.push_back(entry->trial);
                --free;
            }
        }
        return promotable;
    }

    [[nodiscard]] bool holds(std::int64_t trial) const override { return waiting_.contains(trial); }

    [[nodiscard]] std::vector<Gate> gates() const override {
        std::vector<Gate> gates;
        for (const Rung& rung : rungs_) gates.push_back({rung.step, 1 / static_cast<double>(factor_)});
        return gates;
    }

    [[nodiscard]] std::string verdict_on_paused(std::int64_t trial) const override {
        const auto found = waiting_.find(trial);
        return found == waiting_.end() ? std::string() : standing(found->second, true);
    }

   private:
    /// Where a trial waits.
    struct Waiting {
        std::size_t rung = 0;
        Entry entry;
    };

    Verdict judge(const TrialRecord& trial) override {
        leave(trial.number);
        const auto value = value_of(trial);
        if (!value) return {.lasting = true};  // should the step be taken again, it counts as judged
        const Entry entry{metric_.direction == Direction::minimize ? *value : -*value, trial.number};
        std::size_t& reached = reached_[trial.number];
        const std::size_t before = reached;
        for (; reached < rungs_.size() && rungs_[reached].step <= trial.steps(); ++reached) {
            auto& ranking = rungs_[reached].ranking;
            ranking.insert(std::lower_bound(ranking.begin(), ranking.end(), entry), entry);
        }
        if (reached == before) return {};
        const Waiting here{reached - 1, entry};
        Rung& rung = rungs_[here.rung];
        const auto better = std::distance(rung.paused.begin(), rung.paused.lower_bound(entry));
        if (place(here) < quota(rung) && static_cast<std::size_t>(better) < free_places(rung)) {
            ++rung.gone_on;
            return {.lasting = true};
        }
        rung.paused.insert(entry);
        waiting_[trial.number] = here;
        return {to_worker::Action::pause, "asha", standing(here, false), true};
    }

    void on_end(const TrialRecord& trial) override {
        leave(trial.number);
        reached_.erase(trial.number);
        best_.forget(trial.number);
    }
    void went_back(std::int64_t trial) override { best_.forget(trial); }
    void on_promotion(std::int64_t trial) override {
        if (const auto found = waiting_.find(trial); found != waiting_.end()) ++rungs_[found->second.rung].gone_on;
        leave(trial);
    }

    void leave(std::int64_t trial) {
        const auto found = waiting_.find(trial);
        if (found == waiting_.end()) return;
        rungs_[found->second.rung].paused.erase(found->second.entry);
        waiting_.erase(found);
    }

    [[nodiscard]] std::size_t quota(const Rung& rung) const { return rung.ranking.size() / factor_; }
    [[nodiscard]] std::size_t free_places(const Rung& rung) const {
        return quota(rung) - std::min(quota(rung), rung.gone_on);
    }

    [[nodiscard]] std::size_t place(const Waiting& at) const {
        const auto& ranking = rungs_[at.rung].ranking;
        return static_cast<std::size_t>(std::lower_bound(ranking.begin(), ranking.end(), at.entry) - ranking.begin());
    }

    /// The objective's value up to now; nothing while the last report has none.
    [[nodiscard]] std::optional<double> value_of(const TrialRecord& trial) {
        const auto last = metric_(trial.curve.back());
        if (objective_.at == Objective::At::last) return last;
        // A study that goes on leaves out steps of ended trials; their value is known all the same.
        return !last ? last : trial.value ? trial.value : best_.at(trial).value;
    }

    /// "7th of 21 at rung 2 (3 steps); the best 6 are promoted"; `past`: "7th of 30 at rung 2 (3 steps); the best 6
    /// were promoted".
    [[nodiscard]] std::string standing(const Waiting& at, bool past) const {
        const Rung& rung = rungs_[at.rung];
        const std::size_t number = place(at) + 1;
        const std::string where = ordinal(number) + " of " + std::to_string(rung.ranking.size()) + " at rung " +
                                  std::to_string(at.rung + 1) + " (" + counted(rung.step, "step") + "); ";
        return where + promotion_text(number, quota(rung), factor_, past);
    }

    Objective objective_;
    WatchedMetric metric_;
    std::size_t factor_;
    std::vector<Rung> rungs_;
    Followed<Best> best_;
    std::unordered_map<std::int64_t, std::size_t> reached_;  ///< trial to the number of rungs it has reached
    std::unordered_map<std::int64_t, Waiting> waiting_;      ///< paused trials
    bool more_ = true;
};

}  // namespace

constinit const RuleRow asha_row{
    {"asha", "pauses trials at rungs and lets the best of each go on (successive halving)", asha_options},
    [](const RuleSetup& setup) -> std::unique_ptr<StoppingRule> { return std::make_unique<Asha>(setup); }};

}  // namespace hpo
