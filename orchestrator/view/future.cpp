#include "orchestrator/view/future.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "hpo/random.hpp"

namespace hpo::view {
namespace {

/// More new trials than this are not played: each further one takes as long as the later half of these did.
constexpr std::int64_t most_played = 300;

class Future {
   public:
    Future(const Study& study, const Past& past, std::uint64_t number)
        : study_(study),
          past_(past),
          number_(number),
          rungs_(past.rungs),
          begun_(past.trials),
          tried_(past.tried),
          steps_(past.steps),
          full_(past.full) {
        limit_ = std::min(study.budget.trials, begun_ + most_played);
        // The share that ends early, and what a trial costs, are known as well as so many trials tell.
        frailty_ = std::exp(gauss(0, 0) / std::sqrt(past.survival.count() + 1));
        // The share of full trainings changes with what the rules see: mostly it falls.
        full_share_ = past.least_full + 1.2 * draw(0, 4) * (past.full_share - past.least_full);
        for (std::size_t i = 0; i < past.examples.size(); ++i) sample_.push_back(pick(0, 1 + i));
    }

    double play() {
        for (const UnderWay& trial : past_.under_way) take(trial);
        for (;;) {
            while (running_.size() < past_.places && next()) {
            }
            if (running_.empty()) break;
            const Arrival arrival = running_.top();
            running_.pop();
            now_ = arrival.time;
            arrive(arrival.trial);
        }
        return now_ + rest();
    }

   private:
    struct Trial {
        std::uint64_t number = 0;
        double pace = 0;
        std::int64_t steps = 0;
        std::size_t rungs = 0;  ///< passed
        double loss = 0;        ///< at the last of them
        bool ranked = false;    ///< it has a loss
        bool ends = false;      ///< where it gets to next
        bool full = false;      ///< nothing pauses it
    };
    struct Arrival {
        double time = 0;
        std::size_t trial = 0;
        friend bool operator>(const Arrival& a, const Arrival& b) {
            return a.time > b.time || (a.time == b.time && a.trial > b.trial);
        }
    };

    [[nodiscard]] double draw(std::uint64_t trial, std::uint64_t what) const {
        const auto block = philox({static_cast<std::uint32_t>(trial), static_cast<std::uint32_t>(what),
                                   static_cast<std::uint32_t>(number_), 0},
                                  0, 0);
        return (static_cast<double>(block[0]) + 0.5) * 0x1p-32;
    }
    [[nodiscard]] double gauss(std::uint64_t trial, std::uint64_t what) const {
        const double u = std::max(draw(trial, what), 1e-12), v = draw(trial, 1'000'000 + what);
        return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    }
    [[nodiscard]] std::size_t pick(std::uint64_t trial, std::uint64_t what) const {
        return static_cast<std::size_t>(draw(trial, what) * static_cast<double>(past_.examples.size()));
    }

    [[nodiscard]] bool more() const {
        return begun_ < limit_ && !(study_.budget.patience && tried_ >= *study_.budget.patience);
    }
    [[nodiscard]] std::int64_t target(const Trial& trial) const {
        return trial.rungs < rungs_.size() ? rungs_[trial.rungs].step : study_.budget.epochs;
    }

    /// Where it ends before the next rung, as others did; or, as none did of the few that got beyond `from`, where the
    /// next one may: of n without an end, the next one has it with a chance of one in n + 2 (the rule of succession).
    [[nodiscard]] std::optional<std::int64_t> ends(const Trial& trial, std::int64_t from) const {
        const std::int64_t to = target(trial);
        auto end = past_.survival.end(from, to, draw(trial.number, 10 + trial.rungs), frailty_);
        const auto first = std::max<std::int64_t>(from, 0) + 1;
        const auto chance = 1 / static_cast<double>(past_.survival.beyond(from) + 2);
        if (!end && past_.may_end && first < to && draw(trial.number, 300 + trial.rungs) < chance)
            end = first +
                  static_cast<std::int64_t>(draw(trial.number, 400 + trial.rungs) * static_cast<double>(to - first));
        return end;
    }

    /// To the next rung or where it ends before; `part`: of the step that it takes, that is done.
    void run(Trial trial, bool starts, std::int64_t from, double part) {
        const auto end = ends(trial, from);
        trial.ends = end || trial.rungs == rungs_.size();
        const std::int64_t to = end.value_or(target(trial));
        double seconds = trial.pace * std::max(0.0, static_cast<double>(to - trial.steps) - part);
        if (starts) seconds += past_.start + past_.again * trial.pace * static_cast<double>(trial.steps);
        steps_ += std::max<std::int64_t>(0, to - trial.steps);
        trial.steps = std::max(to, trial.steps);
        trials_.push_back(trial);
        running_.push({now_ + seconds, trials_.size() - 1});
    }

    /// A trial of the record goes on.
    void take(const UnderWay& known) {
        Trial trial{
            .number = ++taken_, .pace = known.pace, .steps = known.steps, .rungs = known.rungs, .full = known.full};
        if (known.pace <= 0) trial.pace = past_.examples[sample_[pick(trial.number, 1)]].pace;
        if (known.loss) trial.loss = *known.loss, trial.ranked = true;
        if (!known.running) return queued_.push_back(trial);
        run(trial, false, known.begun ? known.steps : -1, draw(trial.number, 2));
    }

    /// Gives one place away; false: there is nothing to do with it.
    bool next() {
        if (!queued_.empty()) {
            const Trial trial = queued_.back();
            queued_.pop_back();
            run(trial, true, trial.steps > 0 ? trial.steps : -1, 0);
            return true;
        }
        for (std::size_t i = rungs_.size(); i-- > 0;)
            if (promote(i)) return true;
        if (!more()) return false;
        ++begun_;
        if (begun_ - past_.trials == most_played / 2) half_ = now_;
        last_ = now_;
        Trial trial{.number = 1'000'000 + static_cast<std::uint64_t>(begun_)};
        const Example& like = past_.examples[sample_[pick(trial.number, 1)]];
        trial.pace = like.pace;
        if (like.loss) trial.loss = *like.loss, trial.ranked = true;
        run(trial, true, -1, 0);
        return true;
    }

    [[nodiscard]] static std::size_t quota(const Rung& rung) {
        return static_cast<std::size_t>(static_cast<double>(rung.losses.size()) * rung.share + 1e-9);
    }

    bool promote(std::size_t i) {
        Rung& rung = rungs_[i];
        const std::size_t places = more() ? quota(rung) : std::max<std::size_t>(quota(rung), 1);
        if (rung.waiting.empty() || places == 0 || (more() && rung.gone_on >= places)) return false;
        const Rung::Waiting best = rung.waiting.front();
        if (best.loss > rung.losses[std::min(places, rung.losses.size()) - 1]) return false;
        rung.waiting.erase(rung.waiting.begin());
        ++rung.gone_on;
        run({.number = ++promoted_ + 2'000'000,
             .pace = best.pace,
             .steps = rung.step,
             .rungs = i + 1,
             .loss = best.loss,
             .ranked = true},
            true, rung.step, 0);
        return true;
    }

    void arrive(std::size_t index) {
        Trial trial = trials_[index];
        if (trial.ends) return decide(trial);
        Rung& rung = rungs_[trial.rungs];
        trial.loss = standing(trial);
        trial.ranked = true;
        ++trial.rungs;
        rung.losses.insert(std::upper_bound(rung.losses.begin(), rung.losses.end(), trial.loss), trial.loss);
        if (trial.rungs == 1 && full_to_come()) trial.full = true, full_ += study_.budget.epochs;
        if (trial.full) return run(trial, false, trial.steps, 0);
        const std::size_t places = quota(rung);
        const bool among = places > 0 && trial.loss <= rung.losses[places - 1];
        const auto better = std::partition_point(rung.waiting.begin(), rung.waiting.end(),
                                                 [&](const auto& other) { return other.loss <= trial.loss; });
        if (among && rung.gone_on + static_cast<std::size_t>(better - rung.waiting.begin()) < places) {
            ++rung.gone_on;
            return run(trial, false, trial.steps, 0);
        }
        rung.waiting.insert(better, {trial.loss, trial.pace});
        decide(trial);
    }

    /// Whether the trial that comes to the first rung is trained in full, so that such trials get their share of steps.
    [[nodiscard]] bool full_to_come() const {
        return full_share_ > 0 && static_cast<double>(full_) <= full_share_ * static_cast<double>(steps_);
    }

    /// Of `n` trials one in n + 1 is a new best: what patience waits for.
    void decide(const Trial& trial) {
        const auto before = static_cast<double>(past_.trials + ++decided_);
        tried_ = draw(trial.number, 3) < 1 / before ? 0 : tried_ + 1;
    }

    /// Its loss at the next rung: of those that came there with a standing like its own, or, two times in three, any.
    [[nodiscard]] double standing(const Trial& trial) const {
        const double luck = draw(trial.number, 100 + trial.rungs), other = draw(trial.number, 200 + trial.rungs);
        if (trial.rungs == 0) {
            if (trial.ranked) return trial.loss + 1e-9 * other;
            return among(past_.rungs[0].losses, other);
        }
        double share = other;
        const auto& passed = past_.rungs[trial.rungs - 1].passed;
        if (luck < 0.3 && trial.ranked && !passed.empty()) {
            const auto place = std::lower_bound(passed.begin(), passed.end(), trial.loss) - passed.begin();
            share = (static_cast<double>(place) + other) / static_cast<double>(passed.size() + 1);
        }
        return among(past_.rungs[trial.rungs].losses, share);
    }

    /// The loss that `share` of the losses lie below, and of one more.
    [[nodiscard]] static double among(const std::vector<double>& losses, double share) {
        if (losses.empty()) return share;
        const double place = share * static_cast<double>(losses.size() + 1);
        const auto above = std::min(static_cast<std::size_t>(place), losses.size());
        const double part = place - static_cast<double>(above);
        const double spread = std::max(losses.back() - losses.front(), 1e-9) / static_cast<double>(losses.size());
        if (above == 0) return losses.front() - spread * (1 - part);
        if (above == losses.size()) return losses.back() + spread * part;
        return losses[above - 1] + part * (losses[above] - losses[above - 1]);
    }

    /// Of the trials that were not played.
    [[nodiscard]] double rest() const {
        if (limit_ == study_.budget.trials || begun_ < limit_) return 0;
        return static_cast<double>(study_.budget.trials - limit_) * (last_ - half_) / (most_played / 2.0);
    }

    const Study& study_;
    const Past& past_;
    std::uint64_t number_;
    std::vector<Rung> rungs_;
    std::vector<std::size_t> sample_;  ///< of the examples, drawn with replacement: as far as they may mislead
    std::vector<Trial> trials_;
    std::vector<Trial> queued_;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> running_;
    std::int64_t begun_ = 0, limit_ = 0, tried_ = 0, decided_ = 0, steps_ = 0, full_ = 0;
    std::uint64_t taken_ = 0, promoted_ = 0;
    double frailty_ = 1, full_share_ = 0;
    double now_ = 0, half_ = 0, last_ = 0;
};

}  // namespace

std::vector<double> draw_futures(const Study& study, const Past& past) {
    const auto ahead = std::min(std::max<std::int64_t>(0, study.budget.trials - past.trials), most_played) +
                       static_cast<std::int64_t>(past.examples.size() / 10) + 10;
    const auto count = static_cast<std::uint64_t>(std::clamp<std::int64_t>(6000 / ahead, 11, 41));
    std::vector<double> seconds;
    for (std::uint64_t number = 0; number < count; ++number) seconds.push_back(Future(study, past, number).play());
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

}  // namespace hpo::view
