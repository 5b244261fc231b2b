#include "orchestrator/scheduling/throughput_meter.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "hpo/median.hpp"

namespace hpo {

namespace {

// A window is enough with this number of intervals and this duration. A window that ends early may be shorter by half.
// The median of four intervals ignores one during which the machine was held up.
constexpr std::size_t enough_intervals = 4;
constexpr double enough_seconds = 0.5;
// Steps that are reported together, as by a script whose output is buffered, belong to one interval.
constexpr double least_interval_seconds = 0.05;
constexpr std::size_t kept_intervals = 64;

}  // namespace

void ThroughputMeter::Window::add(std::int64_t now_at, Seconds now, const std::optional<ThreadTime>& threads) {
    const double seconds = (now - end).count();
    if (now_at <= step || seconds < least_interval_seconds) return;
    if (intervals.size() == kept_intervals) intervals.erase(intervals.begin());
    intervals.push_back(seconds / static_cast<double>(now_at - step));
    end = now;
    step = now_at;
    last = threads;
}

std::optional<ThroughputMeter::Window::Threads> ThroughputMeter::Window::threads() const {
    const double seconds = (end - begin).count();
    if (!first || !last || seconds <= 0) return std::nullopt;
    const double running = last->running - first->running, waiting = last->waiting - first->waiting;
    if (running <= 0 || waiting < 0) return std::nullopt;  // a process of the worker has ended, and its times with it
    // Threads of one trial are taken to wait at the same time, as those of a matrix product do.
    const double runnable = std::min(1.0, (running + waiting) / seconds);
    const double unslowed = 1 - runnable * waiting / (running + waiting);
    return Threads{unslowed, running / (seconds * unslowed)};
}

double ThroughputMeter::demand() const {
    std::map<int, double> by_worker;  // fused trials have the same threads
    for (const auto& [trial, state] : states_)
        if (const auto threads = state.now ? state.now->threads() : std::nullopt)
            by_worker[state.worker] = threads->demand;
    double sum = 0;
    for (const auto& [worker, demand] : by_worker) sum += demand;
    // Unknown ones are taken to be like the others.
    return by_worker.empty() ? 0 : sum * static_cast<double>(workers()) / static_cast<double>(by_worker.size());
}

std::optional<double> ThroughputMeter::log_rate(const Window& window, double demand, std::size_t least_intervals,
                                                double least_seconds) const {
    auto rate = window.log_rate(least_intervals, least_seconds);
    const auto threads = cores_ > 0 && rate ? window.threads() : std::nullopt;
    if (!threads) return rate;
    // Without others it would take as long as the threads need, or as the cores need for all trials.
    const double without_others = threads->unslowed * std::max(1.0, demand / cores_);
    return *rate - std::log(std::min(1.0, without_others));
}

std::optional<double> ThroughputMeter::Window::log_rate(std::size_t least_intervals, double least_seconds) const {
    if (intervals.size() < least_intervals || (end - begin).count() < least_seconds) return std::nullopt;
    return -std::log(median(intervals));
}

double ThroughputMeter::Window::variance() const {
    const auto count = static_cast<double>(intervals.size());
    if (count < 2) return 0;
    const double middle = median(intervals);
    double squares = 0;
    for (const double each : intervals) squares += (each / middle - 1) * (each / middle - 1);
    return squares / (count - 1) / count;
}

std::map<int, std::int64_t> ThroughputMeter::by_worker() const {
    std::map<int, std::int64_t> counts;
    for (const auto& [trial, state] : states_) ++counts[state.worker];
    return counts;
}

std::int64_t ThroughputMeter::workers() const { return static_cast<std::int64_t>(by_worker().size()); }

std::int64_t ThroughputMeter::most_fused() const {
    std::int64_t most = 0;
    for (const auto& [worker, count] : by_worker()) most = std::max(most, count);
    return most;
}

void ThroughputMeter::collect(State& state, double log_rate, Groups& workers, Groups& fused) {
    if (!state.past || std::exchange(state.counted, true)) return;
    const Numbers before = state.past->numbers, now = state.now->numbers;
    const auto add = [&](Groups& groups, std::int64_t from, std::int64_t to) {
        const double change = log_rate - state.past->log_rate;
        Sum& sum = groups[{std::min(from, to), std::max(from, to)}];
        sum.log_ratio += from < to ? change : -change;
        sum.variance += state.past->variance + state.now->variance();
        ++sum.count;
    };
    if (before.fused == now.fused && before.workers != now.workers) add(workers, before.workers, now.workers);
    if (before.fused != now.fused && before.workers == now.workers) add(fused, before.fused, now.fused);
}

void ThroughputMeter::close(State& state, double demand, Groups& workers, Groups& fused) {
    if (!state.now) return;
    if (const auto rate = log_rate(*state.now, demand, enough_intervals / 2, enough_seconds / 2)) {
        collect(state, *rate, workers, fused);
        state.past = State::Past{state.now->numbers, *rate, state.now->variance()};
        state.counted = false;
    }
    state.now.reset();
}

MeteredChanges ThroughputMeter::averages(const Groups& workers, const Groups& fused) {
    MeteredChanges changes;
    const auto add = [](const Groups& groups, std::vector<RateChange>& to) {
        for (const auto& [pair, sum] : groups)
            to.push_back({pair.first, pair.second, sum.log_ratio / static_cast<double>(sum.count), 1,
                          sum.variance / static_cast<double>(sum.count * sum.count)});
    };
    add(workers, changes.workers);
    add(fused, changes.fused);
    return changes;
}

MeteredChanges ThroughputMeter::run(const std::vector<MeteredTrial>& trials) {
    Groups workers, fused;
    const double until_now = demand();
    std::map<int, std::int64_t> in_worker;
    std::set<std::int64_t> present;
    for (const MeteredTrial& trial : trials) {
        ++in_worker[trial.worker];
        present.insert(trial.trial);
        const auto [state, is_new] = states_.try_emplace(trial.trial);
        state->second.worker = trial.worker;
        starting_ += is_new ? 1 : 0;
    }
    const auto count = static_cast<std::int64_t>(in_worker.size());
    std::int64_t ended = 0;
    for (auto state = states_.begin(); state != states_.end();) {
        if (!present.contains(state->first)) {
            close(state->second, until_now, workers, fused);
            starting_ -= state->second.reported ? 0 : 1;
            state = states_.erase(state);
            ++ended;
            continue;
        }
        const Numbers numbers{in_worker.at(state->second.worker), count};
        if (!(state->second.numbers == numbers)) {
            close(state->second, until_now, workers, fused);
            state->second.numbers = numbers;
        }
        ++state;
    }
    MeteredChanges changes = averages(workers, fused);
    changes.ended = ended;
    return changes;
}

MeteredChanges ThroughputMeter::reported(std::int64_t trial, std::int64_t step, Seconds now,
                                         const std::optional<ThreadTime>& threads) {
    const auto found = states_.find(trial);
    if (found == states_.end()) return {};
    State& state = found->second;
    if (!std::exchange(state.reported, true)) --starting_;
    Groups workers, fused;
    if (!steady()) {  // another trial is starting: its start is not part of a window
        close(state, demand(), workers, fused);
        return averages(workers, fused);
    }
    if (!state.now) {
        state.now = Window{state.numbers, now, now, step, threads, threads};
        return {};
    }
    const bool was_enough = is_enough(state);
    state.now->add(step, now, threads);
    if (was_enough || !is_enough(state) || !measured()) return {};
    const double all = demand();
    for (auto& [number, other] : states_)
        if (const auto rate = other.now ? log_rate(*other.now, all, enough_intervals, enough_seconds) : std::nullopt)
            collect(other, *rate, workers, fused);
    MeteredChanges changes = averages(workers, fused);
    changes.measured = true;
    return changes;
}

void ThroughputMeter::ending(std::int64_t trial) {
    if (const auto found = states_.find(trial); found != states_.end() && std::exchange(found->second.reported, false))
        ++starting_;
}

bool ThroughputMeter::is_enough(const State& state) {
    return state.now && state.now->log_rate(enough_intervals, enough_seconds);
}

bool ThroughputMeter::measured() const {
    return !states_.empty() && steady() && std::all_of(states_.begin(), states_.end(), [](const auto& state) {
        return !state.second.reported || is_enough(state.second);
    });
}

}  // namespace hpo
