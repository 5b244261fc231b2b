#include "orchestrator/simulation/future.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "hpo/random.hpp"
#include "orchestrator/stopping/restart.hpp"

namespace hpo {
namespace {

/// The maximum number of new trials that are simulated. Further trials are assumed to cost as much as the later half of
/// these.
constexpr std::int64_t max_simulated_trials = 300;

class Future {
   public:
    Future(const Study& study, const Past& past, std::uint64_t number)
        : study_(study),
          past_(past),
          number_(number),
          rungs_(past.rungs),
          started_(past.trials),
          tried_(past.tried),
          steps_(past.steps),
          full_(past.full) {
        limit_ = std::min(study.budget.trials, started_ + max_simulated_trials);
        // The share of trials that end early is an estimate from `count` trials, so each simulation varies it.
        frailty_ = std::exp(gauss(0, 0) / std::sqrt(past.survival.count() + 1));
        // The share of full trainings changes with the results of the trials. It usually falls.
        full_share_ = past.least_full + 1.2 * draw(0, 4) * (past.full_share - past.least_full);
        for (std::size_t i = 0; i < past.examples.size(); ++i) sample_.push_back(pick(0, 1 + i));
    }

    double run() {
        for (const UnderWay& trial : past_.under_way) add(trial);
        for (;;) {
            while (running_.size() < past_.parallel && start_next()) {
            }
            if (running_.empty()) break;
            const Arrival arrival = running_.top();
            running_.pop();
            now_ = arrival.time;
            arrive(arrival.trial);
        }
        return now_ + seconds_of_rest();
    }

   private:
    struct Trial {
        std::uint64_t number = 0;
        double pace = 0;
        std::int64_t steps = 0;
        std::size_t rungs = 0;  ///< number of rungs that it has passed
        double loss = 0;        ///< at the last of these rungs
        bool ranked = false;    ///< true if `loss` is set
        bool ends = false;      ///< true if it ends at the next step that it reaches
        bool full = false;      ///< true for a full training, which no rung pauses
    };
    struct Arrival {
        double time = 0;
        std::size_t trial = 0;
        friend bool operator>(const Arrival& a, const Arrival& b) {
            return a.time > b.time || (a.time == b.time && a.trial > b.trial);
        }
    };

    /// Draws from (0, 1). `purpose` distinguishes the draws of a trial. The result depends on the arguments and on the
    /// number of the simulation alone.
    [[nodiscard]] double draw(std::uint64_t trial, std::uint64_t purpose) const {
        const auto block = philox({static_cast<std::uint32_t>(trial), static_cast<std::uint32_t>(purpose),
                                   static_cast<std::uint32_t>(number_), 0},
                                  0, 0);
        return (static_cast<double>(block[0]) + 0.5) * 0x1p-32;
    }
    /// Draws from the standard normal distribution (Box-Muller).
    [[nodiscard]] double gauss(std::uint64_t trial, std::uint64_t purpose) const {
        const double u = std::max(draw(trial, purpose), 1e-12), v = draw(trial, 1'000'000 + purpose);
        return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    }
    /// Draws the index of an example.
    [[nodiscard]] std::size_t pick(std::uint64_t trial, std::uint64_t purpose) const {
        return static_cast<std::size_t>(draw(trial, purpose) * static_cast<double>(past_.examples.size()));
    }

    /// Returns true if new trials may still start.
    [[nodiscard]] bool may_start() const {
        return started_ < limit_ && !(study_.budget.patience && tried_ >= *study_.budget.patience);
    }
    /// Returns the step at which the trial next pauses or completes.
    [[nodiscard]] std::int64_t target(const Trial& trial) const {
        return trial.rungs < rungs_.size() ? rungs_[trial.rungs].step : study_.budget.epochs;
    }

    /// Draws the step before the next rung at which the trial ends, or nothing if it reaches that rung. The step is
    /// drawn from the ends of earlier trials. If none of the n trials that went beyond `from` has ended before the
    /// rung, this one does so with probability 1 / (n + 2) (the rule of succession).
    [[nodiscard]] std::optional<std::int64_t> draw_end(const Trial& trial, std::int64_t from) const {
        const std::int64_t to = target(trial);
        auto end = past_.survival.end(from, to, draw(trial.number, 10 + trial.rungs), frailty_);
        const auto first = std::max<std::int64_t>(from, 0) + 1;
        const auto chance = 1 / static_cast<double>(past_.survival.beyond(from) + 2);
        if (!end && past_.may_end && first < to && draw(trial.number, 300 + trial.rungs) < chance)
            end = first +
                  static_cast<std::int64_t>(draw(trial.number, 400 + trial.rungs) * static_cast<double>(to - first));
        return end;
    }

    /// Runs the trial to the next rung, or to its end before that. `starts` is true if it starts in a worker now.
    /// `from` is the last step that it has reported, -1 if none. `part` is the share of its current step that is done.
    void advance(Trial trial, bool starts, std::int64_t from, double part) {
        const auto end = draw_end(trial, from);
        trial.ends = end || trial.rungs == rungs_.size();
        const std::int64_t to = end.value_or(target(trial));
        double seconds = trial.pace * std::max(0.0, static_cast<double>(to - trial.steps) - part);
        if (starts) seconds += past_.start + past_.again * trial.pace * static_cast<double>(trial.steps);
        steps_ += std::max<std::int64_t>(0, to - trial.steps);
        trial.steps = std::max(to, trial.steps);
        trials_.push_back(trial);
        running_.push({now_ + seconds, trials_.size() - 1});
    }

    /// Continues a trial of the record.
    void add(const UnderWay& known) {
        Trial trial{
            .number = ++taken_, .pace = known.pace, .steps = known.steps, .rungs = known.rungs, .full = known.full};
        if (known.pace <= 0) trial.pace = past_.examples[sample_[pick(trial.number, 1)]].pace;
        if (known.loss) trial.loss = *known.loss, trial.ranked = true;
        if (!known.running) return queued_.push_back(trial);
        advance(trial, false, known.started ? known.steps : -1, draw(trial.number, 2));
    }

    /// Starts a trial in a free worker. Returns false if no trial can start.
    bool start_next() {
        if (!queued_.empty()) {
            const Trial trial = queued_.back();
            queued_.pop_back();
            advance(trial, true, trial.steps > 0 ? trial.steps : -1, 0);
            return true;
        }
        for (std::size_t i = rungs_.size(); i-- > 0;)
            if (promote(i)) return true;
        if (!may_start()) return false;
        ++started_;
        if (started_ - past_.trials == max_simulated_trials / 2) half_ = now_;
        last_ = now_;
        Trial trial{.number = 1'000'000 + static_cast<std::uint64_t>(started_)};
        const PastTrial& example = past_.examples[sample_[pick(trial.number, 1)]];
        trial.pace = example.pace;
        if (example.loss) trial.loss = *example.loss, trial.ranked = true;
        advance(trial, true, -1, 0);
        return true;
    }

    /// Returns the number of trials that the rung promotes.
    [[nodiscard]] static std::size_t quota(const PastRung& rung) {
        return static_cast<std::size_t>(static_cast<double>(rung.losses.size()) * rung.share + 1e-9);
    }

    /// Promotes the best trial that waits at rung `i`. Returns false if none may be promoted.
    bool promote(std::size_t i) {
        PastRung& rung = rungs_[i];
        const std::size_t promotions = may_start() ? quota(rung) : std::max<std::size_t>(quota(rung), 1);
        if (rung.waiting.empty() || promotions == 0 || (may_start() && rung.gone_on >= promotions)) return false;
        const PastRung::Waiting best = rung.waiting.front();
        if (best.loss > rung.losses[std::min(promotions, rung.losses.size()) - 1]) return false;
        rung.waiting.erase(rung.waiting.begin());
        ++rung.gone_on;
        advance({.number = ++promoted_ + 2'000'000,
                 .pace = best.pace,
                 .steps = rung.step,
                 .rungs = i + 1,
                 .loss = best.loss,
                 .ranked = true},
                true, rung.step, 0);
        return true;
    }

    /// Handles a trial that has reached a rung or its end.
    void arrive(std::size_t index) {
        Trial trial = trials_[index];
        if (trial.ends) return decide(trial);
        PastRung& rung = rungs_[trial.rungs];
        trial.loss = next_loss(trial);
        trial.ranked = true;
        ++trial.rungs;
        rung.losses.insert(std::upper_bound(rung.losses.begin(), rung.losses.end(), trial.loss), trial.loss);
        if (trial.rungs == 1 && needs_full_training()) trial.full = true, full_ += study_.budget.epochs;
        if (trial.full || is_spared(trial)) return advance(trial, false, trial.steps, 0);
        const std::size_t promotions = quota(rung);
        const bool is_within_quota = promotions > 0 && trial.loss <= rung.losses[promotions - 1];
        const auto better = std::partition_point(rung.waiting.begin(), rung.waiting.end(),
                                                 [&](const auto& other) { return other.loss <= trial.loss; });
        if (is_within_quota && rung.gone_on + static_cast<std::size_t>(better - rung.waiting.begin()) < promotions) {
            ++rung.gone_on;
            return advance(trial, false, trial.steps, 0);
        }
        rung.waiting.insert(better, {trial.loss, trial.pace});
        decide(trial);
    }

    /// Returns true if a trial is not paused here, since its restart would take longer than its remaining steps.
    [[nodiscard]] bool is_spared(const Trial& trial) const {
        const Restart restart{.start = past_.start,
                              .step = trial.pace,
                              .repeated = std::llround(past_.again * static_cast<double>(trial.steps)),
                              .left = study_.budget.epochs - trial.steps};
        return past_.spares && restart.is_dearer();
    }

    /// Returns true if the next trial at the first rung is trained in full, so that full trainings get their share of
    /// all steps.
    [[nodiscard]] bool needs_full_training() const {
        return full_share_ > 0 && static_cast<double>(full_) <= full_share_ * static_cast<double>(steps_);
    }

    /// Counts the trials since the last new best, for the patience. After n trials the next one is a new best with
    /// probability 1 / (n + 1).
    void decide(const Trial& trial) {
        const auto before = static_cast<double>(past_.trials + ++decided_);
        tried_ = draw(trial.number, 3) < 1 / before ? 0 : tried_ + 1;
    }

    /// Draws the trial's loss at the next rung. With a probability of 0.3 it keeps its rank among the trials that
    /// reached both rungs, otherwise its rank is random.
    [[nodiscard]] double next_loss(const Trial& trial) const {
        const double choice = draw(trial.number, 100 + trial.rungs), random = draw(trial.number, 200 + trial.rungs);
        if (trial.rungs == 0) {
            if (trial.ranked) return trial.loss + 1e-9 * random;
            return quantile(past_.rungs[0].losses, random);
        }
        double share = random;
        const auto& passed = past_.rungs[trial.rungs - 1].passed;
        if (choice < 0.3 && trial.ranked && !passed.empty()) {
            const auto rank = std::lower_bound(passed.begin(), passed.end(), trial.loss) - passed.begin();
            share = (static_cast<double>(rank) + random) / static_cast<double>(passed.size() + 1);
        }
        return quantile(past_.rungs[trial.rungs].losses, share);
    }

    /// Returns the quantile `share` of the losses. Beyond the first and the last loss it extrapolates by the mean
    /// distance between losses.
    [[nodiscard]] static double quantile(const std::vector<double>& losses, double share) {
        if (losses.empty()) return share;
        const double position = share * static_cast<double>(losses.size() + 1);
        const auto above = std::min(static_cast<std::size_t>(position), losses.size());
        const double part = position - static_cast<double>(above);
        const double spread = std::max(losses.back() - losses.front(), 1e-9) / static_cast<double>(losses.size());
        if (above == 0) return losses.front() - spread * (1 - part);
        if (above == losses.size()) return losses.back() + spread * part;
        return losses[above - 1] + part * (losses[above] - losses[above - 1]);
    }

    /// Estimates the seconds that the trials beyond max_simulated_trials take.
    [[nodiscard]] double seconds_of_rest() const {
        if (limit_ == study_.budget.trials || started_ < limit_) return 0;
        return static_cast<double>(study_.budget.trials - limit_) * (last_ - half_) / (max_simulated_trials / 2.0);
    }

    const Study& study_;
    const Past& past_;
    std::uint64_t number_;
    std::vector<PastRung> rungs_;
    std::vector<std::size_t> sample_;  ///< examples, drawn with replacement (bootstrap)
    std::vector<Trial> trials_;
    std::vector<Trial> queued_;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> running_;
    std::int64_t started_ = 0, limit_ = 0, tried_ = 0, decided_ = 0, steps_ = 0, full_ = 0;
    std::uint64_t taken_ = 0, promoted_ = 0;
    double frailty_ = 1, full_share_ = 0;
    double now_ = 0, half_ = 0, last_ = 0;
};

}  // namespace

std::vector<double> draw_futures(const Study& study, const Past& past) {
    // Fewer simulations of a long rest take about as much time as more of a short one.
    const auto ahead = std::min(std::max<std::int64_t>(0, study.budget.trials - past.trials), max_simulated_trials) +
                       static_cast<std::int64_t>(past.examples.size() / 10) + 10;
    const auto count = static_cast<std::uint64_t>(std::clamp<std::int64_t>(6000 / ahead, 11, 41));
    std::vector<double> seconds;
    for (std::uint64_t number = 0; number < count; ++number) seconds.push_back(Future(study, past, number).run());
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

}  // namespace hpo
