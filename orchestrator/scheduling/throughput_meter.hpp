// Measures how the rates of trials on one device change when others start or end. Pure: the times of reports are given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/clock.hpp"
#include "orchestrator/scheduling/throughput_curve.hpp"

namespace hpo {

/// A trial on the device, and the worker that trains it.
struct MeteredTrial {
    std::int64_t trial = 0;
    int worker = 0;
    bool operator==(const MeteredTrial&) const = default;
};

/// Changes of rates, separately for the number of workers at once on the device and for the number of trials in one
/// worker. A change of both at the same time is ignored.
struct MeteredChanges {
    std::vector<RateChange> workers, fused;
    std::int64_t ended = 0;  ///< trials that do not run any more
    bool measured = false;   ///< with this report the rates of all trials are known
    [[nodiscard]] bool empty() const { return workers.empty() && fused.empty(); }
};

/// The time of the threads of a worker and its descendants up to a moment, in seconds summed over all of them.
struct ThreadTime {
    double running = 0;  ///< on a core
    double waiting = 0;  ///< for a core that ran something else
};

/// Measures the rates of trials and their changes. A rate is the median of steps per second over the intervals between
/// reports, by the clock of the caller. A window of a trial lasts while the numbers stay the same on which its rate may
/// depend: trials in its worker and workers on the device. It begins with the first report after these numbers have
/// changed and nearly all trials have reported in their current attempt, so that neither a start (imports, reading
/// data) nor a step that began under other numbers is counted. Two windows of a trial with different numbers make a
/// change of its rate. Changes with equal numbers that belong together are averaged to one observation, since they
/// share their noise.
///
/// Where other programs fill the cores, more trials at once get a larger share of the cores, although the machine does
/// no more work. With the thread times of workers, a rate excludes the effect of other programs: as if the trials'
/// threads had waited for each other alone.
class ThroughputMeter {
   public:
    /// `cores` that the trials may use; 0: thread times are not used.
    explicit ThroughputMeter(double cores = 0) : cores_(cores) {}

    /// The trials that run on the device now. Returns the changes that were measured until then.
    MeteredChanges run(const std::vector<MeteredTrial>& trials);
    /// A trial has reported a step. Returns changes once all trials have been measured under the current numbers.
    /// `threads`: of its worker, if known.
    MeteredChanges reported(std::int64_t trial, std::int64_t step, Seconds now,
                            const std::optional<ThreadTime>& threads = {});
    /// A trial has reported its last step, or was told to end. Until it is gone, which may take a process a while, it
    /// is treated like one that starts: it does no more work, and the rates of the others belong to no number.
    void ending(std::int64_t trial);

    [[nodiscard]] std::int64_t trials() const { return static_cast<std::int64_t>(states_.size()); }
    [[nodiscard]] std::int64_t workers() const;     ///< workers that train at least one trial
    [[nodiscard]] std::int64_t most_fused() const;  ///< most trials in one worker
    /// Returns true if the rates of all trials are known under the current numbers.
    [[nodiscard]] bool measured() const;

   private:
    struct Numbers {
        std::int64_t fused = 0, workers = 0;
        bool operator==(const Numbers&) const = default;
    };
    struct Window {
        Numbers numbers;
        Seconds begin{0}, end{0};                   ///< of the intervals
        std::int64_t step = 0;                      ///< the last step in the intervals
        std::optional<ThreadTime> first{}, last{};  ///< at the begin and the end
        std::vector<double> intervals{};            ///< seconds per step, the latest ones
        /// Ends an interval, unless the last one has only just ended.
        void add(std::int64_t now_at, Seconds now, const std::optional<ThreadTime>& threads);
        /// Returns the times of its worker's threads in it, or nothing if they are not known.
        struct Threads {
            double unslowed = 1;  ///< share of the time that would have been enough if none had waited for a core
            double demand = 0;    ///< cores that they would use then
        };
        [[nodiscard]] std::optional<Threads> threads() const;
        /// Returns the variance of the logarithm of the rate, from the differences between the intervals.
        [[nodiscard]] double variance() const;
        /// Returns the logarithm of the median rate, or nothing if the window is too short.
        [[nodiscard]] std::optional<double> log_rate(std::size_t least_intervals, double least_seconds) const;
    };
    struct State {
        int worker = 0;
        bool reported = false;      ///< in this attempt
        bool counted = false;       ///< the change between the last two windows has been returned
        Numbers numbers;            ///< current ones
        std::optional<Window> now;  ///< window under these numbers
        struct Past {
            Numbers numbers;
            double log_rate = 0, variance = 0;
        };
        std::optional<Past> past;  ///< the window before
    };
    struct Sum {
        double log_ratio = 0, variance = 0;
        std::int64_t count = 0;
    };
    using Groups = std::map<std::pair<std::int64_t, std::int64_t>, Sum>;

    [[nodiscard]] std::map<int, std::int64_t> by_worker() const;
    [[nodiscard]] bool steady() const { return starting_ <= trials() / 4; }  ///< of four, one may start or end
    [[nodiscard]] static bool is_enough(const State& state);
    /// Cores that all trials would use together.
    [[nodiscard]] double demand() const;
    /// Returns the logarithm of the rate of the window, without the time that other programs took, if it is enough.
    [[nodiscard]] std::optional<double> log_rate(const Window& window, double demand, std::size_t least_intervals,
                                                 double least_seconds) const;
    void collect(State& state, double log_rate, Groups& workers, Groups& fused);
    void close(State& state, double demand, Groups& workers, Groups& fused);
    static MeteredChanges averages(const Groups& workers, const Groups& fused);

    double cores_;
    std::map<std::int64_t, State> states_;  ///< by trial
    std::int64_t starting_ = 0;             ///< trials that have not reported yet, or that are ending
};

}  // namespace hpo
