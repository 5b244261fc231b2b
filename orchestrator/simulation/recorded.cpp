#include "orchestrator/simulation/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "hpo/median.hpp"
#include "hpo/random.hpp"
#include "hpo/solve.hpp"

namespace hpo {

namespace {

double mean_of(const std::vector<double>& numbers) {
    if (numbers.empty()) return 0;
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

/// Returns the mean without numbers of more than five times the median. A worker may have waited long since there was
/// no trial for it.
double typical_of(std::vector<double> numbers) {
    if (numbers.empty()) return 0;
    const double most = 5 * upper_median(numbers);
    std::erase_if(numbers, [&](double number) { return number > most; });
    return mean_of(numbers);
}

}  // namespace

// ---- Reading

struct RecordReader::Impl {
    const Study& study;
    struct State {
        RecordedTrial recorded;
        std::vector<double> steps;    ///< seconds between consecutive steps of an attempt
        std::vector<double> between;  ///< seconds between them that the worker did not count
        double launched = 0, last = 0;
        std::int64_t first = 0;    ///< step of the attempt
        std::int64_t reached = 0;  ///< before the attempt
        std::string where;
    };
    std::map<std::int64_t, State> trials = {};
    struct First {
        std::int64_t trial = 0;
        double seconds = 0;                             ///< from the launch to the first step
        std::optional<double> before = {}, after = {};  ///< Report::seconds
    };
    std::vector<First> firsts = {};
    double between = 0, counted = 0;  ///< seconds of steps that their workers did not count, and that they did
    std::vector<double> gaps = {};
    std::map<std::string, double> free_since = {};  ///< by worker
    std::set<std::string> workers = {}, devices = {};
    RecordedRun run = {};
    double session = 0, last = 0, last_step = 0;
    std::set<std::int64_t> training = {};
    std::int64_t most_at_once = 0;
    bool launched = false;
    std::vector<double> launches = {};

    void count(State& state, double seconds, double by_worker) {
        state.between.push_back(std::max(0.0, seconds - by_worker));
        between += state.between.back();
        counted += by_worker;
    }
    void end_session(double seconds) {
        run.seconds += seconds;
        session = 0;
    }
};

RecordReader::RecordReader(const Study& study) : impl_(std::make_unique<Impl>(Impl{study})) {}
RecordReader::~RecordReader() = default;

void RecordReader::add(const StoredEvent& stored) {
    Impl& my = *impl_;
    const double time = stored.time;
    const auto free = [&](Impl::State& state) {
        my.training.erase(state.recorded.number);
        if (!state.where.empty() && state.last > 0) my.free_since[state.where] = state.last;
        state.where.clear();
    };
    std::visit(Overloaded{
                   [&](const event::SessionStarted& e) {
                       if (my.session > 0) my.end_session(my.last - my.session);
                       my.run.host = e.host;
                       my.run.ended = false;
                       my.session = time;
                       my.launched = false;
                       my.free_since.clear();
                       my.training.clear();
                   },
                   [&](const event::SessionEnded& e) {
                       my.end_session(e.seconds);
                       if (my.last_step > 0) my.run.exit = time - my.last_step;
                       my.run.ended = true;
                   },
                   [&](const event::Proposed& e) {
                       RecordedTrial& trial = my.trials[e.trial].recorded;
                       trial.number = e.trial;
                       trial.params = e.params;
                       trial.params.insert(my.study.fixed.begin(), my.study.fixed.end());
                   },
                   [&](const event::Launched& e) {
                       Impl::State& state = my.trials[e.trial];
                       if (!my.launched) my.launches.push_back(time - my.session);
                       my.launched = true;
                       if (const auto since = my.free_since.find(e.where); since != my.free_since.end())
                           my.gaps.push_back(time - since->second);
                       my.free_since.erase(e.where);
                       my.workers.insert(e.where);
                       if (!e.allocation.device.empty()) my.devices.insert(e.allocation.device);
                       my.training.insert(e.trial);
                       my.most_at_once = std::max(my.most_at_once, static_cast<std::int64_t>(my.training.size()));
                       state.launched = time;
                       state.last = 0;
                       state.first = 0;
                       state.reached = state.recorded.curve.empty() ? 0 : state.recorded.curve.back().step;
                       state.where = e.where;
                       state.recorded.footprint = e.allocation.footprint;
                   },
                   [&](const event::Reported& e) {
                       Impl::State& state = my.trials[e.trial];
                       auto& curve = state.recorded.curve;
                       if (state.last > 0) {
                           state.steps.push_back((time - state.last) /
                                                 static_cast<double>(std::max<std::int64_t>(
                                                     1, curve.empty() ? 1 : e.report.step - curve.back().step)));
                           if (!curve.empty() && e.report.step == curve.back().step + 1 && curve.back().seconds &&
                               e.report.seconds && *e.report.seconds > *curve.back().seconds)
                               my.count(state, time - state.last, *e.report.seconds - *curve.back().seconds);
                       } else
                           my.firsts.push_back({e.trial, time - state.launched,
                                                curve.empty() ? 0 : curve.back().seconds, e.report.seconds}),
                               state.first = e.report.step;
                       if (state.first == 1 && state.reached > 1) my.run.checkpoints = false;
                       state.last = my.last_step = time;
                       while (!curve.empty() && curve.back().step >= e.report.step) curve.pop_back();
                       curve.push_back(e.report);
                   },
                   [&](const event::Paused& e) { free(my.trials[e.trial]); },
                   [&](const event::Requeued& e) {
                       my.trials[e.trial].where.clear();
                       my.training.erase(e.trial);
                   },
                   [&](const event::Finished& e) {
                       Impl::State& state = my.trials[e.trial];
                       free(state);
                       if (e.state != TrialState::failed) return;
                       state.recorded.fails_after = state.recorded.curve.empty() ? 0 : state.recorded.curve.back().step;
                       state.recorded.failure = e.reason;
                   },
                   [&](const event::Measured& e) {
                       Footprint& footprint = my.trials[e.trial].recorded.footprint;
                       footprint.device_bytes = std::max(footprint.device_bytes, e.peak.device_bytes);
                       footprint.host_bytes = std::max(footprint.host_bytes, e.peak.host_bytes);
                   },
                   [](const auto&) {},
               },
               stored.event);
    my.last = time;
}

RecordedRun RecordReader::finish() {
    Impl& my = *impl_;
    if (my.session > 0) my.end_session(my.last - my.session);
    // The worker's own count of seconds is the best one. Without it, the first step of an attempt contains its start.
    std::vector<double> starts;
    for (auto& [number, state] : my.trials) {
        RecordedTrial& trial = state.recorded;
        if (trial.curve.empty()) continue;
        if (const Report& last = trial.curve.back(); last.seconds && *last.seconds > 0)
            trial.step = *last.seconds / static_cast<double>(last.step);
        else if (!state.steps.empty())
            trial.step = mean_of(state.steps);
        if (!state.between.empty()) trial.between = mean_of(state.between);
    }
    std::vector<double> squares;
    for (auto& [number, state] : my.trials) {
        RecordedTrial& trial = state.recorded;
        const Report* before = nullptr;
        for (const Report& report : trial.curve) {
            const double from = before ? before->seconds.value_or(0) : 0;
            const std::int64_t steps = report.step - (before ? before->step : 0);
            if (report.seconds && *report.seconds > from && steps == 1)
                trial.seconds[report.step] = *report.seconds - from;
            before = &report;
        }
        if (trial.seconds.size() < 2) continue;
        for (const auto& [step, seconds] : trial.seconds)
            squares.push_back(std::pow(std::log(seconds / trial.step), 2));
    }
    my.run.deviation = std::sqrt(mean_of(squares));
    for (const auto& first : my.firsts) {
        const RecordedTrial& trial = my.trials[first.trial].recorded;
        const bool counted = first.before && first.after && *first.after > *first.before;
        const double step = counted ? *first.after - *first.before : trial.step;
        if (step > 0) starts.push_back(std::max(0.0, first.seconds - step));
    }
    my.run.start = mean_of(starts);
    for (const auto& first : my.firsts)
        if (RecordedTrial& trial = my.trials[first.trial].recorded; trial.step == 0)
            trial.step = std::max(first.seconds - my.run.start, 0.1 * first.seconds);
    my.run.between = my.counted > 0 ? my.between / my.counted : 0;
    my.run.end = typical_of(my.gaps);
    my.run.launch = my.launches.empty() ? 0 : my.launches.front();
    my.run.workers = my.most_at_once;
    double trained = 0;
    for (const auto& [number, state] : my.trials)
        if (!state.recorded.curve.empty())
            trained += state.recorded.step * static_cast<double>(state.recorded.curve.back().step);
    if (my.run.seconds > 0 && my.run.workers > 0)
        my.run.busy = std::min(1.0, trained / (my.run.seconds * static_cast<double>(my.run.workers)));
    my.run.devices = static_cast<std::int64_t>(my.devices.size());
    my.run.on_device = !my.devices.empty();
    for (auto& [number, state] : my.trials)
        if (!state.recorded.curve.empty() || state.recorded.fails_after >= 0)
            my.run.trials.push_back(std::move(state.recorded));
    return std::move(my.run);
}

// ---- The law of a step's seconds

namespace {

/// The place of a value within its dimension, from 0 to 1; 1/2 if it is absent.
double coordinate(const Dimension& dimension, const Params& params) {
    const auto found = params.find(dimension.name);
    if (found == params.end()) return 0.5;
    double value = number_or(found->second, dimension.low), low = dimension.low, high = dimension.high;
    if (dimension.log && low > 0) value = std::log(std::max(value, 1e-300)), low = std::log(low), high = std::log(high);
    return high > low ? (value - low) / (high - low) : 0.5;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

std::vector<double> StepLaw::features(const Params& params) const {
    std::vector<double> row{1};
    for (const Dimension& dimension : space_) {
        if (dimension.kind != Kind::categorical) {
            row.push_back(coordinate(dimension, params) - 0.5);
            continue;
        }
        const auto found = params.find(dimension.name);
        for (const Value& choice : dimension.choices)
            row.push_back(found != params.end() && found->second == choice ? 1 : 0);
    }
    return row;
}

StepLaw::StepLaw(const Space& space, const RecordedRun& run) : space_(space) {
    constexpr double ridge = 0.05;        // in units of a trial, on all but the constant
    constexpr std::size_t most = 512;     // trials that the law is fitted to
    constexpr std::size_t left_out = 64;  // trials that it is tested with
    std::vector<std::vector<double>> rows;
    std::vector<double> logs;
    const std::size_t stride = 1 + run.trials.size() / most;
    for (std::size_t i = 0; i < run.trials.size(); i += stride)
        if (run.trials[i].step > 0) {
            rows.push_back(features(run.trials[i].params));
            logs.push_back(std::log(run.trials[i].step));
        }
    const auto fit = [&](std::size_t without) {
        const std::size_t n = rows.front().size();
        std::vector<double> a(n * n, 0), b(n, 0);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            if (r == without) continue;
            for (std::size_t i = 0; i < n; ++i) {
                b[i] += rows[r][i] * logs[r];
                for (std::size_t j = 0; j <= i; ++j) a[i * n + j] += rows[r][i] * rows[r][j];
            }
        }
        for (std::size_t i = 0; i < n; ++i) a[i * n + i] += i == 0 ? 1e-9 : ridge;
        return solve(std::move(a), std::move(b));
    };
    weights_ = fit(rows.size());
    // Logarithms are fitted, but seconds add up: the law is scaled so that the measured trials take their measured
    // time.
    double measured = 0, predicted = 0;
    for (const RecordedTrial& trial : run.trials) {
        if (trial.step <= 0 || trial.curve.empty()) continue;
        const auto steps = static_cast<double>(trial.curve.back().step);
        measured += steps * trial.step;
        predicted += steps * seconds(trial.params);
    }
    if (predicted > 0 && measured > 0) weights_[0] += std::log(measured / predicted);
    const double mean = mean_of(logs);
    double squares = 0, total = 0;
    const std::size_t tested = std::min(rows.size(), left_out);
    for (std::size_t r = 0; r < tested && rows.size() > 2; ++r) {
        const double error = logs[r] - product(fit(r), rows[r]);
        squares += error * error;
        total += (logs[r] - mean) * (logs[r] - mean);
    }
    if (tested > 2) deviation_ = std::sqrt(squares / static_cast<double>(tested));
    explained_ = total > 0 ? std::max(0.0, 1 - squares / total) : 0;
}

double StepLaw::seconds(const Params& params) const { return std::exp(product(weights_, features(params))); }

// ---- The workload

double continued(const std::vector<double>& curve, const std::vector<const std::vector<double>*>& others,
                 std::size_t step) {
    if (step < curve.size()) return curve[step];
    if (curve.empty()) return std::numeric_limits<double>::quiet_NaN();
    const std::size_t last = curve.size() - 1;
    const std::vector<double>* nearest = nullptr;
    std::size_t longest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const auto* other : others) {
        if (other->size() <= last + 1) continue;
        const bool reaches = other->size() > step;
        const double distance = std::abs((*other)[last] - curve[last]);
        if (!std::isfinite(distance)) continue;
        // A curve that reaches the step comes before all that do not; among those the longest comes first.
        if (const std::size_t length = reaches ? step + 1 : other->size();
            length > longest || (length == longest && distance < least))
            nearest = other, longest = length, least = distance;
    }
    if (nearest == nullptr) return curve[last];
    return curve[last] + (*nearest)[std::min(step, nearest->size() - 1)] - (*nearest)[last];
}

struct RecordedWorkload::Impl {
    const Study& study;
    const RecordedRun& run;
    const StepLaw& law;
    std::uint64_t draw;

    struct Curves {
        std::map<std::string, std::vector<double>> by_metric;
    };
    std::vector<Curves> curves = {};
    std::map<std::string, std::vector<const std::vector<double>*>> all = {};  ///< by metric
    std::map<Params, std::size_t> by_params = {};
    /// The measured trial whose curves a trial follows.
    struct Twin {
        std::size_t recorded = 0;
        bool same = false;
    };
    mutable std::map<std::int64_t, Twin> twins = {};
    mutable std::map<std::size_t, std::map<std::string, std::vector<double>>> longer = {};  ///< continued curves

    Params configuration(const TrialRecord& trial) const {
        Params params = trial.params;
        params.insert(study.fixed.begin(), study.fixed.end());
        return params;
    }

    const Twin& twin_of(const TrialRecord& trial) const {
        if (const auto found = twins.find(trial.number); found != twins.end()) return found->second;
        const Params params = configuration(trial);
        Twin twin;
        if (const auto found = by_params.find(params); found != by_params.end()) {
            twin = {found->second, true};
        } else {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < run.trials.size(); ++i) {
                if (run.trials[i].curve.empty()) continue;
                const double distance = distance_of(params, run.trials[i].params);
                if (distance < least) least = distance, twin.recorded = i;
            }
        }
        return twins.emplace(trial.number, twin).first->second;
    }

    double distance_of(const Params& a, const Params& b) const {
        double sum = 0;
        for (const Dimension& dimension : study.space) {
            if (dimension.kind == Kind::categorical) {
                const auto one = a.find(dimension.name), other = b.find(dimension.name);
                const bool same =
                    (one == a.end()) == (other == b.end()) && (one == a.end() || one->second == other->second);
                sum += same ? 0 : 1;
            } else {
                const double difference = coordinate(dimension, a) - coordinate(dimension, b);
                sum += difference * difference;
            }
        }
        return sum;
    }
};

RecordedWorkload::RecordedWorkload(const Study& study, const RecordedRun& run, const StepLaw& law, std::uint64_t draw)
    : impl_(std::make_unique<Impl>(Impl{study, run, law, draw})) {
    Impl& my = *impl_;
    my.curves.resize(run.trials.size());
    for (std::size_t i = 0; i < run.trials.size(); ++i) {
        const RecordedTrial& trial = run.trials[i];
        my.by_params.emplace(trial.params, i);
        for (const Report& report : trial.curve)
            for (const auto& [name, value] : report.metrics) {
                auto& curve = my.curves[i].by_metric[name];
                // A step that did not report it repeats the value before it.
                curve.resize(static_cast<std::size_t>(report.step), curve.empty() ? value : curve.back());
                curve.back() = value;
            }
    }
    for (const auto& curves : my.curves)
        for (const auto& [name, curve] : curves.by_metric) my.all[name].push_back(&curve);
}

RecordedWorkload::~RecordedWorkload() = default;

TrialCost RecordedWorkload::cost(const TrialRecord& trial) const {
    const Impl& my = *impl_;
    const Impl::Twin& twin = my.twin_of(trial);
    const RecordedTrial& recorded = my.run.trials.at(twin.recorded);
    const double step = twin.same && recorded.step > 0 ? recorded.step : my.law.seconds(my.configuration(trial));
    TrialCost cost{.start = my.run.start,
                   .between = (twin.same ? recorded.between : std::nullopt).value_or(my.run.between * step),
                   .end = my.run.end,
                   .footprint = recorded.footprint};
    if (twin.same) {
        cost.fails_after = recorded.fails_after;
        cost.failure = recorded.failure;
    }
    if (!recorded.curve.empty() && recorded.curve.back().iteration)
        cost.iterations = *recorded.curve.back().iteration / std::max<std::int64_t>(1, recorded.curve.back().step);
    return cost;
}

double RecordedWorkload::step_seconds(const TrialRecord& trial, std::int64_t step) const {
    const Impl& my = *impl_;
    const Impl::Twin& twin = my.twin_of(trial);
    const RecordedTrial& recorded = my.run.trials.at(twin.recorded);
    const bool known = twin.same && recorded.step > 0;
    double seconds = known ? recorded.step : my.law.seconds(my.configuration(trial));
    if (known)
        if (const auto found = recorded.seconds.find(step); found != recorded.seconds.end()) seconds = found->second;
    if (my.draw == 0) return seconds;
    // One error for all steps of a trial: they share the machine's state. The sum of twelve uniform numbers less six is
    // nearly normal.
    double normal = -6;
    const auto number = static_cast<std::uint64_t>(trial.number);
    for (std::uint64_t i = 0; i < 12; ++i) normal += draw_unit(my.draw, Purpose::synthetic, number, i);
    const double deviation = known ? my.run.deviation : my.law.deviation();
    return seconds * std::exp(deviation * normal - deviation * deviation / 2);
}

Metrics RecordedWorkload::metrics(const TrialRecord& trial, std::int64_t step) const {
    const Impl& my = *impl_;
    const std::size_t recorded = my.twin_of(trial).recorded;
    const auto at = static_cast<std::size_t>(step - 1);
    Metrics metrics;
    for (const auto& [name, curve] : my.curves[recorded].by_metric) {
        if (at < curve.size()) {
            metrics[name] = curve[at];
            continue;
        }
        auto& longer = my.longer[recorded][name];
        if (longer.empty()) longer = curve;
        while (longer.size() <= at) longer.push_back(continued(curve, my.all.at(name), longer.size()));
        metrics[name] = longer[at];
    }
    return metrics;
}

}  // namespace hpo
