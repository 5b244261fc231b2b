#include "orchestrator/view/time_left.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "hpo/units.hpp"
#include "orchestrator/stopping/rules.hpp"

namespace hpo::view {
namespace {

/// Steps 0 and those of the gates, and what was seen of the segments that begin there.
struct Segment {
    std::int64_t from = 0;
    std::int64_t to = 0;
    double share = 1;       ///< of those that reach `from`, that begin the segment in the end
    double reached = 0;     ///< trials that have reached `from` (for the first: that were begun)
    double gone_on = 0;     ///< of them, that have begun the segment
    double promotable = 0;  ///< of them, that wait at `from` and are among the share
    struct Entry {
        double loss = 0;
        bool waits = false;
    };
    std::vector<Entry> entries = {};  ///< of them, with their value there
    double within = 0;                ///< of these, that have not ended and are in it
    double expected = 0;              ///< of `within`: their further steps in it, added up
    double arrivals = 0;              ///< of `within`: that will reach `to`
    double pace = 1;                  ///< cost of a step
};

/// Trials that end between the rungs: at each step the share of those that got so far.
class Survival {
   public:
    void ended(std::int64_t step) { ++ends_[step]; }
    void got_to(std::int64_t step) { got_to_.push_back(step); }
    void done() { std::sort(got_to_.begin(), got_to_.end()); }

    struct Way {
        double steps = 0;   ///< expected
        double arrive = 1;  ///< probability
    };
    /// From after `from` (-1: not begun) to `to`.
    [[nodiscard]] Way way(std::int64_t from, std::int64_t to) const {
        Way way;
        std::int64_t at = std::max<std::int64_t>(from, 0);
        for (auto end = ends_.upper_bound(from); end != ends_.end() && end->first < to; ++end) {
            way.steps += way.arrive * static_cast<double>(end->first - at);
            at = end->first;
            const auto risked = got_to_.end() - std::lower_bound(got_to_.begin(), got_to_.end(), end->first);
            way.arrive *= 1 - static_cast<double>(end->second) / static_cast<double>(risked);
        }
        way.steps += way.arrive * static_cast<double>(to - at);
        return way;
    }

   private:
    std::map<std::int64_t, std::int64_t> ends_;
    std::vector<std::int64_t> got_to_;
};

/// Cost of a step of a trial: seconds of training; absent: not measured.
std::optional<double> pace_of(const TrialRecord& trial) {
    if (trial.steps() < 1) return std::nullopt;
    const auto seconds = trial.curve.back().seconds;
    if (!seconds || !std::isfinite(*seconds) || *seconds <= 0) return std::nullopt;
    return *seconds / static_cast<double>(trial.steps());
}

/// What is left, in the cost of steps, and the longest way that one trial may still have to go.
struct Work {
    double cost = 0;
    double chain = 0;
    double ways = 0;  ///< through a segment, that are begun or to be begun
};

class Forecast {
   public:
    Forecast(const Study& study, const StudyRecord& record) : study_(study), record_(record) {
        cut_into_segments();
        for (const TrialRecord& trial : record.trials) learn(trial);
        survival_.done();
        for (const TrialRecord& trial : record.trials) place(trial), rank(trial);
        for (Segment& segment : segments_) count_promotable(segment);
        set_paces();
    }

    /// `luck`: how many more or fewer of the trials to come go on at each rung than its share, in standard deviations.
    [[nodiscard]] Work work(double trials, double luck) const {
        Work work;
        double incoming = std::max(0.0, trials - segments_.front().reached);  // new trials
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            const Segment& segment = segments_[i];
            const double reach = segment.reached + incoming;
            double begin = incoming;
            if (i > 0) {
                const double places = segment.share * incoming;
                begin = segment.promotable + std::max(0.0, places + luck * std::sqrt(places));
                if (segment.gone_on + begin < 1) begin = std::min(reach, 1.0);  // of each rung the best
            }
            const auto way = survival_.way(i == 0 ? -1 : segment.from, segment.to);
            const double again = i > 0 ? again_ * static_cast<double>(segment.from) : 0;
            work.cost += segment.pace * (segment.expected + begin * (way.steps + again));
            work.ways += begin + segment.within;
            if (begin >= 0.5 || segment.within > 0) {
                const double steps = static_cast<double>(segment.to - segment.from) + (begin >= 0.5 ? again : 0);
                work.chain += segment.pace * std::min(steps, segment.expected + begin * steps);
            }
            incoming = segment.arrivals + begin * way.arrive;
        }
        return work;
    }

    /// By how much the trials so far may mislead about `further` ones: two standard errors of what a trial costs, as a
    /// factor. Where trials pause, of what its step costs: how far they go is then the rungs' affair.
    [[nodiscard]] double doubt(double further) const {
        const auto& costs = segments_.size() > 1 ? paces_.at(0) : costs_;
        const double n = std::max(1.0, static_cast<double>(costs.size()));
        double sum = 0, squares = 0;
        for (const double cost : costs) sum += cost, squares += cost * cost;
        const double mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
        const double error = mean > 0 ? deviation / mean * std::sqrt(1 / n + 1 / std::max(1.0, further)) : 1;
        return std::clamp(1 + 2 * error, 1.1, 2.0);
    }

    [[nodiscard]] bool began_to_end() const { return settled_ > 0; }
    /// Cost of all steps that were taken.
    [[nodiscard]] double cost_so_far() const { return cost_; }
    [[nodiscard]] double running() const { return running_; }
    /// The most that a running trial has left to the next rung.
    [[nodiscard]] double longest_running() const { return longest_running_; }

   private:
    void cut_into_segments() {
        segments_.push_back({});
        if (const auto rules = Rules::make(study_))
            for (const Gate& gate : rules->gates()) {
                if (gate.step >= study_.budget.epochs) break;
                segments_.back().to = gate.step;
                segments_.push_back({gate.step, 0, gate.share});
            }
        segments_.back().to = study_.budget.epochs;
    }

    [[nodiscard]] bool at_a_gate(std::int64_t step) const {
        return std::any_of(segments_.begin() + 1, segments_.end(), [&](const Segment& s) { return s.from == step; });
    }

    void learn(const TrialRecord& trial) {
        if (is_final(trial.state) || trial.state == TrialState::paused) ++settled_;
        if (trial.attempt == 0 && !is_final(trial.state)) return;
        const std::int64_t steps = trial.steps();
        survival_.got_to(steps);
        const bool closed = trial.state == TrialState::stopped && at_a_gate(steps);
        if (is_final(trial.state) && !closed && steps < study_.budget.epochs) survival_.ended(steps);
        measured_ &= steps < 1 || pace_of(trial).has_value();
    }

    void place(const TrialRecord& trial) {
        const std::int64_t steps = trial.steps();
        const bool goes_on = trial.state == TrialState::running || trial.state == TrialState::queued;
        if (trial.state == TrialState::running) ++running_;
        ++segments_.front().reached;
        ++segments_.front().gone_on;
        std::size_t at = 0;
        for (std::size_t i = 1; i < segments_.size() && segments_[i].from <= steps; ++i) {
            ++segments_[i].reached;
            if (steps == segments_[i].from && !goes_on) break;
            ++segments_[i].gone_on;
            at = i;
        }
        const double pace = measured_ ? pace_of(trial).value_or(0) : 1;
        cost_ += pace * static_cast<double>(trial.trained);
        if (!goes_on) costs_.push_back(pace * static_cast<double>(trial.trained));
        if (steps > 0)
            for (std::size_t i = 0; i <= at; ++i) paces_[i].push_back(pace);
        if (at > 0 && trial.attempt > 1) {
            taken_again_ += static_cast<double>(trial.trained - steps);
            before_pauses_ += static_cast<double>(segments_[at].from);
        }
        if (!goes_on) return;
        Segment& segment = segments_[at];
        const auto way = survival_.way(trial.attempt == 0 ? -1 : steps, segment.to);
        ++segment.within;
        segment.expected += way.steps;
        segment.arrivals += way.arrive;
        if (trial.state == TrialState::running) longest_running_ = std::max(longest_running_, pace * way.steps);
    }

    /// Its value at each rung that it has reached.
    void rank(const TrialRecord& trial) {
        const Objective& objective = study_.objective;
        std::size_t next = 1;
        std::optional<double> value;
        for (const Report& report : trial.curve) {
            if (next == segments_.size()) return;
            const auto found = report.metrics.find(objective.metric);
            if (found != report.metrics.end() && std::isfinite(found->second) &&
                (!value || objective.at == Objective::At::last || better(objective.direction, found->second, *value)))
                value = found->second;
            for (; next < segments_.size() && segments_[next].from <= report.step; ++next)
                if (value)
                    segments_[next].entries.push_back(
                        {objective.direction == Direction::minimize ? *value : -*value,
                         trial.state == TrialState::paused && trial.steps() == segments_[next].from});
        }
    }

    /// Trials that wait and are among the best so many of those that came so far.
    static void count_promotable(Segment& segment) {
        if (segment.entries.empty()) return;
        const auto share = static_cast<std::size_t>(static_cast<double>(segment.entries.size()) * segment.share);
        const auto places = std::max<std::size_t>(share, 1);  // of each rung the best goes on
        const auto last = segment.entries.begin() + static_cast<std::ptrdiff_t>(places);
        std::nth_element(segment.entries.begin(), last - 1, segment.entries.end(),
                         [](const auto& a, const auto& b) { return a.loss < b.loss; });
        segment.promotable = static_cast<double>(
            std::count_if(segment.entries.begin(), last, [](const auto& entry) { return entry.waits; }));
    }

    /// A segment that few have begun costs a step what it costs in the one before.
    void set_paces() {
        double pace = 1;
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            const auto& seen = paces_[i];
            if (seen.size() >= (i == 0 ? 1 : 3)) {
                pace = 0;
                for (const double one : seen) pace += one / static_cast<double>(seen.size());
            }
            segments_[i].pace = pace;
        }
        if (before_pauses_ > 0) again_ = std::clamp(taken_again_ / before_pauses_, 0.0, 1.0);
    }

    const Study& study_;
    const StudyRecord& record_;
    std::vector<Segment> segments_;
    std::map<std::size_t, std::vector<double>> paces_;  ///< of the trials that were in a segment
    Survival survival_;
    bool measured_ = true;  ///< each trial's seconds are known; else each step costs the same
    double cost_ = 0;
    std::vector<double> costs_;  ///< of the trials that have ended or wait
    double settled_ = 0;
    double running_ = 0;
    double longest_running_ = 0;
    double taken_again_ = 0, before_pauses_ = 0;
    double again_ = 0;  ///< share of the steps before a pause that are taken again after it
};

/// Trials until patience may end: those that came after the best one and have had their chance count.
double fewest_trials(const Study& study, const StudyRecord& record) {
    const auto trials = static_cast<double>(study.budget.trials);
    const TrialRecord* best = best_trial(record, study.objective);
    if (!study.budget.patience || !best) return trials;
    const auto tried = std::count_if(record.trials.begin(), record.trials.end(), [&](const TrialRecord& trial) {
        return trial.number > best->number && (is_final(trial.state) || trial.state == TrialState::paused);
    });
    const auto more = std::max<std::int64_t>(0, *study.budget.patience - tried);
    return std::min(trials, static_cast<double>(static_cast<std::int64_t>(record.trials.size()) + more));
}

/// To whole seconds, tens of seconds, minutes: what a forecast is worth.
std::string coarse(double seconds) {
    const double unit = seconds < 100 ? 1 : seconds < 3600 ? 10 : 60;
    const double rounded = std::max(1.0, std::round(seconds / unit)) * unit;
    if (rounded < 60) return std::to_string(std::lround(rounded)) + " s";
    return duration_text(rounded);
}

}  // namespace

double TimeLeft::middle() const { return least > 0 ? std::sqrt(least * most) : most; }

std::optional<TimeLeft> time_left(const Study& study, const StudyRecord& record, const Moment& moment) {
    std::optional<TimeLeft> left;
    const Forecast forecast(study, record);
    if (forecast.began_to_end() && forecast.cost_so_far() > 0 && moment.seconds > 0) {
        const double rate = forecast.cost_so_far() / moment.seconds;  // all trials together, waits included
        const double at_once = std::max(1.0, std::max(forecast.running(), rate));
        const auto trials = static_cast<double>(study.budget.trials);
        const Work least = forecast.work(fewest_trials(study, record), -0.8);
        const Work most = forecast.work(trials, 0.8);
        const double doubt = forecast.doubt(most.ways);
        left = TimeLeft{std::max(least.cost / rate / doubt, forecast.longest_running()),
                        doubt * most.cost / rate + (1 - 1 / at_once) * most.chain * at_once / rate};
        left->most = std::max(left->most, left->least);
    }
    if (study.budget.seconds) {
        const double budget = std::max(0.0, *study.budget.seconds - moment.seconds);
        left = left ? TimeLeft{std::min(left->least, budget), std::min(left->most, budget)} : TimeLeft{0, budget};
    }
    return left;
}

double part_done(const Study& study, const StudyRecord& record, const Moment& moment) {
    if (const auto left = time_left(study, record, moment); left && moment.held)
        return moment.seconds / std::max(1e-9, moment.seconds + left->middle());
    return static_cast<double>(count_ended(record)) /
           static_cast<double>(std::max<std::int64_t>(1, study.budget.trials));
}

std::string time_left_text(const TimeLeft& left) {
    if (left.least <= 0) return "at most " + coarse(left.most) + " left";
    const std::string least = coarse(left.least), most = coarse(left.most);
    if (left.most < 1.2 * left.least || least == most) return "about " + coarse(left.middle()) + " left";
    const bool both_in_seconds = least.ends_with(" s") && most.ends_with(" s");
    return (both_in_seconds ? least.substr(0, least.size() - 2) : least) + " to " + most + " left";
}

}  // namespace hpo::view
